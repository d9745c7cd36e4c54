// A member's copy of the replicated state: opened from a backend, refused where no member can have
// written it, and replaced by a snapshot as one whole.
#include "server/replica/member/member_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/member_id.h"
#include "auth/auth_record.h"
#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "lease/lease_record.h"
#include "mvcc/records/key_value.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/local_member_options.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/backend_worlds.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using mvcc::Bucket;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSnapDir = "/snap";

std::string BigEndian(std::uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

class MemberStateTest : public ::testing::Test {
 protected:
  MemberStateTest() {
    SetLogLevel(LogLevel::kFatal);
    options_.snap_dir = kSnapDir;
    options_.store.restore_threads = 1;
    EXPECT_TRUE(fs_.MakeDirectories(kSnapDir).has_value());
  }
  ~MemberStateTest() override { Close(); }

  void Close() {
    if (state_ == nullptr) return;
    state_->store().Close([] {});
    threads_.RunAll();
    state_.reset();
  }

  mvcc::BackendOpener Opener() {
    return [this](const std::string& path) { return mvcc::OpenMemoryBackend(fs_, path); };
  }
  void Commit(const std::string& path, mvcc::OwnedBatch& batch) {
    mvcc::Commit(*Opener()(path).value(), batch);
  }
  // Everything that a member keeps, each part with this number in it, as of the index of that
  // number.
  void WriteDatabase(const std::string& path, std::uint64_t number) {
    const auto id = static_cast<lease::LeaseId>(number);
    const std::string key = "key" + std::to_string(number);
    mvcc::OwnedBatch batch;
    batch.Append({.main = 2, .sub = 0}, mvcc::Encode({.key = key,
                                                      .create_revision = 2,
                                                      .mod_revision = 2,
                                                      .version = 1,
                                                      .value = "v",
                                                      .lease = id}));
    batch.Put(Bucket::kMeta, mvcc::meta_key::kConsistentIndex, BigEndian(number));
    batch.Put(Bucket::kLease, lease::View(lease::EncodeLeaseKey(id)),
              lease::EncodeLease({.id = id, .ttl_s = 60}));
    batch.Put(Bucket::kAlarm,
              EncodeAlarm({.member = raft::MemberId{number}, .type = AlarmType::kNoSpace}), "");
    batch.Put(Bucket::kMembers, IdText(number),
              EncodeMemberJson({.id = raft::MemberId{number},
                                .peer_urls = {"http://10.0.0.1:2380"},
                                .name = {},
                                .client_urls = {}}));
    batch.Put(Bucket::kAuth, auth::kRevisionKey, BigEndian(number));
    batch.Put(Bucket::kAuthUsers, "user" + std::to_string(number),
              auth::EncodeUser({.name = "user" + std::to_string(number),
                                .password_hash = {},
                                .roles = {},
                                .no_password = {}}));
    Commit(path, batch);
  }

  Result<void> Open() {
    KV_TRY(auto backend, Opener()(DatabasePath(kSnapDir)));
    KV_TRY(state_,
           MemberState::Open(
               fs_, std::move(backend),
               {.apply = threads_.apply, .backend = threads_.backend, .copier = threads_.copier},
               options_,
               {.on_fatal = [this](const Error& error) { fatal_ = error; },
                .on_durable = [this](raft::Index index) { durable_.push_back(index.value()); }}));
    return state_->Load(1, nullptr);
  }
  // The numbers of WriteDatabase that are found in its parts.
  void ExpectIsOf(std::uint64_t number) {
    const auto id = static_cast<lease::LeaseId>(number);
    const auto view = state_->membership().View();
    EXPECT_EQ(view->members.size(), 1U);
    EXPECT_TRUE(view->members.contains(raft::MemberId{number}));
    EXPECT_THAT(state_->alarms().List(),
                ElementsAre(Alarm{.member = raft::MemberId{number}, .type = AlarmType::kNoSpace}));
    EXPECT_THAT(state_->leases().List(), ElementsAre(id));
    std::vector<std::string> keys;
    EXPECT_TRUE(state_->leases().VisitKeysOf(id, [&](std::string_view key) {
      keys.emplace_back(key);
      return true;
    }));
    EXPECT_THAT(keys, ElementsAre("key" + std::to_string(number)));
    // By the view's number: the newest state may be ahead of what the store shows.
    const auto read = state_->store().Read();
    ASSERT_TRUE(read.has_value());
    EXPECT_THAT(state_->auth_states().At(read->side_version())->UserNames(),
                ElementsAre("user" + std::to_string(number)));
    EXPECT_EQ(state_->store().recovered().consistent_index, number);
  }
  void Install(std::uint64_t number) {
    state_->Install({.conf_state = {}, .index = raft::Index{number}, .term = 1}, Opener(),
                    [this] { ++installed_; });
  }

  SimFileSystem fs_;
  ManualExecutors threads_;
  LocalMemberOptions options_;
  std::unique_ptr<MemberState> state_;
  std::vector<std::uint64_t> durable_;
  std::optional<Error> fatal_;
  int installed_ = 0;
};

TEST_F(MemberStateTest, ANewBackendIsAnEmptyState) {
  ASSERT_TRUE(Open().has_value());
  EXPECT_THAT(state_->membership().View()->members, IsEmpty());
  EXPECT_THAT(state_->alarms().List(), IsEmpty());
  EXPECT_THAT(state_->leases().List(), IsEmpty());
  EXPECT_EQ(state_->auth_states().Newest()->user_count(), 0U);
  EXPECT_EQ(state_->store().revision(), 1);
}

TEST_F(MemberStateTest, EveryPartIsReadFromTheBackendAndLeasesFindTheirKeys) {
  WriteDatabase(DatabasePath(kSnapDir), 5);
  ASSERT_TRUE(Open().has_value());
  ExpectIsOf(5);
  EXPECT_EQ(state_->store().revision(), 2);
}

TEST_F(MemberStateTest, ABackendOfAnotherStorageVersionIsRefused) {
  mvcc::OwnedBatch batch;
  batch.Put(Bucket::kMeta, mvcc::meta_key::kStorageVersion, "3.6.0");
  Commit(DatabasePath(kSnapDir), batch);
  const Result<void> opened = Open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(opened.error().message, HasSubstr("storage version 3.6.0"));
}

TEST_F(MemberStateTest, ABucketThatNoMemberCanHaveWrittenIsDataLoss) {
  for (const auto& [bucket, key, value] :
       {std::tuple(Bucket::kLease, "no lease", "x"), std::tuple(Bucket::kMembers, "5", "no JSON"),
        std::tuple(Bucket::kMembersRemoved, "no id", ""),
        std::tuple(Bucket::kAuthUsers, "alice", "\xff")}) {
    SCOPED_TRACE(key);
    mvcc::OwnedBatch batch;
    batch.Put(bucket, key, value);
    Commit(DatabasePath(kSnapDir), batch);
    const Result<void> opened = Open();
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kDataLoss) << opened.error().message;
    Close();
    ASSERT_TRUE(fs_.Remove(DatabasePath(kSnapDir)).has_value());
  }
}

TEST_F(MemberStateTest, WhatIsDurableIsReportedWithItsIndex) {
  ASSERT_TRUE(Open().has_value());
  state_->store().Publish(7, 1);
  EXPECT_THAT(durable_, IsEmpty());
  threads_.RunAll();
  EXPECT_THAT(durable_, ElementsAre(7));
}

TEST_F(MemberStateTest, ASnapshotReplacesAllOfItAtOnce) {
  WriteDatabase(DatabasePath(kSnapDir), 5);
  WriteDatabase(datadir::ReceivedSnapshotPath(kSnapDir, 9), 9);
  ASSERT_TRUE(Open().has_value());
  Install(9);
  // One task at a time: until it is installed, every part is the old one.
  while (installed_ == 0) {
    ExpectIsOf(5);
    ASSERT_TRUE(threads_.backend.RunOne() || threads_.copier.RunOne() || threads_.apply.RunOne());
  }
  ExpectIsOf(9);
  threads_.RunAll();
  EXPECT_EQ(installed_, 1);
  EXPECT_FALSE(fatal_.has_value());
  EXPECT_FALSE(fs_.Exists(datadir::ReceivedSnapshotPath(kSnapDir, 9)).value())
      << "it is the database now";
}

TEST_F(MemberStateTest, ASnapshotOfAnotherIndexIsFatalAndReplacesNothing) {
  WriteDatabase(DatabasePath(kSnapDir), 5);
  WriteDatabase(datadir::ReceivedSnapshotPath(kSnapDir, 9), 8);
  ASSERT_TRUE(Open().has_value());
  Install(9);
  threads_.RunAll();
  EXPECT_EQ(installed_, 0);
  EXPECT_TRUE(fatal_.has_value());
  ExpectIsOf(5);
}

}  // namespace
}  // namespace kvorum::server
