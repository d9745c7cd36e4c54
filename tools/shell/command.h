// The tree of commands. Each command is a row of data; its look-up (by any unique prefix), its help
// and its completion derive from the tree.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/flags.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

// A command's access to the outside world; tests replace it.
struct World {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  std::vector<std::string> environment;  // NAME=value
  // Progress, colours and redrawing are for people: they go to terminals only.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

struct Command;

// One call of a command: the content of the line.
struct Invocation {
  const Command& root;
  std::vector<const Command*> path;  // from the root to the command itself
  FlagSet& flags;
  std::vector<std::string> args;
  World& world;
  // The number of arguments before "--"; nothing if the line had none.
  std::optional<std::size_t> separator = {};
};

// The form of a program's help: etcdctl's tells what the command does, etcdutl's shows how to
// write the line and no more.
enum class HelpStyle { kWithDescription, kUsageAlone };

struct Command {
  std::string use;               // the name, then the words after it on the line
  std::string brief = {};        // one line
  std::string description = {};  // for the command's own help; empty: the brief
  std::string group = {};        // the title under which the parent's help lists it
  std::vector<Flag> flags = {};
  std::vector<Flag> inherited_flags = {};          // known to the command and its descendants
  std::vector<std::string> argument_choices = {};  // of the argument at choices_at
  std::size_t choices_at = 0;
  // Checks the arguments before the command runs; a failure is shown together with the usage.
  std::function<Outcome<void>(const Invocation&)> check = {};
  std::function<Outcome<void>(Invocation&)> run = {};  // empty: shows its help
  std::vector<Command> children = {};
  std::vector<std::string> group_order = {};  // of the root: the groups, as its help lists them
  HelpStyle help_style = HelpStyle::kWithDescription;  // of the root
  bool hidden = false;

  std::string_view name() const { return std::string_view(use).substr(0, use.find(' ')); }
};

// Refuses a line with another number of arguments.
Outcome<void> CheckCount(const Invocation& invocation, std::size_t count, std::string_view refusal);

// The one argument of "user add", "role get" and the like.
Outcome<std::string> NameArgument(const Invocation& invocation);

// The line's --write-out, which must be one of those that the command shows.
Outcome<std::string> FormatAmong(const Invocation& invocation,
                                 std::initializer_list<std::string_view> shown);

// "kvorumctl endpoint status"
std::string PathName(std::span<const Command* const> path);

// Every flag that the last command of the path knows.
FlagSet KnownFlags(std::span<const Command* const> path);

// The child of that name, or the only one whose name has that prefix. A name that begins all others
// that have it is meant: "snap" is snapshot, not snapshot-server.
const Command* FindChild(const Command& parent, std::string_view name);

struct Found {
  std::vector<const Command*> path;
  std::vector<std::string> rest;  // the line without the commands' names
};
// The command named by the line; flags may stand before, between and after the names.
Outcome<Found> FindCommand(const Command& root, std::span<const std::string> line);

// Parses and runs a line; prints errors, usage and help. Returns the exit code.
int Execute(const Command& root, std::span<const std::string> line, World& world);

// A program's main(): the line and the environment of this process.
int Main(const Command& root, int argc, char** argv);

}  // namespace kvorum::ctl
