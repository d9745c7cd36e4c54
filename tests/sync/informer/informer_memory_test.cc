// The memory that an informer holds, counted at the allocator: a separate program, since it
// replaces operator new.
#include <gtest/gtest.h>

#include "sync/informer/informer.h"
#include "tests/live_bytes.h"
#include "tests/sync/informer/generated_store.h"
#include "tests/sync/manual_executor.h"

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
