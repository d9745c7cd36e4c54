// What a message to a watcher carries beside its head: the encoded events of some revisions, made
// once for all watchers that want the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/shared_bytes.h"
#include "watch/event_batch.h"

namespace kvorum::watch {

// Which events of its range a watcher gets, and in which form.
struct Wanted {
  bool no_put = false;
  bool no_delete = false;
  bool prev_kv = false;
  bool fragment = false;  // revisions that make a message too large may be split

  friend bool operator==(const Wanted&, const Wanted&) = default;
};

// Whole revisions, but for the parts of a split one. Slices of 4 KiB and more are shared with other
// bodies, smaller ones lie in a block of the body's own.
struct Body {
  ByteChain parts;
  std::size_t size_bytes = 0;
  // Of memory that the parts keep: at least size_bytes, since a slice keeps all of its block.
  std::size_t kept_bytes = 0;
  std::size_t events = 0;
  std::int64_t first_revision = 0;
  std::int64_t last_revision = 0;
  bool continues = false;  // a revision that the body before it began
  bool more = false;       // ends within a revision
};

struct BodyLimits {
  // A body of this size takes no further revision.
  std::size_t full_bytes = std::size_t{256} << 10;
  std::int64_t revisions = 1'000;
  // A revision of which more than one event does not fit into a message of this size is split, if
  // the watcher wants that.
  std::size_t fragment_bytes = (std::size_t{2} << 20);
};

// The bodies of those of the batch's events, given by their places in ascending order, that are
// wanted; none if no event is.
std::vector<Body> MakeBodies(const EventBatch& batch, std::span<const std::uint32_t> events,
                             Wanted wanted, const BodyLimits& limits, PreviousValues& previous);

}  // namespace kvorum::watch
