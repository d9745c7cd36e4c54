// The way to the exporter: in order, bounded in spans and bytes, from many threads.
#include "server/tracing/span_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace kvorum::server::tracing {
namespace {

constexpr std::size_t kMaxSpans = 2048;

std::unique_ptr<Span> Named(std::string name) {
  auto span = std::make_unique<Span>();
  span->name = std::move(name);
  return span;
}

TEST(SpanQueueTest, GivesThemInTheirOrder) {
  SpanQueue queue(3, kMaxSpans);
  std::deque<std::unique_ptr<Span>> taken;
  EXPECT_FALSE(queue.Push(Named("a")));
  queue.Take(taken);
  EXPECT_FALSE(queue.Push(Named("b")));
  EXPECT_TRUE(queue.Push(Named("c"))) << "the third completes a batch";
  queue.Take(taken);
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0]->name + taken[1]->name + taken[2]->name, "abc");
}

TEST(SpanQueueTest, SpansCountUntilTheyAreReleased) {
  SpanQueue queue(512, kMaxSpans);
  for (std::size_t i = 0; i < kMaxSpans; ++i) queue.Push(Named("s"));
  std::deque<std::unique_ptr<Span>> taken;
  queue.Take(taken);
  queue.Push(Named("one too many"));
  EXPECT_EQ(queue.dropped(), 1U);
  EXPECT_EQ(queue.waiting(), kMaxSpans);

  queue.Release(*taken.front());
  queue.Push(Named("there is room"));
  EXPECT_EQ(queue.dropped(), 1U);
  for (std::size_t i = 1; i < taken.size(); ++i) queue.Release(*taken[i]);
  EXPECT_EQ(queue.waiting(), 1U);
  taken.clear();
  queue.Take(taken);
  ASSERT_EQ(taken.size(), 1U);
  queue.Release(*taken.front());
  EXPECT_EQ(queue.waiting_bytes(), 0U);
}

TEST(SpanQueueTest, BytesAreBoundedToo) {
  SpanQueue queue(512, kMaxSpans);
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) queue.Push(Named(large));
  EXPECT_LE(queue.waiting_bytes(), SpanQueue::kMaxBytes);
  EXPECT_EQ(queue.waiting() + queue.dropped(), 20U);
  EXPECT_GE(queue.dropped(), 12U);
}

TEST(SpanQueueTest, ManyThreadsMayPush) {
  SpanQueue queue(512, kMaxSpans);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&queue] {
      for (int i = 0; i < 300; ++i) queue.Push(Named("s"));
    });
  }
  std::deque<std::unique_ptr<Span>> taken;
  while (taken.size() < 1200) queue.Take(taken);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.size(), 1200U);
  EXPECT_EQ(queue.dropped(), 0U);
}

}  // namespace
}  // namespace kvorum::server::tracing
