#include "tools/shell/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text/go_quote.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kMinNameColumn = 11;

std::string_view FlagTypeName(FlagType type) {
  switch (type) {
    case FlagType::kSwitch:
      return "";
    case FlagType::kInt:
      return " int";
    case FlagType::kUint:
      return " uint";
    case FlagType::kString:
      return " string";
    case FlagType::kStrings:
      return " strings";
    case FlagType::kDuration:
      return " duration";
  }
  return "";
}

std::string DefaultText(const Flag& flag) {
  if (flag.default_value.empty()) return "";
  switch (flag.type) {
    case FlagType::kSwitch:
      return flag.default_value == "false" ? "" : fmt::format(" (default {})", flag.default_value);
    case FlagType::kInt:
    case FlagType::kUint:
      return flag.default_value == "0" ? "" : fmt::format(" (default {})", flag.default_value);
    case FlagType::kString:
      return fmt::format(" (default {})", GoQuote(flag.default_value));
    case FlagType::kStrings:
      return fmt::format(" (default [{}])", flag.default_value);
    case FlagType::kDuration:
      return fmt::format(" (default {})", flag.default_value);
  }
  return "";
}

std::string TrimmedRight(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string ChildLines(const Command& parent, std::string_view group) {
  std::size_t column = kMinNameColumn;
  for (const Command& child : parent.children) column = std::max(column, child.name().size());
  std::vector<const Command*> listed;
  for (const Command& child : parent.children)
    if (!child.hidden && child.group == group) listed.push_back(&child);
  std::ranges::sort(listed, {}, &Command::name);
  std::string lines;
  for (const Command* child : listed)
    lines += fmt::format("\n  {:<{}} {}", child->name(), column, child->brief);
  return lines;
}

bool HasChildren(const Command& command) {
  return std::ranges::any_of(command.children, [](const Command& c) { return !c.hidden; });
}

// The command's own flags, and those inherited from its ancestors.
struct FlagsByOrigin {
  std::vector<Flag> own;
  std::vector<Flag> inherited;
};

FlagsByOrigin DivideFlags(std::span<const Command* const> path) {
  FlagsByOrigin flags;
  const Command& command = *path.back();
  flags.own = command.flags;
  flags.own.insert(flags.own.end(), command.inherited_flags.begin(), command.inherited_flags.end());
  flags.own.push_back(*KnownFlags(path).Find("help"));
  for (const Command* ancestor : path.first(path.size() - 1))
    flags.inherited.insert(flags.inherited.end(), ancestor->inherited_flags.begin(),
                           ancestor->inherited_flags.end());
  return flags;
}

}  // namespace

std::string FlagLines(std::span<const Flag> flags, HiddenFlags hidden) {
  struct Line {
    std::string left;
    std::string right;
  };
  std::vector<const Flag*> sorted;
  for (const Flag& flag : flags)
    if (hidden == HiddenFlags::kShow || !flag.hidden) sorted.push_back(&flag);
  std::ranges::sort(sorted, {}, [](const Flag* flag) { return std::string_view(flag->name); });

  std::vector<Line> lines;
  std::size_t column = 0;
  for (const Flag* flag : sorted) {
    const std::string letter =
        flag->shorthand == '\0' ? "    " : fmt::format("-{}, ", flag->shorthand);
    lines.push_back({fmt::format("  {}--{}{}", letter, flag->name, FlagTypeName(flag->type)),
                     flag->help + DefaultText(*flag)});
    column = std::max(column, lines.back().left.size());
  }
  std::string text;
  for (const Line& line : lines)
    text += fmt::format("{:<{}}   {}\n", line.left, column, line.right);
  return text;
}

std::string UsageText(std::span<const Command* const> path) {
  const Command& command = *path.back();
  const std::string path_name = PathName(path);
  std::string text = "Usage:";
  if (command.run)
    text += fmt::format("\n  {}{} [flags]", path_name, command.use.substr(command.name().size()));
  if (HasChildren(command)) {
    text += fmt::format("\n  {} [command]", path_name);
    for (const std::string& group : command.group_order)
      text += "\n\n" + group + ChildLines(command, group);
    if (command.group_order.empty()) text += "\n\nAvailable Commands:" + ChildLines(command, "");
  }
  const FlagsByOrigin flags = DivideFlags(path);
  if (const std::string lines = FlagLines(flags.own, HiddenFlags::kLeaveOut); !lines.empty())
    text += "\n\nFlags:\n" + TrimmedRight(lines);
  if (const std::string lines = FlagLines(flags.inherited, HiddenFlags::kLeaveOut); !lines.empty())
    text += "\n\nGlobal Flags:\n" + TrimmedRight(lines);
  if (HasChildren(command))
    text += fmt::format("\n\nUse \"{} [command] --help\" for more information about a command.",
                        path_name);
  return text + "\n";
}

std::string HelpText(std::span<const Command* const> path) {
  if (path.front()->help_style == HelpStyle::kUsageAlone) return UsageText(path);
  const Command& command = *path.back();
  const std::string& about = command.description.empty() ? command.brief : command.description;
  return fmt::format(
      "{}\n\n{}Use \"{} options\" for a list of global command-line options (applies to all "
      "commands).\n",
      TrimmedRight(about), UsageText(path), path.front()->name());
}

Command HelpCommand() {
  return {.use = "help [command]",
          .brief = "Help about any command",
          .run = [](Invocation& invocation) -> Outcome<void> {
            const auto found = FindCommand(invocation.root, invocation.args);
            if (found) {
              invocation.world.out << HelpText(found->path);
              return {};
            }
            const Command* root = &invocation.root;
            invocation.world.err << "Unknown help topic " << GoQuote(invocation.args.front())
                                 << '\n'
                                 << UsageText({&root, 1});
            return {};
          }};
}

}  // namespace kvorum::ctl
