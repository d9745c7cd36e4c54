// The Watch service's requests and answers as values, without their events.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvorum::watch {

// Selects the events of its range that a watcher gets, and their form.
struct Wanted {
  bool no_put : 1 = false;
  bool no_delete : 1 = false;
  bool prev_kv : 1 = false;
  bool fragment : 1 = false;  // revisions that exceed the message size may be split

  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// The id for no watcher, or for all of a stream.
inline constexpr std::int64_t kNoWatchId = -1;

struct CreateRequest {
  std::string_view key = {};  // empty: the smallest one
  std::string_view range_end = {};
  std::int64_t start_revision = 0;  // 0: from now on
  std::int64_t watch_id = 0;        // 0: the stream chooses
  bool progress_notify = false;
  Wanted wanted = {};
};

// A WatchResponse without its events; zero fields are left out.
struct Response {
  std::int64_t watch_id = 0;
  std::int64_t revision = 0;  // the header's
  bool created = false;
  bool canceled = false;
  bool fragment = false;
  std::int64_t compact_revision = 0;
  std::string_view cancel_reason = {};
};

}  // namespace kvorum::watch
