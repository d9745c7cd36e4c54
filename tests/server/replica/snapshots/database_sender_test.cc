// Followers that need the database: the number that are sent it at a time, and the report of each.
#include "server/replica/snapshots/database_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "server/apply/applier.h"
#include "server/apply/wait_table.h"
#include "server/peer/codec/transport.h"
#include "server/replica/member/member_state.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/state/member_change.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Sent final : Transport {
  void Send(std::vector<raft::Message>) override {}
  void SendSnapshot(raft::Message message, std::unique_ptr<mvcc::SnapshotSource> source) override {
    messages.push_back(std::move(message));
    sources.push_back(std::move(source));
  }
  void SetMembers(std::shared_ptr<const MembershipView>) override {}
  std::optional<TimePoint> ActiveSince(raft::MemberId) const override { return std::nullopt; }

  std::vector<raft::Message> messages;
  std::vector<std::unique_ptr<mvcc::SnapshotSource>> sources;
};

// The store has one entry: this member's addition.
class DatabaseSenderTest : public ::testing::Test {
 protected:
  DatabaseSenderTest() {
    SetLogLevel(LogLevel::kFatal);
    LocalMemberOptions options;
    options.snap_dir = "/snap";
    options.store.restore_threads = 1;
    EXPECT_TRUE(fs_.MakeDirectories(options.snap_dir).has_value());
    auto state = MemberState::Open(
        fs_, mvcc::OpenMemoryBackend(fs_, "/snap/db").value(),
        {.apply = threads_.apply, .backend = threads_.backend, .copier = threads_.copier}, options,
        {});
    state_ = std::move(state).value();
    EXPECT_TRUE(state_->Load(1, nullptr).has_value());
    WaitTable waiters;
    Applier applier(state_->store(), state_->membership(), state_->alarms(), state_->quota(),
                    state_->leases(), state_->auth_applier(), waiters,
                    Applier::Hooks{.on_conf_change = [](raft::Index, const raft::ConfChange&) {},
                                   .on_no_space = {},
                                   .on_fatal = {}},
                    Applier::Bounds{});
    const auto change = EncodeMemberChange(
        1, MemberChange::Add(
               {.id = 1, .peer_urls = {"http://10.0.0.1:2380"}, .name = {}, .client_urls = {}}));
    const raft::Entry entry{.term = 1,
                            .index = 1,
                            .type = raft::EntryType::kConfChange,
                            .data = SharedBytes::Own(raft::Encode(change))};
    EXPECT_EQ(applier.Apply({&entry, 1}), 1U);
    sender_ = std::make_unique<DatabaseSender>(
        state_->store(), state_->disk_space(), threads_.clock, /*limit_bytes_per_second=*/0,
        [this](raft::MemberId peer, bool succeeded) {
          told_.push_back(std::to_string(peer.value()) + (succeeded ? " has it" : " failed"));
        });
    sender_->Start(transport_);
  }
  ~DatabaseSenderTest() override {
    state_->store().Close([] {});
    threads_.RunAll();
  }

  void Send(raft::MemberId to, raft::Index at_least = 1) {
    raft::Message message{.type = raft::MessageType::kSnap, .to = to, .from = 1};
    message.snapshot = std::make_shared<const raft::Snapshot>(
        raft::Snapshot{.data = {}, .metadata = {.conf_state = {}, .index = at_least, .term = 1}});
    sender_->Send(std::move(message));
  }

  SimFileSystem fs_;
  ManualExecutors threads_;
  std::unique_ptr<MemberState> state_;
  Sent transport_;
  std::vector<std::string> told_;
  std::unique_ptr<DatabaseSender> sender_;
};

TEST_F(DatabaseSenderTest, AllThatIsAppliedIsSentOnceItIsDurable) {
  Send(2);
  EXPECT_THAT(transport_.messages, IsEmpty()) << "nothing is read on the raft executor";
  threads_.RunReady();
  ASSERT_EQ(transport_.messages.size(), 1U);
  const raft::SnapshotMetadata& metadata = transport_.messages[0].snapshot->metadata;
  EXPECT_EQ(metadata.index, 1U);
  EXPECT_EQ(metadata.term, 1U);
  EXPECT_EQ(metadata.conf_state.voters, std::vector{raft::MemberId(1)});
  EXPECT_TRUE(transport_.messages[0].snapshot->data.view().contains("http://10.0.0.1:2380"))
      << "the members, for etcd's of 3.6 and older";
  EXPECT_THAT(told_, IsEmpty());
  sender_->Ended(2, true);
  EXPECT_THAT(told_, ElementsAre("2 has it"));
}

// Raft asks again for those that are refused.
TEST_F(DatabaseSenderTest, TwoAreSentItAtATimeAndNobodyTwice) {
  Send(2);
  Send(2);
  Send(3);
  Send(4);
  EXPECT_THAT(told_, ElementsAre("4 failed")) << "2 is told of when the first one ends";
  threads_.RunReady();
  EXPECT_EQ(transport_.messages.size(), 2U);
  sender_->Ended(2, false);
  Send(4);
  threads_.RunReady();
  EXPECT_EQ(transport_.messages.size(), 3U);
  EXPECT_THAT(told_, ElementsAre("4 failed", "2 failed"));
}

TEST_F(DatabaseSenderTest, ADatabaseThatLacksWhatTheFollowerNeedsIsNotSent) {
  Send(2, 5);
  Send(3, 5);
  threads_.RunReady();
  EXPECT_THAT(transport_.messages, IsEmpty());
  EXPECT_THAT(told_, ElementsAre("2 failed", "3 failed"));
  Send(4);
  threads_.RunReady();
  EXPECT_EQ(transport_.messages.size(), 1U) << "there is room again";
}

// Raft asks with every heartbeat.
TEST_F(DatabaseSenderTest, APeerThatDidNotGetItGetsTheNextAfterAPauseThatGrows) {
  const auto sends = [&] {
    const std::size_t before = transport_.messages.size();
    Send(2);
    threads_.RunReady();
    return transport_.messages.size() > before;
  };
  Duration pause = DatabaseSender::kFirstPause;
  for (int failures = 0; failures < 10; ++failures) {
    ASSERT_TRUE(sends()) << failures;
    sender_->Ended(2, false);
    threads_.clock.Advance(pause - std::chrono::milliseconds(1));
    EXPECT_FALSE(sends()) << failures;
    threads_.clock.Advance(std::chrono::milliseconds(1));
    pause = std::min(2 * pause, DatabaseSender::kLongestPause);
  }
  EXPECT_EQ(pause, DatabaseSender::kLongestPause);
  ASSERT_TRUE(sends());
  sender_->Ended(2, true);
  ASSERT_TRUE(sends()) << "all is well again";
  sender_->Ended(2, false);
  threads_.clock.Advance(DatabaseSender::kFirstPause);
  EXPECT_TRUE(sends());
  const auto counts = state_->store().metrics().snapshot.values().counts;
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 12U);
}

TEST_F(DatabaseSenderTest, APauseIsOnesOwn) {
  Send(2);
  threads_.RunReady();
  sender_->Ended(2, false);
  Send(3);
  threads_.RunReady();
  EXPECT_EQ(transport_.messages.size(), 2U);
}

}  // namespace
}  // namespace kvorum::server
