#include "server/state/alarms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/kv_decode.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Alarm kOneFull{.member = 1, .type = AlarmType::kNoSpace};
constexpr Alarm kOneCorrupt{.member = 1, .type = AlarmType::kCorrupt};
constexpr Alarm kTwoFull{.member = 2, .type = AlarmType::kNoSpace};

TEST(AlarmsTest, StandUntilTheLastOfTheirTypeIsDisarmed) {
  Alarms alarms;
  EXPECT_FALSE(alarms.Stands(AlarmType::kNoSpace));
  EXPECT_TRUE(alarms.Activate(kTwoFull));
  EXPECT_TRUE(alarms.Activate(kOneFull));
  EXPECT_FALSE(alarms.Activate(kOneFull)) << "it stood already";
  EXPECT_TRUE(alarms.Stands(AlarmType::kNoSpace));
  EXPECT_FALSE(alarms.Stands(AlarmType::kCorrupt));
  EXPECT_TRUE(alarms.Deactivate(kOneFull));
  EXPECT_FALSE(alarms.Deactivate(kOneFull)) << "it stood no more";
  EXPECT_TRUE(alarms.Stands(AlarmType::kNoSpace));
  EXPECT_TRUE(alarms.Deactivate(kTwoFull));
  EXPECT_FALSE(alarms.Stands(AlarmType::kNoSpace));
}

TEST(AlarmsTest, AreListedByMemberThenType) {
  Alarms alarms;
  EXPECT_THAT(alarms.List(), IsEmpty());
  alarms.Activate(kTwoFull);
  alarms.Activate(kOneCorrupt);
  alarms.Activate(kOneFull);
  EXPECT_THAT(alarms.List(), ElementsAre(kOneFull, kOneCorrupt, kTwoFull));
  EXPECT_THAT(alarms.List(AlarmType::kNoSpace), ElementsAre(kOneFull, kTwoFull));
  EXPECT_THAT(alarms.List(AlarmType::kCorrupt), ElementsAre(kOneCorrupt));
  EXPECT_TRUE(alarms.Stands(AlarmType::kCorrupt));
}

TEST(AlarmsTest, HaveTheBytesOfTheBucketsKeys) {
  EXPECT_EQ(EncodeAlarm(kOneFull), "\x08\x01\x10\x01");
  EXPECT_EQ(EncodeAlarm({}), "");
  for (const Alarm& alarm :
       {kOneFull, kOneCorrupt, kTwoFull,
        Alarm{.member = raft::MemberId{UINT64_MAX}, .type = static_cast<AlarmType>(9)}})
    EXPECT_EQ(DecodeAlarm(EncodeAlarm(alarm)), alarm);
  EXPECT_EQ(DecodeAlarm("\x08"), Fail(Code::kDataLoss, "alarm: a stored alarm is malformed"));
}

TEST(AlarmsTest, RequestsComeBackAsTheyWere) {
  const AlarmRequest request{.action = AlarmAction::kDeactivate, .alarm = kTwoFull};
  const auto decoded = DecodeAlarmRequest(EncodeAlarmRequest(request));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->action, AlarmAction::kDeactivate);
  EXPECT_EQ(decoded->alarm, kTwoFull);
  EXPECT_EQ(DecodeAlarmRequest("\x08").error(), MalformedRequest().error());
}

TEST(AlarmsTest, TheirTextIsTheOneThatScriptsRead) {
  EXPECT_EQ(AlarmText({.member = 123, .type = AlarmType::kNoSpace}), "memberID:123 alarm:NOSPACE");
  EXPECT_EQ(AlarmText({.member = 123, .type = AlarmType::kCorrupt}), "memberID:123 alarm:CORRUPT");
  EXPECT_EQ(AlarmText({.member = 0, .type = AlarmType::kCorrupt}), "alarm:CORRUPT");
  EXPECT_EQ(AlarmText({.member = 5, .type = AlarmType::kNone}), "memberID:5");
  EXPECT_EQ(AlarmText({}), "");
  EXPECT_EQ(AlarmText({.member = 5, .type = static_cast<AlarmType>(7)}), "memberID:5 alarm:7");
}

}  // namespace
}  // namespace kvorum::server
