// Collects log lines of every level while it lives. Afterwards only errors are logged, as in other
// tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/logging.h"

namespace kvorum::server {

class LogFile {
 public:
  LogFile() {
    std::string name = (std::filesystem::temp_directory_path() / "kvorum-log-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    dir_ = name;
    const LogOptions options{.level = LogLevel::kDebug, .json = true, .outputs = {dir_ + "/log"}};
    EXPECT_TRUE(InitLogging(options).has_value());
  }
  ~LogFile() {
    EXPECT_TRUE(InitLogging({}).has_value());
    SetLogLevel(LogLevel::kError);
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  std::string Text() const {
    EXPECT_TRUE(FlushLog());
    std::stringstream text;
    text << std::ifstream(dir_ + "/log").rdbuf();
    return text.str();
  }
  // The lines that contain the text.
  std::vector<std::string> LinesWith(std::string_view what) const {
    std::vector<std::string> found;
    std::istringstream lines(Text());
    for (std::string line; std::getline(lines, line);)
      if (line.find(what) != std::string::npos) found.push_back(line);
    return found;
  }

 private:
  std::string dir_;
};

}  // namespace kvorum::server
