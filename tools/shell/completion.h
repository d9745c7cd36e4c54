// The candidates for the next word of a line: commands, flags and values from the command tree.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/command.h"

namespace kvorum::ctl {

struct Candidate {
  std::string word;
  std::string about;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// The last word is the one being typed, perhaps empty; the others are complete.
std::vector<Candidate> CompleteLine(const Command& root, std::span<const std::string> words);

// The command that prints a shell's script, and the hidden one that the scripts call. Every program
// has them.
Command CompletionCommand(std::string_view program);
Command CompleteCommand();

}  // namespace kvorum::ctl
