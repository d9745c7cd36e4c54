#include "server/process/settings/compaction_retention.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::server {
namespace {

using Mode = CompactionPolicy::Mode;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Result<CompactionPolicy> ParsePeriodic(const std::string& text) {
  return ParseCompactionRetention("periodic", text);
}
Result<CompactionPolicy> ParseRevision(const std::string& text) {
  return ParseCompactionRetention("revision", text);
}
std::string RefusalOf(const std::string& text) {
  const auto policy = ParsePeriodic(text);
  return policy.has_value() ? "taken" : policy.error().message;
}

TEST(CompactionRetention, APlainNumberIsHours) {
  EXPECT_EQ(ParsePeriodic("1")->mode, Mode::kPeriodic);
  EXPECT_EQ(ParsePeriodic("1")->period, hours(1));
  EXPECT_EQ(ParsePeriodic("+3")->period, hours(3));
  EXPECT_EQ(ParsePeriodic("010")->period, hours(10)) << "decimal, whatever it begins with";
}

TEST(CompactionRetention, AUnitMakesItATime) {
  EXPECT_EQ(ParsePeriodic("10m")->period, minutes(10));
  EXPECT_EQ(ParsePeriodic("1h30m0.5s")->period,
            hours(1) + minutes(30) + std::chrono::milliseconds(500));
}

TEST(CompactionRetention, ForRevisionsItIsTheirNumber) {
  EXPECT_EQ(ParseRevision("1000")->mode, Mode::kRevision);
  EXPECT_EQ(ParseRevision("1000")->kept_revisions, 1000);
  EXPECT_EQ(ParseRevision("1s")->kept_revisions, 1'000'000'000) << "nanoseconds, as in etcd";
}

TEST(CompactionRetention, ZeroIsOff) {
  for (const std::string text : {"", "0", "0s", "-0s", "+0"}) {
    EXPECT_EQ(ParsePeriodic(text)->mode, Mode::kOff) << text;
    EXPECT_EQ(ParseRevision(text)->mode, Mode::kOff) << text;
  }
}

TEST(CompactionRetention, WhatIsNoTimeIsRefusedInEtcdsWords) {
  const std::string prefix = "error parsing CompactionRetention: ";
  EXPECT_EQ(RefusalOf("abc"), prefix + "time: invalid duration \"abc\"");
  EXPECT_EQ(RefusalOf("-1"), prefix + "time: missing unit in duration \"-1\"");
  EXPECT_EQ(RefusalOf("1x"), prefix + "time: unknown unit \"x\" in duration \"1x\"");
  EXPECT_EQ(RefusalOf("9999999999h"), prefix + "time: invalid duration \"9999999999h\"");
  EXPECT_EQ(RefusalOf("99999999999999999999"),
            prefix + "time: invalid duration \"99999999999999999999\"");
}

TEST(CompactionRetention, WithWhichEtcdCompactsWithoutAPauseIsRefused) {
  EXPECT_NE(RefusalOf("-1h"), "taken");
  EXPECT_EQ(ParsePeriodic("2562047")->period, hours(2'562'047));
  EXPECT_NE(RefusalOf("2562048"), "taken") << "more than a time can hold";
  EXPECT_FALSE(ParseRevision("-1s").has_value());
}

}  // namespace
}  // namespace kvorum::server
