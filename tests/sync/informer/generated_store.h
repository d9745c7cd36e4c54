// A store whose keys are made when they are asked for, so that it takes no memory itself: "/a/" and
// ten digits, with values of one length. Changes are pushed by the test.
//
// For one thread at a time, but for WaitForWatch. Answers come inside the call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "sync/store/store.h"

namespace kvorum::sync {

class GeneratedStore final : public Store {
 public:
  GeneratedStore(std::int64_t keys, std::size_t value_bytes)
      : keys_(keys), value_bytes_(value_bytes), revision_(keys) {}

  static std::string Key(std::int64_t number) {
    char key[32];
    std::snprintf(key, sizeof(key), "/a/%027lld", static_cast<long long>(number));
    return key;
  }
  static constexpr std::size_t kKeyBytes = 30;

  // Blocks until there is a watch, on another thread.
  void WaitForWatch() const { is_watched_.wait(false); }
  // Writes the key anew; the watch hears of it, if there is one.
  void Push(std::int64_t number) {
    KeyValue kv = At(number);
    kv.mod_revision = ++revision_;
    kv.version = 2;
    WatchBatch batch{.revision = revision_, .events = {}};
    batch.events.push_back({.is_delete = false, .kv = std::move(kv), .prev = At(number)});
    if (sink_.on_batch) sink_.on_batch(std::move(batch));
  }

  void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) override {
    RangeAnswer answer{.revision = revision_};
    const std::string from = request.key.substr(0, kKeyBytes);
    std::int64_t number = 0;
    if (from.size() == kKeyBytes) number = std::stoll(from.substr(3)) + 1;  // behind the last page
    for (; number < keys_; ++number) {
      if (std::ssize(answer.kvs) == request.limit) {
        answer.has_more = true;
        break;
      }
      answer.kvs.push_back(At(number));
    }
    on_answer(std::move(answer));
  }
  std::unique_ptr<StoreWatch> Watch(WatchRequest, WatchSink sink) override {
    sink_ = std::move(sink);
    is_watched_ = true;
    is_watched_.notify_all();
    return std::make_unique<OpenWatch>();
  }
  bool has_ordered_progress() const override { return true; }

  // These are not asked for.
  void Txn(TxnRequest, OnAnswer<TxnAnswer> on_answer) override { Refuse(on_answer); }
  void LeaseGrant(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }
  void LeaseKeepAlive(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }
  void LeaseRevoke(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }

 private:
  class OpenWatch final : public StoreWatch {
   public:
    void RequestProgress() override {}
    void Taken() override {}
  };
  template <class T>
  static void Refuse(OnAnswer<T>& on_answer) {
    on_answer(Fail(Code::kUnimplemented, "a generated store is only read"));
  }
  KeyValue At(std::int64_t number) const {
    return {.key = Key(number),
            .value = std::string(value_bytes_, 'v'),
            .create_revision = number + 1,
            .mod_revision = number + 1,
            .version = 1};
  }

  const std::int64_t keys_;
  const std::size_t value_bytes_;
  std::int64_t revision_;
  WatchSink sink_;
  std::atomic<bool> is_watched_ = false;
};

}  // namespace kvorum::sync
