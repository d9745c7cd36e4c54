#include "base/answer_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvorum {

Error AnswerSizeError(std::size_t size_bytes, std::size_t max_bytes) {
  return {Code::kResourceExhausted,
          fmt::format("grpc: trying to send message larger than max ({} vs. {})", size_bytes,
                      max_bytes)};
}

// A connection, as seen by the others.
struct AnswerMemory::Entry {
  Executor* loop = nullptr;
  Share* share = nullptr;  // the loop's; null once the connection has gone
  std::atomic<std::size_t> held_bytes{0};
  std::atomic<TimePoint> taken_at;  // when its client last read something
  bool cut = false;                 // guarded by the mutex
};

AnswerMemory::Share::~Share() {
  if (entry_ == nullptr) return;
  if (steps_ != 0) Move(0);
  entry_->share = nullptr;
  std::lock_guard lock(memory_.mutex_);
  std::erase(memory_.entries_, entry_);
}

void AnswerMemory::Share::Move(std::size_t steps) {
  if (entry_ == nullptr) {
    entry_ = std::make_shared<Entry>();
    entry_->loop = &loop_;
    entry_->share = this;
    std::lock_guard lock(memory_.mutex_);
    memory_.entries_.push_back(entry_);
  }
  const std::size_t before = std::exchange(steps_, steps);
  entry_->held_bytes.store(steps * kStepBytes, std::memory_order_relaxed);
  if (steps < before || before == 0)
    entry_->taken_at.store(SystemClock().Now(), std::memory_order_relaxed);
  if (steps < before) return memory_.Subtract((before - steps) * kStepBytes);
  memory_.Add((steps - before) * kStepBytes);
  if (memory_.full()) memory_.MakeRoom(0);
}

bool AnswerMemory::Reservation::Grow(std::size_t bytes) {
  bytes_ += bytes;
  if (memory_ == nullptr) return true;
  memory_->Add(bytes);
  if (memory_->used_bytes() <= memory_->limit_bytes_) return true;
  memory_->Subtract(bytes);
  bytes_ -= bytes;
  memory_->MakeRoom(bytes);
  return false;
}

void AnswerMemory::Reservation::Release() {
  const std::size_t bytes = std::exchange(bytes_, 0);
  if (memory_ != nullptr && bytes != 0) memory_->Subtract(bytes);
}

void AnswerMemory::Add(std::size_t bytes) {
  const std::size_t used = used_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (used > peak && !peak_bytes_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

void AnswerMemory::MakeRoom(std::size_t bytes) {
  const TimePoint now = SystemClock().Now();
  std::lock_guard lock(mutex_);
  std::size_t staying = used_bytes() + bytes;
  for (const auto& entry : entries_) {
    if (entry->cut) staying -= std::min(staying, entry->held_bytes.load());
  }
  while (staying > limit_bytes_) {
    std::shared_ptr<Entry> largest;
    std::size_t largest_bytes = 0;
    for (const auto& entry : entries_) {
      const std::size_t held = entry->held_bytes.load(std::memory_order_relaxed);
      if (entry->cut || held <= largest_bytes) continue;
      if (entry->taken_at.load(std::memory_order_relaxed) + patience_ > now) continue;
      largest = entry;
      largest_bytes = held;
    }
    if (largest == nullptr) return;
    largest->cut = true;
    staying -= std::min(staying, largest_bytes);
    cuts_.fetch_add(1, std::memory_order_relaxed);
    Executor& loop = *largest->loop;
    loop.Post([entry = std::move(largest), largest_bytes] {
      if (entry->share != nullptr) entry->share->holder_.OnCut(largest_bytes);
    });
  }
}

}  // namespace kvorum
