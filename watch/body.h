// The body of a message to a watcher: the encoded events of some revisions, made once for all
// watchers that want the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "api/watch_messages.h"
#include "base/shared_bytes.h"
#include "watch/event_batch.h"

namespace kvorum::watch {

// Whole revisions, except the parts of a split one. Slices of 4 KiB and more are shared with other
// bodies, smaller ones are copied into a block of this body.
struct Body {
  ByteChain parts;
  std::size_t size_bytes = 0;
  // The memory that the parts keep alive: at least size_bytes, since a slice keeps its whole block.
  std::size_t kept_bytes = 0;
  std::size_t events = 0;
  std::int64_t first_revision = 0;
  std::int64_t last_revision = 0;
  bool continues = false;  // goes on with a revision of the previous body
  bool more = false;       // ends within a revision
};

// True at an end where events of the same revision are missing that the watcher gets as well.
struct Cut {
  bool begins_within = false;
  bool ends_within = false;

  friend bool operator==(const Cut&, const Cut&) = default;
};

struct Bodies {
  std::vector<Body> list;
  // Not 0: there was no room for the previous values from this revision on.
  std::int64_t stopped_at = 0;
};

// gRPC frames no message of 4 GiB, and clients refuse one of 2 GiB: a larger revision is split,
// even if the watcher asked for whole ones.
inline constexpr std::size_t kLargestBodyBytes = std::size_t{1} << 30;

struct BodyLimits {
  // A body of this size takes no further revision.
  std::size_t full_bytes = std::size_t{256} << 10;
  std::int64_t revisions = 1'000;
  // A revision with more than one event that does not fit into a message of this size is split, if
  // the watcher wants that.
  std::size_t fragment_bytes = (std::size_t{2} << 20);

  std::size_t SplitBytes(Wanted wanted) const {
    return wanted.fragment ? fragment_bytes : kLargestBodyBytes;
  }
};

// Makes the bodies of those of the given events that are wanted (events are positions in the batch,
// ascending); none if no event is wanted.
Bodies MakeBodies(const EventBatch& batch, std::span<const std::uint32_t> events, Wanted wanted,
                  const BodyLimits& limits, PreviousValues& previous, Cut cut = {});

}  // namespace kvorum::watch
