#include <ostream>

#include "tools/carry/carry_commands.h"
#include "tools/session/key_pager.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/text/json.h"
#include "tools/text/key_groups.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kIndentation = 2;

std::string TextLine(const KeyTree::Line& line) {
  std::string text(line.level * kIndentation, ' ');
  text += ShownKey(line.name);
  if (line.keys > 0) text += "  (" + std::to_string(line.keys) + ")";
  return text + '\n';
}

std::string JsonLine(const KeyTree::Line& line) {
  JsonObject object;
  object.Add("level", std::to_string(line.level)).Add("name", JsonBytes(line.name));
  object.Add("folder", line.is_folder ? "true" : "false");
  if (line.keys > 0) object.Add("keys", std::to_string(line.keys));
  return object.Finish() + '\n';
}

Outcome<void> RunTree(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() > 1) return BadArguments("tree takes at most one prefix");
  if (flags.String("separator").empty()) return BadArguments("--separator must not be empty");
  if (flags.Int("depth") < 0) return BadArguments("--depth must not be negative");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  KV_TRY(const auto client, session.Connect());
  std::ostream& out = invocation.world.out;
  KeyTree tree(flags.String("separator"), static_cast<std::size_t>(flags.Int("depth")),
               [&](const KeyTree::Line& line) {
                 out << (format == "json" ? JsonLine(line) : TextLine(line));
               });
  const std::string prefix = invocation.args.empty() ? "" : invocation.args.front();
  KeyPager pager(*client, {.prefix = prefix, .revision = flags.Int("rev"), .keys_only = true},
                 [&] { return session.Call(); });
  while (out.good()) {
    KV_TRY(const bool found, pager.Next());
    if (!found) break;
    tree.Add(pager.kv().key());
  }
  tree.Finish();
  if (format == "simple") out << '\n' << tree.folders() << " folders, " << tree.keys() << " keys\n";
  return {};
}

}  // namespace

Command TreeCommand() {
  return {
      .use = "tree [options] [prefix]",
      .brief = "Shows keys as a tree",
      .description =
          R"(Shows the keys, or those with the prefix, as a tree whose folders end with the separator.

With --depth, deeper folders are only counted: the number of keys in a folder stands in parentheses.
All keys are of one revision. Keys that are not printable are quoted.

With --write-out=json each line is an object; a name is in base64.
)",
      .group = kKeyValueGroup,
      .flags = {{"separator", FlagType::kString, "/", "separator between the parts of a key"},
                {"depth", FlagType::kInt, "0", "number of folder levels to show (0: all)"},
                {"rev", FlagType::kInt, "0",
                 "show the keys of this revision (0: the current one)"}},
      .run = RunTree};
}

}  // namespace kvorum::ctl
