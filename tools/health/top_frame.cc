#include "tools/health/top_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/human_bytes.h"
#include "tools/health/replica_state.h"
#include "tools/session/table.h"
#include "tools/text/display_width.h"
#include "tools/text/json.h"
#include "tools/text/key_groups.h"

namespace kvorum::ctl {
namespace {

// Two folders tell what kind of thing is written, as in /registry/pods/.
constexpr std::size_t kFolders = 2;
// Memory for keys without folders is bounded too; the rest then counts under no name.
constexpr std::size_t kMostPrefixes = 10'000;

// A rate needs two pages of one process: a counter that went back was started anew.
std::optional<double> CounterRate(const MetricsPage& now, const MetricsPage& before,
                                  std::string_view name, std::string_view label, double seconds) {
  const auto newer = now.Value(name, label);
  if (!newer || seconds <= 0) return std::nullopt;
  const double older = before.Value(name, label).value_or(0);
  return std::max(*newer - older, 0.0) / seconds;
}

std::optional<double> P99(const MetricsPage& now, const MetricsPage& before,
                          std::string_view name) {
  return Quantile(Difference(now.Histogram(name), before.Histogram(name)), 0.99);
}

std::optional<double> Sum(std::optional<double> a, std::optional<double> b) {
  if (!a && !b) return std::nullopt;
  return a.value_or(0) + b.value_or(0);
}

void AddRates(TopMember& member, const MetricsPage& now, const MetricsPage& before,
              double seconds) {
  constexpr std::string_view kHandled = "grpc_server_handled_total";
  const auto calls = [&](std::string_view label) {
    return CounterRate(now, before, kHandled, label, seconds);
  };
  member.puts = Sum(Sum(calls(R"(grpc_method="Put")"), calls(R"(grpc_method="Txn")")),
                    calls(R"(grpc_method="DeleteRange")"));
  member.ranges = calls(R"(grpc_method="Range")");
  member.request_p99_s = P99(now, before, "etcd_server_request_duration_seconds");
  if (!member.request_p99_s)
    member.request_p99_s = P99(now, before, "grpc_server_handling_seconds");
  member.sync_p99_s = P99(now, before, "etcd_disk_wal_fsync_duration_seconds");
  member.commit_p99_s = P99(now, before, "etcd_disk_backend_commit_duration_seconds");
}

const MemberReading* Find(const TopReading& reading, const MemberReading& member) {
  const auto it = std::ranges::find_if(reading.members, [&](const MemberReading& other) {
    return other.member.id == member.member.id && other.member.endpoint == member.member.endpoint;
  });
  return it == reading.members.end() ? nullptr : &*it;
}

std::string WholeNumber(std::optional<double> value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}
std::string Milliseconds(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds * 1000) : "-";
}
std::string Bytes(std::optional<double> bytes) {
  return bytes ? HumanBytes(static_cast<std::uint64_t>(*bytes)) : "-";
}
template <class Integer>
std::string Integer64(std::optional<Integer> value) {
  return value ? std::to_string(*value) : "-";
}
template <class Integer>
std::optional<double> Real(std::optional<Integer> value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

// Pads to columns: bytes of UTF-8 are not columns.
std::string Padded(const std::string& text, std::size_t columns, bool left) {
  const std::size_t width = DisplayWidth(text);
  const std::string gap(columns > width ? columns - width : 0, ' ');
  return left ? text + gap : gap + text;
}

// Cut after so many columns; escape sequences are not in it yet.
std::string CutTo(const std::string& line, std::size_t columns) {
  if (columns == 0 || DisplayWidth(line) <= columns) return line;
  std::string cut;
  for (const char c : line) {
    if (DisplayWidth(cut + c) > columns) break;
    cut += c;
  }
  return cut;
}

}  // namespace

void EventSample::Add(std::string_view key, std::string_view separator) {
  ++events_;
  std::string prefix(FolderOf(key, separator, kFolders));
  if (prefix.empty()) prefix = "(top)";
  const auto it = by_prefix_.find(prefix);
  if (it != by_prefix_.end())
    ++it->second;
  else if (by_prefix_.size() < kMostPrefixes)
    by_prefix_.emplace(std::move(prefix), 1);
}

std::vector<HotPrefix> EventSample::Hottest(std::size_t most) const {
  std::vector<HotPrefix> hot;
  for (const auto& [prefix, events] : by_prefix_)
    hot.push_back({prefix, static_cast<double>(events) / static_cast<double>(events_)});
  std::ranges::stable_sort(hot, std::greater(), &HotPrefix::share);
  if (hot.size() > most) hot.resize(most);
  return hot;
}

TopFrame MakeFrame(const TopReading& now, const TopReading& before) {
  TopFrame frame{.cluster = now.list.cluster};
  std::uint64_t leader_index = 0;
  std::int64_t revision_before = 0;
  for (const MemberReading& reading : now.members)
    if (reading.status) {
      frame.revision = std::max(frame.revision, reading.status->header().revision());
      frame.term = std::max(frame.term, reading.status->raftterm());
      leader_index = std::max(leader_index, reading.status->raftindex());
    }
  for (const MemberReading& reading : before.members)
    if (reading.status)
      revision_before = std::max(revision_before, reading.status->header().revision());
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  if (revision_before > 0 && seconds > 0)
    frame.revisions =
        static_cast<double>(std::max<std::int64_t>(frame.revision - revision_before, 0)) / seconds;

  for (const MemberReading& reading : now.members) {
    TopMember member{.name = reading.Name(), .endpoint = reading.member.endpoint, .role = "down"};
    if (!reading.status) {
      member.why_down = reading.unreachable;
      frame.members.push_back(std::move(member));
      continue;
    }
    const etcdserverpb::StatusResponse& status = *reading.status;
    const bool leads = status.leader() == status.header().member_id();
    member.role = leads ? "leader" : status.islearner() ? "learner" : "follower";
    if (leads) frame.leader = member.name;
    member.behind = leader_index - std::min(leader_index, status.raftindex());
    member.unapplied = status.raftindex() - std::min(status.raftindex(), status.raftappliedindex());
    member.db_bytes = status.dbsize();
    member.replica = NameOf(ReplicaStateOf(reading));
    if (reading.metrics) {
      member.watchers = reading.metrics->Value("etcd_debugging_mvcc_watcher_total");
      member.memory_bytes = reading.metrics->Value("process_resident_memory_bytes");
      const MemberReading* earlier = Find(before, reading);
      if (earlier != nullptr && earlier->metrics)
        AddRates(member, *reading.metrics, *earlier->metrics, seconds);
    }
    frame.members.push_back(std::move(member));
  }
  return frame;
}

std::string DrawFrame(const TopFrame& frame, std::size_t width, const Colors& colors) {
  std::string text = CutTo(fmt::format("cluster {:x}  leader {}  term {}  revision {} (+{}/s)",
                                       frame.cluster, frame.leader.empty() ? "none" : frame.leader,
                                       frame.term, frame.revision, WholeNumber(frame.revisions)),
                           width);
  text = (frame.leader.empty() ? colors.Red(text) : colors.Bold(text)) + "\n\n";

  std::vector<std::vector<std::string>> rows = {
      {"MEMBER", "ROLE", "BEHIND", "UNAPPLIED", "WRITES/s", "READS/s", "P99 ms", "SYNC ms",
       "COMMIT ms", "WATCHERS", "DB", "MEMORY", "ENDPOINT"}};
  for (const TopMember& m : frame.members)
    rows.push_back({m.name, m.role, Integer64(m.behind), Integer64(m.unapplied),
                    WholeNumber(m.puts), WholeNumber(m.ranges), Milliseconds(m.request_p99_s),
                    Milliseconds(m.sync_p99_s), Milliseconds(m.commit_p99_s),
                    WholeNumber(m.watchers), Bytes(Real(m.db_bytes)), Bytes(m.memory_bytes),
                    m.endpoint});
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const bool left = i < 2 || i + 1 == row.size();
      line += i + 1 == row.size() ? row[i] : Padded(row[i], widths[i], left);
    }
    line = CutTo(line, width);
    text += (row[1] == "down"     ? colors.Red(line)
             : row[1] == "leader" ? colors.Green(line)
                                  : line) +
            '\n';
  }
  for (const TopMember& m : frame.members) {
    if (!m.why_down.empty()) text += CutTo(m.name + ": " + m.why_down, width) + '\n';
    if (!m.replica.empty())
      text += colors.Red(CutTo(m.name + ": its copy of the keys: " + m.replica +
                                   " (kvorumctl doctor says what to do)",
                               width)) +
              '\n';
  }

  if (!frame.no_hot.empty()) text += '\n' + CutTo("no hot prefixes: " + frame.no_hot, width) + '\n';
  if (!frame.hot.empty()) text += '\n' + CutTo("SHARE OF WRITES BY PREFIX", width) + '\n';
  for (const HotPrefix& hot : frame.hot)
    text +=
        CutTo(fmt::format("{:5.1f} %  {}", hot.share * 100, ShownKey(hot.prefix)), width) + '\n';
  return text;
}

std::string FrameLines(const TopFrame& frame, std::string_view time) {
  std::string text;
  for (const TopMember& m : frame.members)
    text += fmt::format(
        "{} {} role={} term={} revision={} behind={} unapplied={} writes/s={} reads/s={} p99_ms={} "
        "sync_ms={} commit_ms={} watchers={} db={} memory={}\n",
        time, m.name, m.role, frame.term, frame.revision, Integer64(m.behind),
        Integer64(m.unapplied), WholeNumber(m.puts), WholeNumber(m.ranges),
        Milliseconds(m.request_p99_s), Milliseconds(m.sync_p99_s), Milliseconds(m.commit_p99_s),
        WholeNumber(m.watchers), Integer64(m.db_bytes), WholeNumber(m.memory_bytes));
  for (const TopMember& m : frame.members)
    if (!m.replica.empty()) text += fmt::format("{} {} replica={}\n", time, m.name, m.replica);
  for (const HotPrefix& hot : frame.hot)
    text += fmt::format("{} hot share={:.3f} prefix={}\n", time, hot.share, ShownKey(hot.prefix));
  return text;
}

std::string FrameJson(const TopFrame& frame, std::int64_t unix_ms) {
  const auto member = [](const TopMember& m) {
    JsonObject object;
    object.Add("name", JsonString(m.name))
        .Add("endpoint", JsonString(m.endpoint))
        .Add("role", JsonString(m.role));
    const auto add = [&](std::string_view name, std::optional<double> value) {
      if (value && std::isfinite(*value)) object.Add(name, fmt::format("{}", *value));
    };
    add("behind", Real(m.behind));
    add("unapplied", Real(m.unapplied));
    add("db_bytes", Real(m.db_bytes));
    add("writes_per_s", m.puts);
    add("reads_per_s", m.ranges);
    add("request_p99_s", m.request_p99_s);
    add("sync_p99_s", m.sync_p99_s);
    add("commit_p99_s", m.commit_p99_s);
    add("watchers", m.watchers);
    add("memory_bytes", m.memory_bytes);
    if (!m.why_down.empty()) object.Add("error", JsonString(m.why_down));
    if (!m.replica.empty()) object.Add("replica", JsonString(m.replica));
    return object.Finish();
  };
  const auto hot = [](const HotPrefix& h) {
    return JsonObject()
        .Add("prefix", JsonBytes(h.prefix))
        .Add("share", fmt::format("{:.4f}", h.share))
        .Finish();
  };
  JsonObject object;
  object.Add("time_unix_ms", std::to_string(unix_ms))
      .Add("cluster", JsonString(fmt::format("{:x}", frame.cluster)))
      .Add("leader", JsonString(frame.leader))
      .Add("term", std::to_string(frame.term))
      .Add("revision", std::to_string(frame.revision));
  if (frame.revisions) object.Add("revisions_per_s", fmt::format("{:.1f}", *frame.revisions));
  object.Add("members", JsonList(frame.members, member))
      .Add("hot", frame.hot.empty() ? "[]" : JsonList(frame.hot, hot));
  return object.Finish();
}

}  // namespace kvorum::ctl
