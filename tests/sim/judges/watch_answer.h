// A WatchResponse as a simulated client reads it, and the requests that it makes. Views into the
// message's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::sim {

struct WatchEvent {
  bool is_delete = false;
  std::string_view kv = {};  // encoded
  std::string_view previous = {};
};

struct WatchAnswer {
  std::int64_t watch_id = 0;
  std::int64_t revision = 0;  // the header's
  bool created = false;
  bool canceled = false;
  bool fragment = false;
  std::int64_t compact_revision = 0;
  std::string_view cancel_reason = {};
  std::vector<WatchEvent> events = {};

  bool is_progress() const { return !created && !canceled && events.empty(); }
};
// Nothing if it is no WatchResponse.
std::optional<WatchAnswer> ReadWatchAnswer(std::string_view bytes);

struct WatchCreate {
  std::string key = {};
  std::string range_end = {};
  std::int64_t start_revision = 0;
  bool progress_notify = false;
  bool no_put = false;
  bool no_delete = false;
  bool prev_kv = false;
  bool fragment = false;
};
std::string WatchCreateBody(const WatchCreate& create);
std::string WatchCancelBody(std::int64_t watch_id);
std::string WatchProgressBody();

}  // namespace kvorum::sim
