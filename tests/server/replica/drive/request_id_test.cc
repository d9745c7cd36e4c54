// Ids that no two proposals share, with any clock.
#include "server/replica/drive/request_id.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mix64.h"
#include "server/state/member_change.h"
#include "tests/disk/sim_file_system.h"
#include "tests/server/replica/small_member.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

constexpr raft::MemberId kProposer{0xaaaa'0000'0000'0007};
constexpr std::int64_t kStart = 1'000'000 * std::int64_t{5'000'000};

TEST(RequestIdTest, CountsUpFromMemberAndStartTime) {
  const raft::MemberId member{0x1234'5678'9abc'beefU};
  RequestIdSource ids(member, 0x01'0203'0405 * std::int64_t{1'000'000} + 999'999);
  const std::uint64_t first = Mix64(member.value()) + 0x0102'0304'0500;
  EXPECT_EQ(ids.Next(), first);
  EXPECT_EQ(ids.Next(), first + 1);
  for (int i = 2; i < 256; ++i) ids.Next();
  EXPECT_EQ(ids.Next(), first + 256) << "the counter carries into the time";
}

TEST(RequestIdTest, TheCarryGoesRound) {
  RequestIdSource ids(1, ((std::int64_t{1} << 40) - 1) * 1'000'000);
  for (int i = 0; i < 255; ++i) ids.Next();
  EXPECT_EQ(ids.Next(), Mix64(1) + 0xffff'ffff'ffff);
  EXPECT_EQ(ids.Next(), Mix64(1));
}

// A member whose client waits for an id takes any entry that has it for the client's.
TEST(RequestIdTest, MembersThatAgreeInTheLow16BitsTakeDifferentIds) {
  constexpr int kIds = 100'000;
  std::set<std::uint64_t> taken;
  for (const std::uint64_t high : {0U, 1U, 2U, 0xffffU}) {
    RequestIdSource ids(raft::MemberId{high << 16 | 7}, kStart);
    for (int i = 0; i < kIds; ++i) taken.insert(ids.Next());
  }
  EXPECT_EQ(taken.size(), std::size_t{4} * kIds);
}

raft::Entry EntryOf(std::uint64_t id) {
  return {.term = 1,
          .index = 1,
          .type = raft::EntryType::kNormal,
          .data = EncodeInternalRequest(id, RequestKind::kPut, PutBody("k", "v"))};
}

raft::Entry ChangeOf(std::uint64_t id) {
  return {.term = 1,
          .index = 1,
          .type = raft::EntryType::kConfChange,
          .data = SharedBytes::Own(raft::Encode(EncodeMemberChange(id, MemberChange::Remove(3))))};
}

std::uint64_t FirstBehind(std::vector<raft::Entry> log, std::int64_t wall_ns = kStart) {
  RequestIdSource ids(kProposer, wall_ns);
  ids.GoOnBehind(log);
  return ids.Next();
}

TEST(RequestIdTest, GoesOnFarBehindWhatTheLogHas) {
  RequestIdSource earlier(kProposer, kStart);
  const std::uint64_t first = earlier.Next();
  const std::uint64_t second = earlier.Next();
  constexpr std::uint64_t kPlenty = 1'000'000'000;
  EXPECT_GT(FirstBehind({EntryOf(first), EntryOf(second)}), second + kPlenty);
  EXPECT_GT(FirstBehind({EntryOf(second), EntryOf(first)}), second + kPlenty);
  EXPECT_GT(FirstBehind({EntryOf(first), ChangeOf(second)}), second + kPlenty);
  EXPECT_GT(FirstBehind({EntryOf(second)}, kStart / 2), second + kPlenty) << "the clock went back";
}

// The first one's proposals go to the leader, and are not in its own log when it ends.
TEST(RequestIdTest, TwoProcessesThatFindTheSameLogTakeDifferentIds) {
  const std::vector<raft::Entry> log = {EntryOf(RequestIdSource(kProposer, kStart).Next())};
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kIdsOfASecond = 256'000;
  EXPECT_GE(FirstBehind(log, kStart + kSecond), FirstBehind(log, kStart) + kIdsOfASecond);
  EXPECT_NE(FirstBehind(log, kStart / 2 + kSecond), FirstBehind(log, kStart / 2)) << "set back";
}

TEST(RequestIdTest, TheTimeCountsWhereItIsLater) {
  const std::int64_t later = 2 * kStart * 100;
  const std::uint64_t by_time = RequestIdSource(kProposer, later).Next();
  EXPECT_EQ(FirstBehind({EntryOf(RequestIdSource(kProposer, kStart).Next())}, later), by_time);
  EXPECT_EQ(FirstBehind({}, later), by_time);
}

TEST(RequestIdTest, OtherMembersIdsAndWhatIsNoRequestSayNothing) {
  const std::uint64_t by_time = RequestIdSource(kProposer, kStart).Next();
  raft::Entry junk = EntryOf(1);
  junk.data = SharedBytes::Static("\xff\xff");
  raft::Entry empty = EntryOf(1);
  empty.data = {};
  EXPECT_EQ(FirstBehind({EntryOf(RequestIdSource(8, kStart).Next()), junk, empty}), by_time);
}

TEST(RequestIdTest, GoesRoundWithoutMeetingTheIdsBefore) {
  const std::uint64_t last =
      RequestIdSource(kProposer, ((std::int64_t{1} << 40) - 1) * 1'000'000).Next();
  const std::uint64_t next = FirstBehind({EntryOf(last)}, 0);
  EXPECT_LT(next - Mix64(kProposer.value()), std::uint64_t{1} << 48);
  EXPECT_NE(next, RequestIdSource(kProposer, 0).Next());
  EXPECT_LT(next, last) << "behind the end comes the begin";
}

// The backend lacks entries that the killed process had applied, so that they are applied again
// while the new process, whose clock shows the same time, waits for its own proposal.
TEST(RequestIdTest, ALateOutcomeOfAnEarlierProcessAnswersNobody) {
  SimFileSystem fs;
  const auto put = [](SmallMember& member, std::string value) {
    std::optional<Result<ApplyResult::Value>> outcome;
    member.Propose(RequestKind::kPut, PutBody("key", value),
                   [&](Result<ApplyResult::Value> got) { outcome = std::move(got); });
    EXPECT_TRUE(member.lanes().RunUntil([&] { return outcome.has_value(); }));
    return std::get<mvcc::PutResult>(**outcome).revision;
  };
  {
    SmallMember member(fs, 1);
    ASSERT_TRUE(member.Start().has_value());
    EXPECT_EQ(put(member, "old"), 2);
  }
  fs.Kill();
  SmallMember member(fs, 1);
  ASSERT_TRUE(member.Start().has_value());
  EXPECT_EQ(put(member, "new"), 3);
  EXPECT_EQ(member.Get("key", 0).value(), "new");
}

}  // namespace
}  // namespace kvorum::server
