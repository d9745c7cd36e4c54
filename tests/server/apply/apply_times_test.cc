#include "server/apply/apply_times.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;

std::string CountsText(const ApplyTimes& times) {
  std::string text;
  times.ForEach([&](std::string_view op, bool succeeded, const Histogram& histogram) {
    const HistogramValues values = histogram.values();
    std::uint64_t count = 0;
    for (const std::uint64_t in_bucket : values.counts) count += in_bucket;
    text += std::string(op) + (succeeded ? "+" : "-") + " " + std::to_string(count) + " in " +
            std::to_string(static_cast<int>(values.sum * 1000 + 0.5)) + " ms\n";
  });
  return text;
}

TEST(ApplyTimesTest, TheEntriesOfABatchShareItsTime) {
  ApplyTimes times;
  times.Count(RequestKind::kPut, true);
  times.Count(RequestKind::kPut, true);
  times.Count(RequestKind::kTxn, true);
  times.Count(RequestKind::kPut, false);
  times.Observe(milliseconds(40));
  EXPECT_EQ(CountsText(times), "Put- 1 in 10 ms\nPut+ 2 in 20 ms\nTxn+ 1 in 10 ms\n");
  times.Observe(milliseconds(5));  // nothing was applied
  times.Count(RequestKind::kPut, true);
  times.Observe(milliseconds(3));
  EXPECT_EQ(CountsText(times), "Put- 1 in 10 ms\nPut+ 3 in 23 ms\nTxn+ 1 in 10 ms\n");
}

TEST(ApplyTimesTest, KindsHaveEtcdsNames) {
  ApplyTimes times;
  times.Count(RequestKind::kMemberAttributesSet, true);
  times.Count(RequestKind::kUserAdd, true);
  times.Count(RequestKind::kLeaseGrant, true);
  times.Observe(milliseconds(3));
  EXPECT_EQ(CountsText(times),
            "LeaseGrant+ 1 in 1 ms\nAuthUserAdd+ 1 in 1 ms\nClusterMemberAttrSet+ 1 in 1 ms\n");
}

}  // namespace
}  // namespace kvorum::server
