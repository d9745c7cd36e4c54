// The candidates for the next word of a line: commands, flags and values from the command tree.
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

// The last word is the one being typed, perhaps empty; the others are complete.
std::vector<Candidate> CompleteLine(const Command& root, std::span<const std::string> words);

}  // namespace kvorum::ctl
