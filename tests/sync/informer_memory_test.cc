// The memory that an informer holds, counted at the allocator: a separate program, since it
// replaces operator new.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "sync/informer/informer.h"
#include "tests/sync/generated_store.h"
#include "tests/sync/manual_executor.h"

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

namespace kvorum::sync {
namespace {

TEST(SyncInformerMemory, A100000KeysAndAWindowOfChangesTakeAtMostTwoAndAHalfTimesTheirBytes) {
  constexpr std::int64_t kKeys = 100'000;
  constexpr std::size_t kValueBytes = 100;
  GeneratedStore store(kKeys, kValueBytes);
  ManualExecutor executor;
  const std::int64_t before = live_bytes;
  Informer<BytesCodec>::Options options;
  options.source.prefix = "/a/";
  Informer<BytesCodec> informer(store, executor, std::move(options));
  std::int64_t told = 0;
  ASSERT_TRUE(informer.AddListener({.executor = &executor},
                                   {.on_add = [&](const auto&, bool) { ++told; },
                                    .on_update = [&](const auto&, const auto&) { ++told; }}));
  ASSERT_TRUE(informer.Run());
  executor.Settle();
  for (std::int64_t change = 0; change < 4096; ++change) {
    store.Push(change * 7919 % kKeys);
    executor.Settle();
  }
  ASSERT_EQ(informer.List().size(), static_cast<std::size_t>(kKeys));
  ASSERT_EQ(told, kKeys + 4096);
  const double held = static_cast<double>(live_bytes - before);
  const double bytes = static_cast<double>(kKeys) * (GeneratedStore::kKeyBytes + kValueBytes);
  RecordProperty("times", std::to_string(held / bytes));
  EXPECT_GT(held, bytes);  // it does hold them
  EXPECT_LE(held, 2.5 * bytes) << held / bytes << " times";
}

}  // namespace
}  // namespace kvorum::sync
