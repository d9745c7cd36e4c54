// A store that hands every call on to another: for tests that change one of them.
//
// Threading as the other's, which outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sync/store/store.h"

namespace kvorum::sync {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& store) : store_(store) {}

  void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) override {
    store_.Range(std::move(request), std::move(on_answer));
  }
  void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) override {
    store_.Txn(std::move(request), std::move(on_answer));
  }
  std::unique_ptr<StoreWatch> Watch(WatchRequest request, WatchSink sink) override {
    return store_.Watch(std::move(request), std::move(sink));
  }
  void LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) override {
    store_.LeaseGrant(ttl_s, std::move(on_answer));
  }
  void LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override {
    store_.LeaseKeepAlive(lease, std::move(on_answer));
  }
  void LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override {
    store_.LeaseRevoke(lease, std::move(on_answer));
  }
  bool has_ordered_progress() const override { return store_.has_ordered_progress(); }

 private:
  Store& store_;
};

}  // namespace kvorum::sync
