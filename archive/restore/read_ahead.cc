#include "archive/restore/read_ahead.h"

#include <utility>

namespace kvorum::archive {

ReadAhead::ReadAhead(ObjectStore& store, NextKey next_key, Ahead ahead)
    : store_(store), next_key_(std::move(next_key)) {
  if (ahead == Ahead::kThread) thread_ = std::thread([this] { Run(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Read<std::optional<ReadAhead::Object>> ReadAhead::Next() {
  if (!thread_.joinable()) return ReadNext();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.has_value(); });
  auto next = *std::exchange(waiting_, std::nullopt);
  lock.unlock();
  changed_.notify_all();
  return next;
}

Read<std::optional<ReadAhead::Object>> ReadAhead::ReadNext() {
  std::optional<std::string> key = next_key_();
  if (!key) return std::nullopt;
  KV_TRY(std::string bytes, ReadBytes(store_, *key, kMaxObjectBytes));
  return Object{.key = *std::move(key), .bytes = std::move(bytes)};
}

void ReadAhead::Run() {
  while (true) {
    auto next = ReadNext();
    const bool is_last = !next.has_value() || !next->has_value();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.has_value(); });
    if (is_stopping_) return;
    waiting_ = std::move(next);
    changed_.notify_all();
    if (is_last) return;
    // The object is read once its predecessor is taken: at most one waits.
    changed_.wait(lock, [&] { return is_stopping_ || !waiting_.has_value(); });
    if (is_stopping_) return;
  }
}

}  // namespace kvorum::archive
