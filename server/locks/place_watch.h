// Watches a place in a queue (queue_requests.h) and the next older one until one of them goes.
//
// Used by the shard's executor only; closed by its owner, like the LocalWatch under it.
// Invariants: between Follow and Close the older place is watched, and the own place
// while sees_own(). That the own place is gone is never forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "server/locks/local_watch.h"

namespace kvorum::server {

class PlaceWatch {
 public:
  // A key, and the revision at which it was last known to exist.
  struct Known {
    std::string_view key;
    std::int64_t revision = 0;
  };

  bool is_open() const { return watch_ != nullptr; }
  // `callback` gets the news, which Take understands.
  void Open(watch::Shard& shard, LocalWatch::Callback callback) {
    watch_ = LocalWatch::Open(shard, std::move(callback));
  }
  // Goes on with another older place; the own one stays watched from where it was.
  void Follow(const Known& own, const Known& older);
  // Returns true if the older place is gone, or no longer watched.
  bool Take(const LocalWatch::News& news);
  void Close() {
    if (watch_ != nullptr) std::exchange(watch_, nullptr)->Close();
  }

  bool own_is_gone() const { return own_is_gone_; }
  // False if the own place's watch ended: it may have gone unseen.
  bool sees_own() const { return own_id_ != 0; }

 private:
  std::shared_ptr<LocalWatch> watch_;
  std::int64_t own_id_ = 0;  // 0: none
  std::int64_t older_id_ = 0;
  bool own_is_gone_ = false;
};

}  // namespace kvorum::server
