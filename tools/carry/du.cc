#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include "base/text/human_bytes.h"
#include "tools/carry/carry_commands.h"
#include "tools/session/key_pager.h"
#include "tools/session/session.h"
#include "tools/session/table.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/progress_bar.h"
#include "tools/text/display_width.h"
#include "tools/text/json.h"
#include "tools/text/key_groups.h"

namespace kvorum::ctl {
namespace {

// Enough for every layout that a person would look at; memory is bounded by it.
constexpr std::size_t kMostFolders = 1'000'000;

struct Usage {
  std::string folder = {};
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;  // of keys and values

  void Add(const mvccpb::KeyValue& kv) {
    ++keys;
    bytes += kv.key().size() + kv.value().size();
  }
};

struct Usages {
  std::int64_t revision = 0;
  std::vector<Usage> folders = {};
  Usage total = {.folder = "total"};
};

Outcome<Usages> Measure(const Invocation& invocation, const Session& session) {
  const FlagSet& flags = invocation.flags;
  KV_TRY(const auto client, session.Connect());
  const std::string prefix = invocation.args.empty() ? "" : invocation.args.front();
  KeyPager pager(*client, {.prefix = prefix, .revision = flags.Int("rev")},
                 [&] { return session.Call(); });
  Usages usages;
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::int64_t> all{0};
  const ProgressBar bar(invocation.world, [&] {
    const auto count = static_cast<double>(std::max<std::int64_t>(all, 1));
    return ProgressBar::State{static_cast<double>(done) / count,
                              fmt::format("{} of {} keys", done.load(), all.load())};
  });
  // Keys come in order, so those of a folder come one after another.
  while (true) {
    KV_TRY(const bool found, pager.Next());
    all = pager.count();
    if (!found) break;
    const std::string& key = pager.kv().key();
    const std::size_t start = std::min(prefix.size(), key.size());
    const std::string_view below =
        FolderOf(std::string_view(key).substr(start), flags.String("separator"),
                 static_cast<std::size_t>(flags.Int("depth")));
    const std::string_view folder = std::string_view(key).substr(0, start + below.size());
    if (usages.folders.empty() || usages.folders.back().folder != folder) {
      if (usages.folders.size() >= kMostFolders)
        return Fail(ExitCode::kError,
                    fmt::format("more than {} folders: give a smaller --depth", kMostFolders));
      usages.folders.push_back({.folder = std::string(folder)});
    }
    usages.folders.back().Add(pager.kv());
    usages.total.Add(pager.kv());
    ++done;
  }
  usages.revision = pager.revision();
  return usages;
}

// Keys directly at the top, between folders, make several groups of the same name.
void MergeFolders(std::vector<Usage>& folders) {
  std::map<std::string, Usage> merged;
  for (const Usage& usage : folders) {
    Usage& whole = merged[usage.folder];
    whole.folder = usage.folder;
    whole.keys += usage.keys;
    whole.bytes += usage.bytes;
  }
  folders.clear();
  for (auto& [name, usage] : merged) folders.push_back(std::move(usage));
}

Outcome<void> Sort(std::vector<Usage>& folders, std::string_view by) {
  if (by == "bytes")
    std::ranges::stable_sort(folders, std::greater(), &Usage::bytes);
  else if (by == "keys")
    std::ranges::stable_sort(folders, std::greater(), &Usage::keys);
  else if (by != "name")
    return Fail(ExitCode::kBadFeature, "unknown --sort: bytes, keys or name");
  return {};
}

std::string ShownFolder(const Usage& usage) {
  return usage.folder.empty() ? "(top)" : ShownKey(usage.folder);
}

std::string JsonUsage(const Usage& usage) {
  return JsonObject()
      .Add("prefix", JsonBytes(usage.folder))
      .Add("keys", std::to_string(usage.keys))
      .Add("bytes", std::to_string(usage.bytes))
      .Finish();
}

void ShowUsagesJson(const Usages& usages, std::ostream& out) {
  out << JsonObject()
             .Add("revision", std::to_string(usages.revision))
             .Add("keys", std::to_string(usages.total.keys))
             .Add("bytes", std::to_string(usages.total.bytes))
             .Add("prefixes", JsonList(usages.folders, JsonUsage))
             .Finish()
      << '\n';
}

void ShowUsagesTable(const Usages& usages, std::ostream& out) {
  Table table{{"bytes", "keys", "prefix"}, {}};
  const auto add = [&](const Usage& usage, const std::string& name) {
    table.rows.push_back({HumanBytes(usage.bytes), std::to_string(usage.keys), name});
  };
  for (const Usage& usage : usages.folders) add(usage, ShownFolder(usage));
  add(usages.total, "total");
  out << DrawTable(table);
}

// For another program: plain numbers between tabs. For a person: sizes with units, in columns.
void ShowUsagesLines(const Usages& usages, bool for_person, std::ostream& out) {
  const auto line = [&](const Usage& usage, const std::string& name) {
    if (for_person)
      out << fmt::format("{:>8} {:>12}  {}\n", HumanBytes(usage.bytes), usage.keys, name);
    else
      out << usage.bytes << '\t' << usage.keys << '\t' << name << '\n';
  };
  for (const Usage& usage : usages.folders) line(usage, ShownFolder(usage));
  line(usages.total, "total");
}

Outcome<void> RunDu(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() > 1) return BadArguments("du takes at most one prefix");
  if (flags.String("separator").empty()) return BadArguments("--separator must not be empty");
  if (flags.Int("depth") < 0) return BadArguments("--depth must not be negative");
  std::vector<Usage> nothing;
  KV_RETURN_IF_ERROR(Sort(nothing, flags.String("sort")));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json", "table"}));
  KV_TRY(Usages usages, Measure(invocation, session));
  MergeFolders(usages.folders);
  KV_RETURN_IF_ERROR(Sort(usages.folders, flags.String("sort")));
  std::ostream& out = invocation.world.out;
  if (format == "json")
    ShowUsagesJson(usages, out);
  else if (format == "table")
    ShowUsagesTable(usages, out);
  else
    ShowUsagesLines(usages, invocation.world.out_is_terminal, out);
  return {};
}

}  // namespace

Command DuCommand() {
  return {
      .use = "du [options] [prefix]",
      .brief = "Shows the number of keys and bytes by prefix",
      .description = R"(Counts the keys, and the bytes of keys and values, by their first folders.

Each key counts once, in the folder of the given depth, or in its own if that is less deep; (top) are
keys in no folder. Every line is bytes, keys and folder; the last one is the sum. Everything is of one
revision. All values are read for it: on a large keyspace that takes a while.
)",
      .group = kKeyValueGroup,
      .flags = {{"separator", FlagType::kString, "/", "separator between the parts of a key"},
                {"depth", FlagType::kInt, "1",
                 "number of folder levels below the prefix to count by"},
                {"sort",
                 FlagType::kString,
                 "bytes",
                 "sort order: most bytes first, most keys first, or by name",
                 {"bytes", "keys", "name"}},
                {"rev", FlagType::kInt, "0",
                 "count the keys of this revision (0: the current one)"}},
      .run = RunDu};
}

}  // namespace kvorum::ctl
