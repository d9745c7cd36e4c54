#include "watch/body.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvorum::watch {
namespace {

// Slices from this size on are shared; copying a smaller one costs less than the memory it would
// keep alive.
constexpr std::size_t kShareBytes = 4096;
// The largest size of a message without its events.
constexpr std::size_t kHeadBytes = 128;

// Collects one body. Runs of neighbouring events stay slices of their chunk.
class Gatherer {
 public:
  explicit Gatherer(const EventBatch& batch) : batch_(batch) {}

  std::size_t size_bytes() const { return size_bytes_; }

  void AddPlain(std::size_t event) {
    const EventBatch::Encoded place = batch_.Find(event);
    size_bytes_ += place.end - place.begin;
    if (run_.end != 0 && run_.chunk == place.chunk && run_.end == place.begin) {
      run_.end = place.end;
      return;
    }
    EndRun();
    run_ = place;
  }
  void Add(const SharedBytes& bytes) {
    EndRun();
    size_bytes_ += bytes.size();
    AddSlice(bytes, 0, bytes.size());
  }
  // Returns the parts and the memory they keep alive; the gatherer is empty again.
  std::pair<ByteChain, std::size_t> Finish() {
    EndRun();
    EndSmall();
    size_bytes_ = 0;
    return {std::exchange(parts_, {}), std::exchange(kept_bytes_, 0)};
  }

 private:
  void EndRun() {
    if (run_.end == 0) return;
    AddSlice(batch_.Chunk(run_.chunk), run_.begin, run_.end - run_.begin);
    run_ = {};
  }
  void AddSlice(const SharedBytes& block, std::size_t begin, std::size_t size) {
    if (size < kShareBytes) {
      small_.append(block.view().substr(begin, size));
      return;
    }
    EndSmall();
    parts_.push_back(block.Slice(begin, size));
    kept_bytes_ += block.size();
  }
  void EndSmall() {
    if (small_.empty()) return;
    kept_bytes_ += small_.size();
    parts_.push_back(SharedBytes::Copy(small_));
    small_.clear();
  }

  const EventBatch& batch_;
  ByteChain parts_;
  std::string small_;
  std::size_t size_bytes_ = 0;
  std::size_t kept_bytes_ = 0;
  EventBatch::Encoded run_;
};

// Makes the bodies up to the revision of an event whose previous value has no room. Those of the
// events before it are made already.
Bodies MakeBefore(const EventBatch& batch, std::span<const std::uint32_t> events,
                  std::uint32_t stopped_at, Wanted wanted, const BodyLimits& limits,
                  PreviousValues& previous, Cut cut) {
  const std::int64_t revision = batch[stopped_at].revision.main;
  const auto end = std::ranges::partition_point(
      events, [&](std::uint32_t i) { return batch[i].revision.main < revision; });
  cut.ends_within = false;
  Bodies made = MakeBodies(batch, {events.begin(), end}, wanted, limits, previous, cut);
  made.stopped_at = revision;
  return made;
}

}  // namespace

Bodies MakeBodies(const EventBatch& batch, std::span<const std::uint32_t> events, Wanted wanted,
                  const BodyLimits& limits, PreviousValues& previous, Cut cut) {
  const std::size_t split_bytes = limits.SplitBytes(wanted);
  std::vector<Body> bodies;
  Gatherer gatherer(batch);
  Body body;
  body.continues = cut.begins_within;
  std::int64_t revisions = 0;
  const auto finish = [&](bool more) {
    if (body.events == 0) return;
    body.more = more;
    body.size_bytes = gatherer.size_bytes();
    std::tie(body.parts, body.kept_bytes) = gatherer.Finish();
    bodies.push_back(std::exchange(body, {}));
    body.continues = more;
    revisions = 0;
  };
  for (const std::uint32_t i : events) {
    const Event& event = batch[i];
    if (event.is_delete ? wanted.no_delete : wanted.no_put) continue;
    SharedBytes with_previous;
    std::size_t size = 0;
    if (wanted.prev_kv) {
      with_previous = batch.WithPrevious(i, previous);
      if (with_previous.empty()) return MakeBefore(batch, events, i, wanted, limits, previous, cut);
      size = with_previous.size();
    } else {
      const EventBatch::Encoded place = batch.Find(i);
      size = place.end - place.begin;
    }
    const bool new_revision = body.events == 0 || event.revision.main != body.last_revision;
    if (new_revision &&
        (gatherer.size_bytes() >= limits.full_bytes || revisions >= limits.revisions)) {
      finish(/*more=*/false);
    } else if (!new_revision && gatherer.size_bytes() + size + kHeadBytes >= split_bytes) {
      finish(/*more=*/true);
    }
    if (body.events == 0) {
      body.first_revision = event.revision.main;
      revisions = 1;
    } else if (new_revision) {
      ++revisions;
    }
    body.last_revision = event.revision.main;
    ++body.events;
    if (wanted.prev_kv) {
      gatherer.Add(with_previous);
    } else {
      gatherer.AddPlain(i);
    }
  }
  finish(cut.ends_within);
  return {.list = std::move(bodies), .stopped_at = 0};
}

}  // namespace kvorum::watch
