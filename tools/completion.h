// What may come next on a line: commands, flags and values out of the command tree.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/command.h"

namespace kvorum::ctl {

struct Candidate {
  std::string word;
  std::string about;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// The last of the words is the one being typed, perhaps empty; the others are whole.
std::vector<Candidate> CompleteLine(const Command& root, std::span<const std::string> words);

}  // namespace kvorum::ctl
