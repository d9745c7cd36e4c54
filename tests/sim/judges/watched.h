// The events that one watcher must get: those of its range from a revision on, as the members have
// published them, each once, in order, a revision whole in one message (or in fragments, if it
// wants them), with the previous values; or the news that they are compacted. Judges the server's
// messages to it one by one, and knows where it would resume elsewhere.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/sim/judges/auth_model.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/watch_answer.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Watched {
 public:
  static constexpr std::int64_t kNotCreated = -1;

  Watched(World& world, const EventHistory& events, WatchCreate create, std::string name);

  // Another process takes over; returns the request for it.
  const WatchCreate& Reopen();
  void OnCreated(const WatchAnswer& answer);
  void OnEvents(const WatchAnswer& answer);
  // All events up to the revision have been sent, says the server.
  void OnProgress(std::int64_t revision);
  // It was cancelled by a compaction, and resumes at the revision in the answer.
  void OnCompacted(std::int64_t revision);

  // The keys that it reads.
  KeyNeed Need() const {
    return {.writes = false, .key = create_.key, .range_end = create_.range_end};
  }
  // The id that the stream knows it by.
  std::int64_t id() const { return id_; }
  bool is_created() const { return id_ != kNotCreated; }
  // True if it has everything that was published.
  bool IsAtEnd() const { return is_created() && !NextOwed().has_value(); }
  // It asked for a start that has not come yet.
  bool StartsLater() const { return create_.start_revision > events_.last_revision(); }
  // The revision at which it resumes; 0: it has never begun.
  std::int64_t next() const { return next_; }
  std::string Describe() const;

  // For its client.
  bool cancel_asked = false;
  bool ended = false;  // by a compaction, after it was to be cancelled

 private:
  struct Place {
    std::int64_t revision = 0;
    std::size_t event = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  bool Wants(const PublishedEvent& event) const;
  bool Covers(const std::string& key) const;
  // The next event that it has not been given.
  std::optional<Place> NextOwed() const;
  void CheckEvent(const WatchEvent& event, const PublishedEvent& owed, std::int64_t revision);
  void CheckPrevious(const WatchEvent& event, const PublishedEvent& owed, std::int64_t revision);

  World& world_;
  const EventHistory& events_;
  WatchCreate create_;
  const std::string name_;
  std::int64_t id_ = kNotCreated;
  std::int64_t next_ = 0;       // the first revision that it has not been given whole
  std::size_t next_event_ = 0;  // of that revision: those before it came in fragments
  mutable Place looked_at_;     // nothing before it is owed, behind next_
  bool from_history_ = false;   // the last events came from the catch-up
};

}  // namespace kvorum::sim
