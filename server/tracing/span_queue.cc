#include "server/tracing/span_queue.h"

#include <iterator>
#include <utility>
#include <vector>

namespace kvorum::server::tracing {

SpanQueue::~SpanQueue() {
  std::deque<std::unique_ptr<Span>> left;
  Take(left);
}

bool SpanQueue::Push(std::unique_ptr<Span> span) {
  const std::size_t size_bytes = span->SizeBytes();
  const std::size_t before = count_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t bytes_before = bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  if (before >= max_spans_ || bytes_before + size_bytes > kMaxBytes) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    bytes_.fetch_sub(size_bytes, std::memory_order_relaxed);
    dropped_.Add();
    return false;
  }
  Span* const pushed = span.release();
  pushed->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(pushed->next, pushed, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
  return before + 1 == batch_spans_;
}

void SpanQueue::Take(std::deque<std::unique_ptr<Span>>& spans) {
  std::vector<std::unique_ptr<Span>> newest_first;
  Span* span = newest_.exchange(nullptr, std::memory_order_acquire);
  while (span != nullptr) {
    Span* const next = std::exchange(span->next, nullptr);
    newest_first.emplace_back(span);
    span = next;
  }
  spans.insert(spans.end(), std::make_move_iterator(newest_first.rbegin()),
               std::make_move_iterator(newest_first.rend()));
}

void SpanQueue::Release(const Span& span) {
  count_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(span.SizeBytes(), std::memory_order_relaxed);
}

}  // namespace kvorum::server::tracing
