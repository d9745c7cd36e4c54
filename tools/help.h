// What --help and a wrong line show, made from the tree of commands.
#pragma once

#include <span>
#include <string>

#include "tools/command.h"

namespace kvorum::ctl {

// How to write a line for the last command of the path: "Usage:" and its flags.
std::string UsageText(std::span<const Command* const> path);

// The description and the usage.
std::string HelpText(std::span<const Command* const> path);

// One line a flag, sorted by name; hidden flags only if asked for.
enum class HiddenFlags { kLeaveOut, kShow };
std::string FlagLines(std::span<const Flag> flags, HiddenFlags hidden);

}  // namespace kvorum::ctl
