#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text/go_quote.h"
#include "base/words.h"
#include "client/error_text.h"
#include "tools/carry/carry_commands.h"
#include "tools/carry/key_diff.h"
#include "tools/session/key_pager.h"
#include "tools/session/session.h"
#include "tools/shell/colors.h"
#include "tools/shell/command_groups.h"
#include "tools/text/json.h"
#include "tools/text/key_groups.h"

namespace kvorum::ctl {
namespace {

// The exit codes are those of diff(1): 0 equal, 1 different, 2 trouble.
constexpr ExitCode kTrouble = ExitCode::kBadConnection;

struct DiffCounts {
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
  std::uint64_t changed = 0;

  bool any() const { return added + removed + changed > 0; }
};

std::string_view ChangeName(const mvccpb::KeyValue* left, const mvccpb::KeyValue* right) {
  if (left == nullptr) return "added";
  return right == nullptr ? "removed" : "changed";
}

void Count(const mvccpb::KeyValue* left, const mvccpb::KeyValue* right, DiffCounts& counts) {
  if (left == nullptr)
    ++counts.added;
  else if (right == nullptr)
    ++counts.removed;
  else
    ++counts.changed;
}

void ShowDifferenceJson(const mvccpb::KeyValue* left, const mvccpb::KeyValue* right,
                        std::ostream& out) {
  JsonObject object;
  object.Add("change", JsonString(ChangeName(left, right)))
      .Add("key", JsonBytes((left != nullptr ? left : right)->key()));
  if (left != nullptr) object.Add("value", JsonBytes(left->value()));
  if (right != nullptr) object.Add("other_value", JsonBytes(right->value()));
  out << object.Finish() << '\n';
}

void ShowDifferenceText(const mvccpb::KeyValue* left, const mvccpb::KeyValue* right, bool values,
                        const Colors& colors, std::ostream& out) {
  const std::string key = ShownKey((left != nullptr ? left : right)->key());
  if (left == nullptr)
    out << colors.Green("+ " + key) << '\n';
  else if (right == nullptr)
    out << colors.Red("- " + key) << '\n';
  else
    out << colors.Yellow("~ " + key) << '\n';
  if (!values) return;
  if (left != nullptr) out << colors.Red("  < " + GoQuote(left->value())) << '\n';
  if (right != nullptr) out << colors.Green("  > " + GoQuote(right->value())) << '\n';
}

NextKey KeysFrom(KeyPager& pager) {
  return [&pager]() -> Result<const mvccpb::KeyValue*> {
    KV_TRY(const bool found, pager.Next());
    return found ? &pager.kv() : nullptr;
  };
}

// The other side: the argument's endpoints, or the same cluster.
Outcome<std::unique_ptr<client::Client>> ConnectToOther(const Invocation& invocation,
                                                        const Session& session) {
  if (invocation.args.empty()) return session.Connect();
  std::vector<std::string> endpoints;
  for (const std::string_view endpoint : Split(invocation.args.front(), ','))
    endpoints.emplace_back(Trim(endpoint));
  KV_TRY(const auto log_in, DestinationLogIn(invocation));
  return Session::ConnectWith(session.DestinationOptions(invocation, std::move(endpoints), log_in));
}

Outcome<DiffCounts> CompareSides(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() > 1) return BadArguments("diff takes at most one other cluster");
  if (invocation.args.empty() && flags.Int("rev") == flags.Int("other-rev"))
    return BadArguments("diff takes another cluster's endpoints, or two revisions of one");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto other, ConnectToOther(invocation, session));

  const auto call = [&] { return session.Call(); };
  const std::string& prefix = flags.String("prefix");
  KeyPager left(*client, {.prefix = prefix, .revision = flags.Int("rev")}, call);
  KeyPager right(*other, {.prefix = prefix, .revision = flags.Int("other-rev")}, call);
  const Colors colors(invocation);
  std::ostream& out = invocation.world.out;
  DiffCounts counts;
  KV_RETURN_IF_ERROR(
      CompareKeys(KeysFrom(left), KeysFrom(right), [&](const auto* ours, const auto* theirs) {
        Count(ours, theirs, counts);
        if (format == "json")
          ShowDifferenceJson(ours, theirs, out);
        else if (!flags.Switch("quiet"))
          ShowDifferenceText(ours, theirs, flags.Switch("values"), colors, out);
      }));
  const std::string revisions =
      fmt::format("revisions {} and {}", left.revision(), right.revision());
  if (format == "json")
    out << JsonObject()
               .Add("added", std::to_string(counts.added))
               .Add("removed", std::to_string(counts.removed))
               .Add("changed", std::to_string(counts.changed))
               .Add("revision", std::to_string(left.revision()))
               .Add("other_revision", std::to_string(right.revision()))
               .Finish()
        << '\n';
  else if (counts.any())
    out << fmt::format("{} added, {} removed, {} changed ({})\n", counts.added, counts.removed,
                       counts.changed, revisions);
  else
    out << fmt::format("no difference ({})\n", revisions);
  return counts;
}

Outcome<void> RunDiff(Invocation& invocation) {
  auto counts = CompareSides(invocation);
  if (counts) {
    if (counts->any()) return Fail(ExitCode::kError, "");
    return {};
  }
  Failure failure = std::move(counts).error();
  if (failure.code == ExitCode::kError) failure.code = kTrouble;
  return std::unexpected(std::move(failure));
}

std::vector<Flag> DiffFlags() {
  std::vector<Flag> flags = {
      {"prefix", FlagType::kString, "", "compare only keys with this prefix"},
      {"rev", FlagType::kInt, "0", "revision on the local side (0: the current one)"},
      {"other-rev", FlagType::kInt, "0", "revision on the other side (0: the current one)"},
      {.name = "values", .help = "show the values as well"},
      {.name = "quiet", .help = "show only the number of keys that differ", .shorthand = 'q'}};
  for (Flag& flag : DestinationFlags()) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace

Command DiffCommand() {
  return {
      .use = "diff [options] [endpoints of the other cluster]",
      .brief = "Compares the keys and values of two clusters, or of two revisions",
      .description =
          R"(Compares keys and values with those of another cluster, or with another revision of the same one.

A line begins with + for a key that only the other side has, - for one that only our side has, ~ for
another value. Revisions, versions and leases are not compared. Each side is read at one revision, in
pages. The exit code is 0 if both are equal, 1 if they differ, 2 if something went wrong.

With --write-out=json each line is an object, keys and values are in base64, and the last line has
the numbers.
)",
      .group = kUtilityGroup,
      .flags = DiffFlags(),
      .run = RunDiff};
}

}  // namespace kvorum::ctl
