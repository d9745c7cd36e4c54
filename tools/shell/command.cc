#include "tools/shell/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/text/edit_distance.h"
#include "base/text/go_quote.h"
#include "tools/shell/help.h"

namespace kvorum::ctl {
namespace {

// Walks over a line as the flags divide it: calls visit(index) for each word that is neither a flag
// nor a flag's value, until it returns false.
template <class Visit>
void ForEachWord(const FlagSet& flags, std::span<const std::string> line, const Visit& visit) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view word = line[i];
    if (word == "--") return;
    if (word.starts_with('-') && word.find('=') == std::string_view::npos) {
      const bool is_long = word.starts_with("--");
      const Flag* flag = is_long            ? flags.Find(word.substr(2))
                         : word.size() == 2 ? flags.FindShorthand(word[1])
                                            : nullptr;
      const bool may_take_value = is_long || word.size() == 2;
      // An unknown flag is assumed to take a value: the error comes when the line is parsed.
      if (may_take_value && (flag == nullptr || TakesValue(*flag))) ++i;
    } else if (!word.starts_with('-') && !word.empty()) {
      if (!visit(i)) return;
    }
  }
}

Failure UnknownCommand(const Command& root, std::string_view name) {
  std::string message =
      fmt::format("unknown command {} for {}", GoQuote(name), GoQuote(root.name()));
  std::string suggestions;
  for (const Command& child : root.children)
    if (!child.hidden &&
        (child.name().starts_with(name) || EditDistance(name, child.name()) <= kNearDistance))
      suggestions += fmt::format("\t{}\n", child.name());
  if (!suggestions.empty()) message += "\n\nDid you mean this?\n" + suggestions;
  return {ExitCode::kError, message};
}

int Report(const Failure& failure, World& world) {
  world.out.flush();
  if (!failure.message.empty()) world.err << "Error: " << failure.message << '\n';
  world.err.flush();
  return static_cast<int>(failure.code);
}

int ReportWithUsage(const Failure& failure, std::span<const Command* const> path, World& world) {
  const int code = Report(failure, world);
  world.err << UsageText(path) << '\n';
  return code;
}

}  // namespace

Outcome<void> CheckCount(const Invocation& invocation, std::size_t count,
                         std::string_view refusal) {
  if (invocation.args.size() != count) return BadArguments(std::string(refusal));
  return {};
}

Outcome<std::string> NameArgument(const Invocation& invocation) {
  const std::string_view family = invocation.path[invocation.path.size() - 2]->name();
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1,
                                fmt::format("{0} {1} command requires {0} name as its argument",
                                            family, invocation.path.back()->name())));
  return invocation.args.front();
}

Outcome<std::string> FormatAmong(const Invocation& invocation,
                                 std::initializer_list<std::string_view> shown) {
  const std::string& format = invocation.flags.String("write-out");
  if (std::ranges::find(shown, format) != shown.end()) return format;
  return Fail(ExitCode::kBadFeature, format + " not supported as output format");
}

std::string PathName(std::span<const Command* const> path) {
  std::string name;
  for (const Command* command : path) {
    if (!name.empty()) name += ' ';
    name += command->name();
  }
  return name;
}

FlagSet KnownFlags(std::span<const Command* const> path) {
  FlagSet flags;
  for (const Command* command : path)
    for (const Flag& flag : command->inherited_flags) flags.Add(flag);
  for (const Flag& flag : path.back()->flags) flags.Add(flag);
  flags.Add(
      {.name = "help",
       .help = "help for " + std::string(path.back()->name()),
       .shorthand = 'h',
       .hidden = path.size() == 1 && path.front()->help_style == HelpStyle::kWithDescription});
  return flags;
}

const Command* FindChild(const Command& parent, std::string_view name) {
  std::vector<const Command*> found;
  for (const Command& child : parent.children) {
    if (child.name() == name) return &child;
    if (!child.hidden && child.name().starts_with(name)) found.push_back(&child);
  }
  if (found.empty()) return nullptr;
  const Command* shortest = *std::ranges::min_element(
      found, {}, [](const Command* command) { return command->name().size(); });
  const bool begins_all = std::ranges::all_of(
      found, [&](const Command* command) { return command->name().starts_with(shortest->name()); });
  return begins_all ? shortest : nullptr;
}

Outcome<Found> FindCommand(const Command& root, std::span<const std::string> line) {
  Found found{{&root}, {line.begin(), line.end()}};
  while (true) {
    std::optional<std::size_t> at;
    ForEachWord(KnownFlags(found.path), found.rest, [&](std::size_t i) {
      at = i;
      return false;
    });
    if (!at) return found;
    const Command* child = FindChild(*found.path.back(), found.rest[*at]);
    if (child == nullptr) {
      if (found.path.size() == 1) return std::unexpected(UnknownCommand(root, found.rest[*at]));
      return found;
    }
    found.path.push_back(child);
    found.rest.erase(found.rest.begin() + static_cast<std::ptrdiff_t>(*at));
  }
}

int Execute(const Command& root, std::span<const std::string> line, World& world) {
  auto found = FindCommand(root, line);
  if (!found) {
    const int code = Report(found.error(), world);
    world.err << "Run '" << root.name() << " --help' for usage.\n";
    return code;
  }
  const Command& command = *found->path.back();
  FlagSet flags = KnownFlags(found->path);
  std::optional<std::size_t> separator;
  auto args = flags.Parse(found->rest, &separator);
  if (!args) return ReportWithUsage(args.error(), found->path, world);
  if (flags.Switch("help") || !command.run) {
    world.out << HelpText(found->path);
    return 0;
  }
  Invocation invocation{root, found->path, flags, *std::move(args), world, separator};
  if (command.check) {
    if (const auto checked = command.check(invocation); !checked)
      return ReportWithUsage(checked.error(), found->path, world);
  }
  if (const auto complete = flags.CheckRequired(); !complete)
    return ReportWithUsage(complete.error(), found->path, world);
  const auto done = command.run(invocation);
  if (!done) return Report(done.error(), world);
  world.out.flush();
  return world.out.good() ? 0 : static_cast<int>(ExitCode::kError);
}

int Main(const Command& root, int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> line(argv + 1, argv + argc);
  World world{.in = std::cin,
              .out = std::cout,
              .err = std::cerr,
              .environment = {},
              .out_is_terminal = isatty(STDOUT_FILENO) == 1,
              .err_is_terminal = isatty(STDERR_FILENO) == 1};
  for (char** variable = environ; *variable != nullptr; ++variable)
    world.environment.emplace_back(*variable);
  return Execute(root, line, world);
}

}  // namespace kvorum::ctl
