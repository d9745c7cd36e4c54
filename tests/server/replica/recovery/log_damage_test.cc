// A start with a log whose last write is damaged: torn, as far as the log can tell; but the
// database knows better once the entry was applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/disk/sim_file_system.h"
#include "tests/server/replica/small_member.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using ::testing::HasSubstr;

class LogDamageTest : public ::testing::Test {
 protected:
  // One put, then the process is killed.
  void WriteAndKill(Duration wait_for_backend) {
    SmallMember member(fs_, 3);
    ASSERT_TRUE(member.Start().has_value());
    ASSERT_TRUE(member.CatchUp());
    member.lanes().RunFor(std::chrono::seconds(1));
    bool done = false;
    member.Propose(RequestKind::kPut, PutBody("key", "acknowledged"),
                   [&](const auto& value) { done = value.has_value(); });
    ASSERT_TRUE(member.lanes().RunUntil([&] { return done; }));
    member.lanes().RunFor(wait_for_backend);
    fs_.Kill();
  }
  std::string Segment() {
    std::string last;
    const std::vector<std::string> names = fs_.List(SmallMember::kWalDir).value();
    for (const std::string& name : names) {
      if (name.ends_with(".wal")) last = std::string(SmallMember::kWalDir) + "/" + name;
    }
    return last;
  }
  std::string Bytes() { return ReadWholeFile(fs_, Segment(), 1 << 20).value(); }
  void DamageThePut() {
    const std::size_t at = Bytes().rfind("acknowledged");
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(fs_.Corrupt(Segment(), at, 0x01));
  }

  SimFileSystem fs_;
};

TEST_F(LogDamageTest, AnEntryThatWasAppliedIsNotCutOffAsTorn) {
  WriteAndKill(std::chrono::seconds(1));
  DamageThePut();
  const std::string before = Bytes();
  SmallMember member(fs_, 4);
  const auto refused = member.Start();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr(Segment() + " is damaged at offset"));
  EXPECT_THAT(refused.error().message, HasSubstr("has been applied"));
  EXPECT_EQ(Bytes(), before) << "the log was not changed, as it says";
}

TEST_F(LogDamageTest, WhatNobodyElseKnowsOfIsCutOff) {
  WriteAndKill(Duration(0));  // the database has none of it yet
  DamageThePut();
  SmallMember member(fs_, 4);
  const auto started = member.Start();
  ASSERT_TRUE(started.has_value()) << started.error().message;
  ASSERT_TRUE(member.CatchUp());
  EXPECT_FALSE(member.Get("key", 0).value().has_value());
}

}  // namespace
}  // namespace kvorum::server
