// Runs a conversation: a text file of blocks, each a command, `----`, its output, and an empty
// line. Lines that begin with # are for the reader.
//
// With KVORUM_REWRITE=1 the file is written anew with the present output: read that as a diff. A
// command that `run` refuses fails the test at its line of the file, also then.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvorum {

// The names of the conversations in a folder, in order.
inline std::vector<std::string> ConversationsIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.push_back(file.path().stem());
  std::ranges::sort(names);
  return names;
}

// `run` returns a command's output, whole lines.
inline void RunConversation(const std::filesystem::path& path,
                            const std::function<Result<std::string>(const std::string&)>& run) {
  const bool rewrites = std::getenv("KVORUM_REWRITE") != nullptr;
  std::ifstream in(path);
  ASSERT_TRUE(in.is_open()) << path;
  std::string rewritten;
  std::string line;
  int line_number = 0;
  while (std::getline(in, line)) {
    ++line_number;
    rewritten += line + "\n";
    if (line.empty() || line.front() == '#') continue;
    const Result<std::string> printed = run(line);
    if (!printed.has_value()) {
      ADD_FAILURE_AT(path.c_str(), line_number) << line << "\n" << printed.error().message;
      return;
    }
    std::string expected;
    std::string next;
    ASSERT_TRUE(std::getline(in, next) && next == "----") << path << ":" << line_number;
    for (++line_number; std::getline(in, next) && !next.empty(); ++line_number)
      expected += next + "\n";
    ++line_number;
    if (!rewrites) {
      ASSERT_EQ(*printed, expected) << path << ", above line " << line_number << ": " << line;
    }
    rewritten += "----\n" + *printed + "\n";
  }
  if (!rewrites) return;
  while (rewritten.ends_with("\n\n")) rewritten.pop_back();
  std::ofstream(path) << rewritten;
}

}  // namespace kvorum
