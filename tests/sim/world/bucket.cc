#include "tests/sim/world/bucket.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kvorum::sim {
namespace {

using archive::StoreErrorKind;
using archive::StoreFail;
using archive::StoreResult;
using std::chrono::seconds;

constexpr std::uint64_t kBucketStream = 0x6275636b65745f31;

std::unexpected<archive::StoreError> Cut() {
  return StoreFail(StoreErrorKind::kUnavailable, "the connection was cut");
}

}  // namespace

// Writes are decided before they are made, reads before they are answered.
class Bucket::Store final : public archive::ObjectStore {
 public:
  explicit Store(Bucket& bucket) : bucket_(bucket) {}

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const archive::PutOptions& options) override {
    KV_RETURN_IF_ERROR(archive::CheckKey(key));
    KV_RETURN_IF_ERROR(archive::CheckObjectSize(key, bytes));
    switch (bucket_.Decide(true)) {
      case Fate::kNeverArrives:
        return Cut();
      case Fate::kArrivesLate:
        bucket_.WriteLater(key, std::string(bytes), options.if_absent);
        return Cut();
      case Fate::kAnswerLost:
        static_cast<void>(bucket_.Write(key, bytes, options.if_absent));
        return Cut();
      case Fate::kAnswered:
        break;
    }
    return bucket_.Write(key, bytes, options.if_absent);
  }

  StoreResult<archive::ObjectInfo> Get(const std::string& key, const archive::GetOptions& options,
                                       const archive::PieceSink& sink) override {
    KV_TRY(const archive::ObjectInfo info, Head(key));
    const std::string content = bucket_.objects_.at(key);
    if (options.offset > content.size())
      return StoreFail(StoreErrorKind::kInvalid, key + " does not reach so far");
    if (options.on_begin) options.on_begin(info);
    std::string_view rest = std::string_view(content).substr(options.offset);
    if (options.length.has_value()) rest = rest.substr(0, *options.length);
    const bool is_cut = bucket_.Decide(false) != Fate::kAnswered;
    if (is_cut) rest = rest.substr(0, bucket_.rng_.Below(rest.size() + 1));
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, archive::kMaxPieceBytes);
      KV_RETURN_IF_ERROR(sink(piece));
      rest.remove_prefix(piece.size());
    }
    if (is_cut) return Cut();
    return info;
  }

  StoreResult<archive::ObjectInfo> Head(const std::string& key) override {
    if (bucket_.Decide(false) != Fate::kAnswered) return Cut();
    const auto found = bucket_.objects_.find(key);
    if (found == bucket_.objects_.end())
      return StoreFail(StoreErrorKind::kAbsent, key + " does not exist");
    return archive::ObjectInfo{.size_bytes = found->second.size()};
  }

  StoreResult<void> List(const archive::ListOptions& options,
                         const archive::ListSink& sink) override {
    if (bucket_.Decide(false) != Fate::kAnswered) return Cut();
    for (auto next = bucket_.objects_.upper_bound(options.after); next != bucket_.objects_.end();
         ++next) {
      if (!next->first.starts_with(options.prefix)) continue;
      if (!sink(next->first, next->second.size())) break;
    }
    if (bucket_.Decide(false) != Fate::kAnswered) return Cut();
    return {};
  }

  StoreResult<std::vector<archive::DeleteFailure>> Delete(
      std::span<const std::string> keys) override {
    for (const std::string& key : keys) {
      if (bucket_.Decide(false) != Fate::kAnswered) return Cut();
      bucket_.objects_.erase(key);
    }
    return std::vector<archive::DeleteFailure>();
  }

  void RenewConnection() override {}
  const std::string& name() const override { return name_; }

 private:
  Bucket& bucket_;
  const std::string name_ = "the simulated bucket";
};

Bucket::Bucket(World& world) : world_(world), rng_(world.options.seed ^ kBucketStream) {}

std::unique_ptr<archive::ObjectStore> Bucket::Open() { return std::make_unique<Store>(*this); }

Bucket::Fate Bucket::Decide(bool is_write) {
  if (!is_faulty_) return Fate::kAnswered;
  const TimePoint now = world_.scheduler.Now();
  if (now < out_until_) {
    world_.faults.Add(Fault::kBucketOut);
    return Fate::kNeverArrives;
  }
  if (rng_.OneIn(300)) {
    out_until_ = now + seconds(1 + rng_.Below(30));
    world_.Note("the bucket is out of reach");
    return Fate::kNeverArrives;
  }
  if (!rng_.OneIn(15)) return Fate::kAnswered;
  if (!is_write || rng_.OneIn(3)) return Fate::kNeverArrives;
  world_.faults.Add(Fault::kBucketAnswerLost);
  return rng_.OneIn(2) ? Fate::kAnswerLost : Fate::kArrivesLate;
}

StoreResult<void> Bucket::Write(const std::string& key, std::string_view bytes, bool if_absent) {
  const bool is_log = key.find("/log/") != std::string::npos;
  if (world_.options.flaw == Flaw::kObjectSkipped && is_log && rng_.OneIn(4)) return {};
  const auto [object, is_new] = objects_.try_emplace(key, bytes);
  if (is_new) return {};
  if (if_absent) return StoreFail(StoreErrorKind::kExists, key + " exists");
  object->second = bytes;
  return {};
}

void Bucket::WriteLater(std::string key, std::string bytes, bool if_absent) {
  ++late_writes_;
  const Duration delay = std::chrono::milliseconds(1 + rng_.Below(20'000));
  world_.scheduler.After(delay, [this, key = std::move(key), bytes = std::move(bytes), if_absent] {
    --late_writes_;
    world_.faults.Add(Fault::kBucketWriteLate);
    static_cast<void>(Write(key, bytes, if_absent));
  });
}

}  // namespace kvorum::sim
