// One picture of a cluster's work, made of two readings of its members: rates are what happened
// between them. Pure; `kvorumctl top` draws one after another.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/session/member_probe.h"
#include "tools/shell/colors.h"

namespace kvorum::ctl {

// A member's line. What is not known (the member is down, or serves no metrics) is not shown.
struct TopMember {
  std::string name = {};
  std::string endpoint = {};
  std::string role = {};                     // leader, follower, learner, down
  std::optional<std::uint64_t> behind = {};  // entries that the leader has and it has not
  std::optional<std::uint64_t> unapplied = {};
  std::optional<std::int64_t> db_bytes = {};
  std::optional<double> puts = {};    // a second; a txn counts as one
  std::optional<double> ranges = {};  // a second
  std::optional<double> request_p99_s = {};
  std::optional<double> sync_p99_s = {};
  std::optional<double> commit_p99_s = {};
  std::optional<double> watchers = {};
  std::optional<double> memory_bytes = {};
  std::string why_down = {};
  std::string replica = {};  // what is wrong with its copy of the keys; empty: nothing
};

// The writes under a prefix, estimated from a sample of the events.
struct HotPrefix {
  std::string prefix;
  double share = 0;  // of all events: 0 to 1
};

struct TopFrame {
  std::uint64_t cluster = 0;
  std::string leader = {};  // its name; empty: none
  std::uint64_t term = 0;
  std::int64_t revision = 0;
  std::optional<double> revisions = {};  // a second
  std::vector<TopMember> members = {};
  std::vector<HotPrefix> hot = {};
  std::string no_hot = {};  // why the events were not seen
};

struct TopReading {
  MemberList list = {};
  std::vector<MemberReading> members = {};
  std::chrono::steady_clock::time_point at = {};
};

// Counts events by the folder of their key. Used by one thread at a time.
class EventSample {
 public:
  void Add(std::string_view key, std::string_view separator);
  std::uint64_t events() const { return events_; }
  // Those with the most events, at most `most` of them.
  std::vector<HotPrefix> Hottest(std::size_t most) const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> by_prefix_;
  std::uint64_t events_ = 0;
};

TopFrame MakeFrame(const TopReading& now, const TopReading& before);

// The frame as text, no line longer than `width` columns (0: any).
std::string DrawFrame(const TopFrame& frame, std::size_t width, const Colors& colors);
// A line of words per member, each with this before it, for logs.
std::string FrameLines(const TopFrame& frame, std::string_view time);
std::string FrameJson(const TopFrame& frame, std::int64_t unix_ms);

}  // namespace kvorum::ctl
