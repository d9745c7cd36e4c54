#include "sync/kernel/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvorum::sync {
namespace {

using testing::HasSubstr;

TEST(SyncMetrics, ACellStandsOnThePageWhileItsOwnerKeepsIt) {
  Metrics metrics;
  auto nacks = metrics.Get(CounterName::kWdNacks, {"zone-1", "a\"b\\c\nd"});
  nacks->Add(3);
  EXPECT_EQ(metrics.Text(),
            "# HELP kvsync_wd_nack_total The responses that a subscriber refused.\n"
            "# TYPE kvsync_wd_nack_total counter\n"
            "kvsync_wd_nack_total{node=\"zone-1\",type=\"a\\\"b\\\\c\\nd\"} 3\n");
  nacks.reset();
  EXPECT_EQ(metrics.Text(), "");
}

TEST(SyncMetrics, EqualLabelsShareACell) {
  Metrics metrics;
  const auto one = metrics.Get(GaugeName::kStreams, {"n1"});
  EXPECT_EQ(one, metrics.Get(GaugeName::kStreams, {"n1"}));
  EXPECT_NE(one, metrics.Get(GaugeName::kStreams, {"n2"}));
  one->Set(-2.5);
  EXPECT_THAT(metrics.Text(), HasSubstr("\nkvsync_streams{node=\"n1\"} -2.5\n"));
}

TEST(SyncMetrics, AHistogramHasItsBuckets) {
  Metrics metrics;
  const auto times = metrics.Get(HistogramName::kWdGenerationSeconds, {"event", "changed", "n1"});
  times->Observe(std::chrono::milliseconds(3));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE kvsync_wd_generation_seconds histogram\n"));
  const std::string labels = "{reason=\"event\",result=\"changed\",node=\"n1\"";
  EXPECT_THAT(text, HasSubstr("_bucket" + labels + ",le=\"0.002\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("_bucket" + labels + ",le=\"0.004\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("_bucket" + labels + ",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("_sum" + labels + "} 0.003\n"));
  EXPECT_THAT(text, HasSubstr("_count" + labels + "} 1\n"));
}

}  // namespace
}  // namespace kvorum::sync
