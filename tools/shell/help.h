// The texts shown for --help and for a wrong line, made from the tree of commands.
#pragma once

#include <span>
#include <string>

#include "tools/shell/command.h"

namespace kvorum::ctl {

// The form of a line for the last command of the path: "Usage:" and its flags.
std::string UsageText(std::span<const Command* const> path);

// The description and the usage.
std::string HelpText(std::span<const Command* const> path);

// The command that shows another one's help. Every program has it.
Command HelpCommand();

// One line per flag, sorted by name; hidden flags only on request.
enum class HiddenFlags { kLeaveOut, kShow };
std::string FlagLines(std::span<const Flag> flags, HiddenFlags hidden);

}  // namespace kvorum::ctl
