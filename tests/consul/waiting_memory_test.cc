// The memory of a query that waits, counted at the allocator: a separate program, since it replaces
// operator new. The connection is not in it; tests/consul/processes counts all.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/consul/http_world.h"

namespace {

std::atomic<std::int64_t> live_bytes = 0;
// glibc keeps a word in front of each allocation.
constexpr std::size_t kHeader = sizeof(void*);

void* Allocate(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory) + kHeader);
  return memory;
}
void Free(void* memory) {
  if (memory == nullptr) return;
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory) + kHeader);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }

namespace kvorum::consul {
namespace {

TEST(ConsulWaitingMemory, FiveThousandQueriesThatWaitTakeThreeKibibytesEach) {
  constexpr std::int64_t kQueries = 5000;
  HttpWorld world;
  for (int i = 0; i < 50; ++i) world.AddAgent("n" + std::to_string(i), "s" + std::to_string(i));
  world.Start();
  const std::string index = std::to_string(world.copy.revision());
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  answers.reserve(kQueries);
  const std::int64_t before = live_bytes;
  for (std::int64_t i = 0; i < kQueries; ++i) {
    const std::string service = "s" + std::to_string(i % 50);
    auto [exchange, answer] = MakeExchange(
        {.target = "/v1/health/service/" + service + "?passing=1&index=" + index + "&wait=300s",
         .headers = {{"host", "127.0.0.1:8500"},
                     {"user-agent", "consul-template/0.39.1 (+https://github.com/x) go1.22"},
                     {"accept-encoding", "gzip"},
                     {"x-consul-token", ""}},
         .loop = &world.executor});
    answers.push_back(std::move(answer));
    world.reading.Read(std::move(exchange),
                       MovingOf(world.copy, {{Topic::Kind::kService, service}}),
                       [](Exchange read) { read.Ok(); });
  }
  world.executor.Settle();
  ASSERT_EQ(world.reading.waiting(), static_cast<std::size_t>(kQueries));
  const double each = static_cast<double>(live_bytes - before) / static_cast<double>(kQueries);
  RecordProperty("bytes", std::to_string(each));
  EXPECT_LE(each, 3 * 1024) << each << " bytes a query";
  EXPECT_GT(each, 500) << "it does hold them";

  world.Delete(world.keys.Life("n7"));
  std::int64_t answered = 0;
  for (const auto& answer : answers) answered += answer->is_answered() ? 1 : 0;
  EXPECT_EQ(answered, kQueries / 50) << "those of one service";
  EXPECT_EQ(world.store.open_watches(), 1);
  answers.clear();
  for (int i = 0; i < 50; ++i) world.Delete(world.keys.Life("n" + std::to_string(i)));
  EXPECT_EQ(world.reading.waiting(), 0U);
}

}  // namespace
}  // namespace kvorum::consul
