// The body of a message to a watcher: the encoded events of some revisions, made once for all
// watchers that want the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/shared_bytes.h"
#include "watch/event_batch.h"

namespace kvorum::watch {

// Selects the events of its range that a watcher gets, and their form.
struct Wanted {
  bool no_put = false;
  bool no_delete = false;
  bool prev_kv = false;
  bool fragment = false;  // revisions that exceed the message size may be split

  friend bool operator==(const Wanted&, const Wanted&) = default;
};

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

struct BodyLimits {
  // A body of this size takes no further revision.
  std::size_t full_bytes = std::size_t{256} << 10;
  std::int64_t revisions = 1'000;
  // A revision with more than one event that does not fit into a message of this size is split, if
  // the watcher wants that.
  std::size_t fragment_bytes = (std::size_t{2} << 20);
};

// Makes the bodies of those of the given events that are wanted (events are positions in the batch,
// ascending); none if no event is wanted.
std::vector<Body> MakeBodies(const EventBatch& batch, std::span<const std::uint32_t> events,
                             Wanted wanted, const BodyLimits& limits, PreviousValues& previous);

}  // namespace kvorum::watch
