#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <span>
#include <vector>

#include "base/text/go_quote.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/health/health_commands.h"
#include "tools/run/load_run.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/stop_signals.h"
#include "tools/text/http_get.h"
#include "tools/text/metrics_page.h"
#include "tools/text/prefix_range.h"

namespace kvorum::ctl {
namespace {

struct CheckLoad {
  std::string_view name;
  std::string_view long_name;
  double writes_per_second;  // of check perf
  std::uint64_t keys;        // of check datascale
  std::size_t clients;
};
// The same sizes as etcdctl's, so that results can be compared.
constexpr auto kLoads = std::to_array<CheckLoad>({{"s", "small", 150, 10'000, 50},
                                                  {"m", "medium", 1'000, 100'000, 200},
                                                  {"l", "large", 8'000, 1'000'000, 500},
                                                  {"xl", "xLarge", 15'000, 3'000'000, 1'000}});

constexpr std::size_t kPerfKeyBytes = 256;
constexpr std::size_t kPerfValueBytes = 1024;
constexpr std::size_t kDatascaleKeyBytes = 512;
constexpr std::size_t kDatascaleValueBytes = 512;
constexpr std::size_t kDatascaleKeyValueBytes = 1024;  // as it is named; the prefix is not counted
constexpr std::chrono::seconds kAfterwards(30);        // for each request of tidying up
// Long enough for several such requests, and for the members that are defragmented.
constexpr std::chrono::minutes kTidyingUp(10);
constexpr std::string_view kResidentBytes = "process_resident_memory_bytes";

Outcome<CheckLoad> ChosenLoad(const FlagSet& flags) {
  const std::string& name = flags.String("load");
  const auto it = std::ranges::find_if(
      kLoads, [&](const CheckLoad& load) { return load.name == name || load.long_name == name; });
  if (it == kLoads.end()) return Fail(ExitCode::kBadFeature, "unknown load option " + name);
  return *it;
}

// The prefix and a random number in a field of that many bytes.
std::function<std::string()> RandomKeys(std::string prefix, std::size_t size_bytes) {
  return [prefix = std::move(prefix), field = std::string(size_bytes, '\0'),
          random = std::mt19937_64(std::random_device()())]() mutable {
    const std::uint64_t number = random();
    for (std::size_t i = 0; i < sizeof number; ++i)
      field[i] = static_cast<char>(number >> (8 * i) & 0xff);
    return prefix + field;
  };
}

using Clients = std::vector<std::unique_ptr<client::Client>>;

Outcome<Clients> ConnectAll(const Session& session, std::size_t count) {
  Clients clients;
  for (std::size_t i = 0; i < count; ++i) {
    KV_TRY(auto client, session.Connect());
    clients.push_back(std::move(client));
  }
  return clients;
}

Outcome<void> CheckIsEmpty(client::Client& client, const std::string& prefix,
                           std::string_view quote, const client::CallOptions& call) {
  etcdserverpb::RangeRequest request;
  SetPrefix(request, prefix);
  request.set_limit(1);
  KV_TRY(const auto found, client.Range(request, call));
  if (found.kvs().empty()) return {};
  return Fail(ExitCode::kInvalidInput,
              fmt::format("prefix {0} has keys. Delete with {1}kvorumctl del --prefix {0}{1} first",
                          GoQuote(prefix), quote));
}

Result<std::int64_t> DeletePrefix(client::Client& client, const std::string& prefix) {
  etcdserverpb::DeleteRangeRequest request;
  SetPrefix(request, prefix);
  KV_TRY(const auto deleted, client.DeleteRange(request, client::CallOptions::Within(kAfterwards)));
  return deleted.header().revision();
}

Outcome<void> CompactTo(client::Client& client, std::int64_t revision, std::ostream& out) {
  out << "Compacting with revision " << revision << '\n';
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  request.set_physical(true);
  KV_RETURN_IF_ERROR(client.Compact(request, client::CallOptions::Within(kAfterwards)));
  out << "Compacted with revision " << revision << '\n';
  return {};
}

Outcome<void> DefragmentAll(const Session& session, std::ostream& out) {
  for (const std::string& endpoint : session.options().endpoints) {
    out << "Defragmenting " << GoQuote(endpoint) << '\n' << std::flush;
    KV_TRY(const auto client, session.ConnectTo(endpoint));
    KV_RETURN_IF_ERROR(client->Defragment(client::CallOptions::Within(kAfterwards)));
    out << "Defragmented " << GoQuote(endpoint) << '\n';
  }
  return {};
}

// Removes the keys of a check; then, as its flags say, the history and the free pages.
Outcome<void> TidyUp(const Invocation& invocation, const Session& session, client::Client& client) {
  std::ostream& out = invocation.world.out;
  const auto deleted = DeletePrefix(client, invocation.flags.String("prefix"));
  if (!deleted) {
    out << "FAIL: Cleanup failed during key deletion: ERROR(" << client::ErrorText(deleted.error())
        << ")\n";
  } else if (invocation.flags.Switch("auto-compact")) {
    KV_RETURN_IF_ERROR(CompactTo(client, *deleted, out));
  }
  if (invocation.flags.Switch("auto-defrag")) KV_RETURN_IF_ERROR(DefragmentAll(session, out));
  return {};
}

bool ShowErrors(const LoadResults& results, std::ostream& out) {
  if (results.errors.empty()) return false;
  out << "FAIL: too many errors\n";
  for (const auto& [text, count] : results.errors)
    out << "FAIL: ERROR(" << text << ") -> " << count << '\n';
  return true;
}

std::string SecondsText(double seconds) {
  return std::isnan(seconds) ? "NaNs" : fmt::format("{:.6f}s", seconds);
}

// The verdict; false if a measure is out of its bounds.
bool ShowPerf(const LoadResults& results, double wanted_per_second, std::ostream& out) {
  constexpr double kEnough = 0.9;
  constexpr double kSlow = 0.5;
  constexpr double kUnsteady = 0.1;
  bool passed = !ShowErrors(results, out);
  const auto per_second = static_cast<std::int64_t>(results.PerSecond()) + 1;
  const bool fast = results.PerSecond() / wanted_per_second > kEnough;
  out << fmt::format("{} {} writes/s\n",
                     fast ? "PASS: Throughput is" : "FAIL: Throughput too low:", per_second);
  const bool slow = results.slowest_s > kSlow;
  out << (slow ? "Slowest request took too long: " : "PASS: Slowest request took ")
      << SecondsText(results.slowest_s) << '\n';
  const bool unsteady = results.Deviation() > kUnsteady;
  out << (unsteady ? "Stddev too high: " : "PASS: Stddev is ") << SecondsText(results.Deviation())
      << '\n';
  passed = passed && fast && !slow && !unsteady;
  out << (passed ? "PASS\n" : "FAIL\n");
  return passed;
}

Outcome<void> RunPerf(Invocation& invocation) {
  KV_TRY(const CheckLoad load, ChosenLoad(invocation.flags));
  const auto duration = invocation.flags.Duration("duration");
  if (duration <= std::chrono::nanoseconds::zero())
    return BadArguments("--duration must be longer than 0");
  const StopSignals signals(kTidyingUp);
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const Clients clients, ConnectAll(session, load.clients));
  const std::string& prefix = invocation.flags.String("prefix");
  KV_RETURN_IF_ERROR(CheckIsEmpty(*clients.front(), prefix, "'", session.Call()));

  LoadResults results;
  {
    std::atomic<std::uint64_t> done{0};
    const auto start = std::chrono::steady_clock::now();
    const ProgressBar bar(invocation.world, [&] {
      const auto gone = std::chrono::steady_clock::now() - start;
      return ProgressBar::State{std::chrono::duration<double>(gone) / duration,
                                fmt::format("{} writes", done.load())};
    });
    results = RunLoad(clients,
                      {.key = RandomKeys(prefix, kPerfKeyBytes),
                       .value = std::string(kPerfValueBytes, '\0'),
                       .per_second = load.writes_per_second,
                       .duration = duration},
                      signals.token(), done);
  }
  KV_RETURN_IF_ERROR(TidyUp(invocation, session, *clients.front()));
  if (!ShowPerf(results, load.writes_per_second, invocation.world.out))
    return Fail(ExitCode::kError, "");
  return {};
}

// The resident memory of the member at the first endpoint, from its metrics page.
Outcome<double> ResidentBytes(const Session& session, std::string_view when, std::ostream& out) {
  const auto page =
      HttpGet(session.options().endpoints.front(), "/metrics", session.options().tls, kAfterwards);
  if (page) {
    if (const auto bytes = MetricsPage::Parse(page->body).Value(kResidentBytes);
        bytes.value_or(0) > 0)
      return *bytes;
    out << "could not find: " << kResidentBytes << '\n';
  } else {
    out << "fetch error: " << page.error().message << '\n';
  }
  out << fmt::format("FAIL: Could not read {} {} the put operations.\n", kResidentBytes, when);
  return Fail(ExitCode::kError, "");
}

Outcome<void> RunDatascale(Invocation& invocation) {
  KV_TRY(const CheckLoad load, ChosenLoad(invocation.flags));
  const StopSignals signals(kTidyingUp);
  KV_TRY(const auto session, Session::Open(invocation));
  if (session.options().endpoints.empty()) return Fail(ExitCode::kError, "no endpoints");
  KV_TRY(const Clients clients, ConnectAll(session, load.clients));
  const std::string& prefix = invocation.flags.String("prefix");
  KV_RETURN_IF_ERROR(CheckIsEmpty(*clients.front(), prefix, "", session.Call()));
  std::ostream& out = invocation.world.out;
  KV_TRY(const double before, ResidentBytes(session, "before", out));

  out << fmt::format(
             "Start data scale check for work load [{} key-value pairs, {} bytes per key-value, {} "
             "concurrent clients].\n",
             load.keys, kDatascaleKeyValueBytes, load.clients)
      << std::flush;
  LoadResults results;
  {
    std::atomic<std::uint64_t> done{0};
    const ProgressBar bar(invocation.world, [&] {
      return ProgressBar::State{static_cast<double>(done.load()) / static_cast<double>(load.keys),
                                fmt::format("{} of {} keys", done.load(), load.keys)};
    });
    results = RunLoad(clients,
                      {.key = RandomKeys(prefix, kDatascaleKeyBytes),
                       .value = std::string(kDatascaleValueBytes, '\0'),
                       .requests = load.keys},
                      signals.token(), done);
  }
  const auto after = ResidentBytes(session, "after", out);
  KV_RETURN_IF_ERROR(TidyUp(invocation, session, *clients.front()));
  if (!after) return std::unexpected(after.error());
  if (ShowErrors(results, out)) return Fail(ExitCode::kError, "");
  if (results.succeeded < load.keys) return Fail(ExitCode::kInterrupted, "interrupted");
  constexpr double kMegabyte = 1024 * 1024;
  out << fmt::format("PASS: Approximate system memory used : {:.2f} MB.\n",
                     (*after - before) / kMegabyte);
  return {};
}

std::vector<Flag> CheckFlags(std::string_view prefix) {
  std::vector<std::string> names;
  for (const CheckLoad& load : kLoads) {
    names.emplace_back(load.name);
    names.emplace_back(load.long_name);
  }
  return {{"load", FlagType::kString, "s",
           "amount of load: s (small), m (medium), l (large) or xl (xLarge)", names},
          {"prefix", FlagType::kString, std::string(prefix),
           "prefix of the check's keys; no such keys may exist before, and none are left after"},
          {.name = "auto-compact", .help = "compact up to the last revision afterwards"},
          {.name = "auto-defrag", .help = "defragment the given endpoints afterwards"}};
}

std::vector<Flag> PerfFlags() {
  std::vector<Flag> flags = CheckFlags("/etcdctl-check-perf/");
  flags.push_back({"duration", FlagType::kDuration, "1m0s", "write for this long"});
  return flags;
}

}  // namespace

Command CheckCommand() {
  return {
      .use = "check <subcommand>",
      .brief = "Checks properties of the cluster. Use `kvorumctl check --help` to see subcommands",
      .description = "Checks properties of the cluster",
      .group = kUtilityGroup,
      .children = {
          {.use = "datascale [options]",
           .brief = "Measures the memory that a member needs for keys and values",
           .description =
               R"(Writes keys, and says by how much the memory of the member at the first endpoint has grown.

small is 10,000 keys by 50 clients, medium 100,000 by 200, large 1,000,000 by 500, xLarge 3,000,000
by 1,000. The keys are deleted afterwards.
)",
           .flags = CheckFlags("/etcdctl-check-datascale/"),
           .run = RunDatascale},
          {.use = "perf [options]",
           .brief = "Checks that the cluster keeps up with a rate of writes",
           .description =
               R"(Writes at a rate, and passes if 90 % of it is reached, no write takes longer than 500 ms and their
standard deviation is at most 100 ms.

small is 150 writes a second by 50 clients, medium 1,000 by 200, large 8,000 by 500, xLarge 15,000 by
1,000. The keys are deleted afterwards.
)",
           .flags = PerfFlags(),
           .run = RunPerf},
      }};
}

}  // namespace kvorum::ctl
