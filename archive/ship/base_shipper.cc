#include "archive/ship/base_shipper.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "archive/catalog/retention.h"
#include "archive/format/frame.h"
#include "base/digest/sha256.h"
#include "base/log/logging.h"

namespace kvorum::archive {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100);

// Puts an object while its image is looked after. The put's error counts before the image's.
ShipResult<void> PutLooking(ObjectStore& store, const std::string& key, std::string_view bytes,
                            ImageSource& image) {
  StoreResult<void> put;
  Result<void> looked;
  std::binary_semaphore has_ended(0);
  std::thread putter([&] {
    pthread_setname_np(pthread_self(), "archive-put");
    put = store.Put(key, bytes, {.if_absent = true});
    has_ended.release();
  });
  while (!has_ended.try_acquire_for(kLookEvery)) {
    if (looked.has_value()) looked = image.Look();
  }
  putter.join();
  if (!put.has_value()) return std::unexpected(std::move(put).error());
  if (!looked.has_value()) return std::unexpected(std::move(looked).error());
  return {};
}

}  // namespace

// The base that is being made.
class BaseShipper::Base {
 public:
  Base(BaseShipper& owner, ObjectStore& store, HistoryId history, ImageSource& image,
       UnixMillis time_ms)
      : owner_(owner), store_(store), image_(image) {
    manifest_.history = history;
    manifest_.base = {.index = image.index(), .revision = image.revision(), .time_ms = time_ms};
    manifest_.end.term = image.term();
    part_.reserve(owner_.part_bytes_);
  }

  ShipResult<BaseName> Run() {
    while (true) {
      KV_RETURN_IF_ERROR(CheckGoesOn());
      KV_TRY(const SharedBytes piece, image_.Next());
      if (piece.empty()) break;
      digest_.Add(piece.view());
      manifest_.end.size_bytes += piece.size();
      KV_RETURN_IF_ERROR(Take(piece.view()));
    }
    manifest_.end.sha256 = HexText(digest_.Finish());
    KV_RETURN_IF_ERROR(PutPart(true));
    KV_RETURN_IF_ERROR(CheckGoesOn());
    const ObjectKey key = {.history = manifest_.history, .name = ManifestName{manifest_.base}};
    KV_RETURN_IF_ERROR(PutLooking(store_, KeyText(key), ToJson(manifest_), image_));
    return manifest_.base;
  }

 private:
  ShipResult<void> CheckGoesOn() const {
    if (owner_.stop_.stopped()) return ShipFail(ShipErrorKind::kStopped, "stopped");
    if (!owner_.member_.IsLeader()) return ShipFail(ShipErrorKind::kMember, "another member leads");
    // Retention takes it for given up then.
    if (owner_.WallMillis() - manifest_.base.time_ms > kUnfinishedBaseMs / 2)
      return ShipFail(ShipErrorKind::kMember, "the base took too long");
    return {};
  }

  // A full part is put once more follows, since the last part carries the image's end.
  ShipResult<void> Take(std::string_view piece) {
    while (!piece.empty()) {
      if (part_.size() == owner_.part_bytes_) KV_RETURN_IF_ERROR(PutPart(false));
      const std::size_t size = std::min(piece.size(), owner_.part_bytes_ - part_.size());
      part_.append(piece.substr(0, size));
      piece.remove_prefix(size);
    }
    return {};
  }

  ShipResult<void> PutPart(bool is_last) {
    const auto number = static_cast<std::uint32_t>(manifest_.parts.size());
    if (number >= kMaxParts)
      return ShipFail(ShipErrorKind::kMember, "the image is larger than a base may be");
    PartHeader header = {.history = manifest_.history,
                         .name = {.base = manifest_.base, .number = number},
                         .offset = offset_,
                         .raw_bytes = part_.size(),
                         .sha256 = Sha256Hex(part_),
                         .end = std::nullopt};
    if (is_last) header.end = manifest_.end;
    const std::string bytes = Frame(ToJson(header), part_);
    const std::string key = KeyText({.history = manifest_.history, .name = header.name});
    KV_RETURN_IF_ERROR(PutLooking(store_, key, bytes, image_));
    owner_.status_.base_bytes.Add(bytes.size());
    manifest_.parts.push_back({.raw_bytes = part_.size(), .sha256 = header.sha256});
    offset_ += part_.size();
    part_.clear();
    return {};
  }

  BaseShipper& owner_;
  ObjectStore& store_;
  ImageSource& image_;
  Manifest manifest_;
  Sha256 digest_;
  std::string part_;
  std::uint64_t offset_ = 0;
};

BaseShipper::BaseShipper(ArchivedMember& member, const Clock& clock, const StopSignal& stop,
                         ArchiveStatus& status, std::size_t part_bytes)
    : member_(member), clock_(clock), stop_(stop), status_(status), part_bytes_(part_bytes) {}

ShipResult<BaseName> BaseShipper::Ship(ObjectStore& store, HistoryId history, UnixMillis time_ms,
                                       raft::Index least) {
  const TimePoint began = clock_.Now();
  KV_TRY(const std::unique_ptr<ImageSource> image, member_.OpenImage());
  if (image->index() < least) {
    return ShipFail(ShipErrorKind::kMember, "the database is not durable up to entry " +
                                                std::to_string(least.value()) +
                                                ", which the archive begins behind");
  }
  // Its entries may have times that are ahead of our clock.
  time_ms = std::max({time_ms, WallMillis(), member_.NewestMark().time_ms});
  Base base(*this, store, history, *image, time_ms);
  auto shipped = base.Run();
  if (!shipped.has_value()) {
    status_.abandoned_bases.Add();
    return shipped;
  }
  status_.bases.Add();
  const std::chrono::duration<double> took = clock_.Now() - began;
  KV_INFO("archived a base", {"archive", store.name()}, {"history", HistoryText(history)},
          {"index", shipped->index}, {"revision", shipped->revision}, {"seconds", took.count()});
  return shipped;
}

}  // namespace kvorum::archive
