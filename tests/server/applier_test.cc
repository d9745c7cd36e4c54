// The apply loop's work, entry by entry, over a store that the test restarts.
#include "server/apply/applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/executor.h"
#include "server/messages/maintenance_encode.h"
#include "tests/mvcc/store_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// The store knows this one from its opening on; behind it a start puts that of the member.
struct LeasesOfTheMember final : mvcc::LeaseChecker, mvcc::LeaseAttachments {
  bool LeaseExists(std::int64_t lease) const override { return leases->LeaseExists(lease); }
  void Attach(std::string_view key, std::int64_t lease) override { leases->Attach(key, lease); }
  std::unique_ptr<Leases> leases;
};

class ApplierTest : public testing::Test, public mvcc::StoreHarness {
 protected:
  ApplierTest() {
    SetLogLevel(LogLevel::kError);
    options.leases = &leases_;
    options.attachments = &leases_;
    options.on_lease_attachment = [this](std::string_view key, std::int64_t lease) {
      restored_leases_.Attach(key, lease);
    };
    Reopen();
    Start();
  }

  void StartLeases() {
    leases_.leases = std::make_unique<Leases>(lease::Lessor::Options{}, clock_);
    leases_.leases->Install(std::exchange(restored_leases_, {}));
  }

  // A member's start over what the store recovered.
  void Start() {
    membership_ = std::make_unique<Membership>(MembershipView{});
    alarms_ = std::make_unique<Alarms>();
    quota_ = std::make_unique<Quota>(*store, quota_bytes_);
    StartLeases();
    auth_ = std::make_unique<auth::AuthStore>();
    auth_states_ = std::make_unique<AuthStates>(auth_->state());
    auth_applier_ =
        std::make_unique<AuthApplier>(*auth_, *auth_states_, *store, *leases_.leases, nullptr);
    applier_ = std::make_unique<Applier>(
        *store, *membership_, *alarms_, *quota_, *leases_.leases, *auth_applier_, waiters_,
        Applier::Hooks{
            .on_conf_change =
                [this](raft::Index entry, const raft::ConfChange& change) {
                  conf_changes_.emplace_back(entry, change.node_id);
                },
            .on_no_space = [this](Task answer) { no_space_.push_back(std::move(answer)); },
            .on_fatal = [this](const Error& error) { fatal_ = error; }},
        bounds_);
  }
  void Restart() {
    applier_.reset();
    quota_.reset();
    restored_leases_ = mvcc::Ok(Leases::Load(*mvcc::Ok(OpenBackend()->NewReader())));
    Reopen();
    Start();
  }
  void SetQuota(std::uint64_t limit_bytes) {
    quota_bytes_ = limit_bytes;
    Start();
  }

  raft::Entry Entry(RequestKind kind, std::string_view body) {
    return {.term = 3,
            .index = ++last_index_,
            .type = raft::EntryType::kNormal,
            .data = EncodeInternalRequest(last_index_, kind, body)};
  }
  raft::Entry ConfEntry(raft::ConfChangeType type, const Member& member) {
    const raft::ConfChange change{.id = 1,
                                  .type = type,
                                  .node_id = member.id,
                                  .context = SharedBytes::Own(EncodeMemberJson(member))};
    return {.term = 3,
            .index = ++last_index_,
            .type = raft::EntryType::kConfChange,
            .data = SharedBytes::Own(raft::Encode(change))};
  }
  void ApplyAll(const std::vector<raft::Entry>& entries) {
    const std::size_t applied = applier_->Apply(entries);
    EXPECT_EQ(applied < entries.size(), fatal_.has_value());
  }
  // Waits for an entry's outcome.
  std::shared_ptr<std::optional<ApplyResult>> Wait(raft::Index index) {
    struct Keep final : Waiter {
      std::shared_ptr<std::optional<ApplyResult>> kept =
          std::make_shared<std::optional<ApplyResult>>();
      void Applied(ApplyResult result) override { *kept = std::move(result); }
      void Failed(const Error&) override { FAIL() << "the applier fails nobody"; }
    };
    auto waiter = std::make_unique<Keep>();
    auto kept = waiter->kept;
    std::vector<PendingProposal> one;
    one.push_back({.id = index, .deadline = {}, .waiter = std::move(waiter)});
    waiters_.Register(std::move(one));
    return kept;
  }
  // Applies one request and gives its outcome.
  Result<ApplyResult::Value> Apply(RequestKind kind, std::string_view body) {
    const raft::Entry entry = Entry(kind, body);
    const auto outcome = Wait(entry.index);
    ApplyAll({entry});
    RunNoSpace();
    if (!outcome->has_value()) return Fail(Code::kUnknown, "not answered");
    EXPECT_EQ((*outcome)->term, 3);
    return std::move((*outcome)->value);
  }
  // The outcome in a word: the error's text, or "ok".
  std::string Outcome(RequestKind kind, std::string_view body) {
    const auto value = Apply(kind, body);
    return value.has_value() ? "ok" : value.error().message;
  }
  std::map<std::string, std::string> Bucket(mvcc::Bucket bucket) {
    Settle();
    std::map<std::string, std::string> content;
    mvcc::Ok(store->ForEach(bucket, [&](std::string_view key, std::string_view value) {
      content.emplace(key, value);
    }));
    return content;
  }
  // What the member does when the alarm it had raised stands.
  void RunNoSpace() {
    for (Task& answer : std::exchange(no_space_, {})) answer();
  }
  std::string FatalText() const { return fatal_.has_value() ? fatal_->message : "none"; }

  void SetBounds(const Applier::Bounds& bounds) {
    bounds_ = bounds;
    Start();
  }

  std::uint64_t quota_bytes_ = 0;
  Applier::Bounds bounds_;
  raft::Index last_index_ = 0;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<Alarms> alarms_;
  std::unique_ptr<Quota> quota_;
  ManualClock clock_;
  LeasesOfTheMember leases_;
  lease::LeaseTable restored_leases_;
  WaitTable waiters_;
  std::unique_ptr<auth::AuthStore> auth_;
  std::unique_ptr<AuthStates> auth_states_;
  std::unique_ptr<AuthApplier> auth_applier_;
  std::unique_ptr<Applier> applier_;
  std::vector<std::pair<raft::Index, raft::MemberId>> conf_changes_;
  std::vector<Task> no_space_;
  std::optional<Error> fatal_;
};

const std::string kNoSpaceText(kErrNoSpace.message);
const std::string kCorruptText(kErrCorrupt.message);

std::string RaiseBody(AlarmType type, AlarmAction action = AlarmAction::kActivate) {
  return EncodeAlarmRequest({.action = action, .alarm = {.member = 5, .type = type}});
}
const std::string kPutBody = PutBody("k", "v");
const std::string kTxnWithPut =
    TxnBody({OpBody(3, DeleteBody("k"))}, {OpBody(2, PutBody("k", "v"))});
const std::string kTxnWithoutPut = TxnBody({OpBody(3, DeleteBody("k"))});

// --- the consistent index ----------------------------------------------------------------------

TEST_F(ApplierTest, AnEntryThatIsInTheBackendIsNotAppliedAgain) {
  const std::vector<raft::Entry> entries = {Entry(RequestKind::kPut, PutBody("k", "1")),
                                            Entry(RequestKind::kPut, PutBody("k", "2")),
                                            Entry(RequestKind::kPut, PutBody("k", "3"))};
  ApplyAll({entries[0], entries[1]});
  Settle();
  Restart();
  ASSERT_EQ(store->recovered().consistent_index, 2);
  const auto answered = Wait(1);
  ApplyAll(entries);
  EXPECT_EQ(applier_->applied_index(), 3);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=3 c2 m4 v3"));
  EXPECT_FALSE(answered->has_value()) << "its outcome is not known any more";
}

TEST_F(ApplierTest, WhatWasNotDurableIsAppliedAgain) {
  const std::vector<raft::Entry> entries = {Entry(RequestKind::kPut, PutBody("k", "1")),
                                            Entry(RequestKind::kPut, PutBody("k", "2"))};
  ApplyAll({entries[0]});
  Settle();
  ApplyAll({entries[1]});
  Restart();
  EXPECT_EQ(store->revision(), 2);
  ApplyAll(entries);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=2 c2 m3 v2"));
}

TEST_F(ApplierTest, AnEmptyEntryOnlyMovesTheIndex) {
  ApplyAll({{.term = 3, .index = ++last_index_, .type = raft::EntryType::kNormal, .data = {}}});
  EXPECT_EQ(applier_->applied_index(), 1);
  EXPECT_EQ(store->revision(), 1);
  Settle();
  Restart();
  EXPECT_EQ(store->recovered().consistent_index, 1);
  ApplyAll({});
  EXPECT_EQ(applier_->applied_index(), 0) << "nothing was applied since the start";
}

TEST_F(ApplierTest, ABatchIsPublishedAsAWhole) {
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 50; ++i) entries.push_back(Entry(RequestKind::kPut, kPutBody));
  const auto first = Wait(1);
  ApplyAll(entries);
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ(std::get<mvcc::PutResult>(*(*first)->value).revision, 2);
  EXPECT_EQ(store->revision(), 51);
}

// --- members -----------------------------------------------------------------------------------

Member MemberSeven() {
  return {.id = 7, .peer_urls = {"http://a:1"}, .is_learner = false, .name = {}, .client_urls = {}};
}

TEST_F(ApplierTest, AConfigurationChangeIsStoredAndTold) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  EXPECT_EQ(membership_->View()->members.at(7), MemberSeven());
  EXPECT_THAT(conf_changes_, ElementsAre(std::pair(1, 7)));
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembers),
            (std::map<std::string, std::string>{{"7", R"({"id":7,"peerURLs":["http://a:1"]})"}}));
  Restart();
  EXPECT_EQ(store->recovered().conf_state, R"({"voters":[7],"auto_leave":false})");
}

TEST_F(ApplierTest, ALearnerIsNoVoterAndARemovedMemberIsRemembered) {
  Member learner = MemberSeven();
  learner.is_learner = true;
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddLearnerNode, learner)});
  EXPECT_EQ(Bucket(mvcc::Bucket::kMeta)[std::string(mvcc::meta_key::kConfState)],
            R"({"voters":[],"learners":[7],"auto_leave":false})");
  ApplyAll({ConfEntry(raft::ConfChangeType::kRemoveNode, learner)});
  EXPECT_THAT(membership_->View()->members, IsEmpty());
  EXPECT_THAT(membership_->View()->removed, ElementsAre(7));
  EXPECT_THAT(Bucket(mvcc::Bucket::kMembers), IsEmpty());
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembersRemoved),
            (std::map<std::string, std::string>{{"7", "removed"}}));
}

// The node starts with the configuration that the backend holds.
TEST_F(ApplierTest, AReplayedChangeChangesNothing) {
  const raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  ApplyAll({entry});
  Settle();
  Restart();
  conf_changes_.clear();
  ApplyAll({entry});
  EXPECT_THAT(conf_changes_, IsEmpty());
  EXPECT_THAT(membership_->View()->members, IsEmpty()) << "start-up loads them from the bucket";
  EXPECT_EQ(applier_->applied_index(), 1);
}

TEST_F(ApplierTest, AChangeIsAnsweredWithTheMembersBehindIt) {
  const raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  const auto outcome = Wait(1);
  ApplyAll({entry});
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->value.has_value());
  EXPECT_EQ(std::get<MembershipResult>(*(*outcome)->value).view->members.at(7), MemberSeven());
}

TEST_F(ApplierTest, ARefusedChangeIsNoChangeForRaftAndForTheBuckets) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  const auto members = Bucket(mvcc::Bucket::kMembers);
  conf_changes_.clear();
  Member other = MemberSeven();
  other.id = 8;
  const auto outcome = Wait(1);
  const raft::Entry same_url = ConfEntry(raft::ConfChangeType::kAddNode, other);
  ApplyAll({same_url});
  ASSERT_TRUE(outcome->has_value());
  EXPECT_EQ((*outcome)->value.error(), kErrPeerUrlExist.ToError());
  EXPECT_THAT(conf_changes_, IsEmpty());
  EXPECT_EQ(Bucket(mvcc::Bucket::kMembers), members);
  EXPECT_EQ(Bucket(mvcc::Bucket::kMeta)[std::string(mvcc::meta_key::kConfState)],
            R"({"voters":[7],"auto_leave":false})");
  EXPECT_EQ(applier_->applied_index(), same_url.index) << "the entry itself counts";
  Restart();
  EXPECT_EQ(store->recovered().consistent_index, same_url.index);
}

TEST_F(ApplierTest, AttributesAreStoredForMembersOnly) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  EXPECT_EQ(
      Outcome(RequestKind::kMemberAttributesSet,
              EncodeMemberAttributes({.member = 7, .name = "n", .client_urls = {"http://c:3"}})),
      "ok");
  EXPECT_EQ(Outcome(RequestKind::kMemberAttributesSet,
                    EncodeMemberAttributes({.member = 8, .name = "x", .client_urls = {}})),
            "ok");
  EXPECT_EQ(
      Bucket(mvcc::Bucket::kMembers),
      (std::map<std::string, std::string>{
          {"7", R"({"id":7,"peerURLs":["http://a:1"],"name":"n","clientURLs":["http://c:3"]})"}}));
}

TEST_F(ApplierTest, TheClusterVersionIsStored) {
  EXPECT_EQ(Outcome(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0")), "ok");
  EXPECT_EQ(membership_->View()->cluster_version, "3.7.0");
  EXPECT_EQ(Bucket(mvcc::Bucket::kCluster),
            (std::map<std::string, std::string>{{"clusterVersion", "3.7.0"}}));
}

// --- alarms and the quota ----------------------------------------------------------------------

TEST_F(ApplierTest, AnAlarmStandsInTheBackendUntilItIsDisarmed) {
  const auto raised = Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  const Alarm alarm{.member = 5, .type = AlarmType::kNoSpace};
  ASSERT_TRUE(raised.has_value());
  EXPECT_THAT(std::get<AlarmResult>(*raised).alarms, ElementsAre(alarm));
  EXPECT_EQ(Bucket(mvcc::Bucket::kAlarm),
            (std::map<std::string, std::string>{{EncodeAlarm(alarm), ""}}));
  const auto listed = Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNone, AlarmAction::kGet));
  EXPECT_THAT(std::get<AlarmResult>(*listed).alarms, ElementsAre(alarm));
  const auto disarmed =
      Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  EXPECT_THAT(std::get<AlarmResult>(*disarmed).alarms, ElementsAre(alarm));
  EXPECT_THAT(Bucket(mvcc::Bucket::kAlarm), IsEmpty());
  const auto again =
      Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  EXPECT_THAT(std::get<AlarmResult>(*again).alarms, IsEmpty()) << "only what changed";
}

TEST_F(ApplierTest, NoAlarmAndAnUnknownActionChangeNothing) {
  for (const std::string& body :
       {RaiseBody(AlarmType::kNone), RaiseBody(AlarmType::kNoSpace, static_cast<AlarmAction>(9))}) {
    const auto result = Apply(RequestKind::kAlarm, body);
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(std::get<AlarmResult>(*result).alarms, IsEmpty());
    EXPECT_THAT(alarms_->List(), IsEmpty());
  }
}

TEST_F(ApplierTest, UnderNoSpaceOnlyPutsAreRefused) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace)), "ok");
  const std::int64_t before = revision();
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithPut), kNoSpaceText);
  EXPECT_EQ(revision(), before) << "and nothing is written";
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithoutPut), "ok");
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), "ok");
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before)), "ok");
}

TEST_F(ApplierTest, UnderCorruptEveryChangeIsRefused) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt)), "ok");
  const std::int64_t before = revision();
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithoutPut), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before)), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before, /*physical=*/true)),
            kCorruptText);
  EXPECT_EQ(revision(), before);
  EXPECT_EQ(FatalText(), "none") << "an answer, no damage of the log";
  EXPECT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt, AlarmAction::kDeactivate)),
            "ok");
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
}

// Every replica has written it, whatever its own disk's size.
TEST_F(ApplierTest, APutPastTheQuotaIsWrittenAndAnsweredNoSpace) {
  SetQuota(1);
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, PutTxnBody({"t"}, "v")), kNoSpaceText);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=v c2 m2 v1"));
  EXPECT_THAT(Rows(mvcc::Get("t")), ElementsAre("t=v c3 m3 v1"));
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), "ok");
}

// A member that catches up applies them at once.
TEST_F(ApplierTest, ARefusalByAnAlarmThatTheSameBatchEndsAsksForNone) {
  const raft::Entry raise = Entry(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  const raft::Entry put = Entry(RequestKind::kPut, kPutBody);
  const auto refused = Wait(put.index);
  const raft::Entry disarm =
      Entry(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  ApplyAll({raise, put, disarm});
  EXPECT_THAT(no_space_, IsEmpty());
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->value.error(), kErrNoSpace.ToError());
}

TEST_F(ApplierTest, WhoIsRefusedForSpaceIsAnsweredWhenTheAlarmStands) {
  SetQuota(1);
  const raft::Entry put = Entry(RequestKind::kPut, kPutBody);
  const raft::Entry del = Entry(RequestKind::kDeleteRange, DeleteBody("k"));
  const auto refused = Wait(put.index);
  const auto deleted = Wait(del.index);
  ApplyAll({put, del});
  EXPECT_TRUE(deleted->has_value());
  EXPECT_FALSE(refused->has_value());
  ASSERT_EQ(no_space_.size(), 1);
  RunNoSpace();
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->value.error(), kErrNoSpace.ToError());

  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace)), "ok");
  const raft::Entry another = Entry(RequestKind::kPut, kPutBody);
  const auto at_once = Wait(another.index);
  ApplyAll({another});
  EXPECT_TRUE(at_once->has_value()) << "the alarm stands already";
  EXPECT_THAT(no_space_, IsEmpty());
}

// --- what is read for an answer ----------------------------------------------------------------

const std::string kReadAll = OpBody(1, RangeBody({.key = {"\0", 1}, .range_end = {"\0", 1}}));
const std::string kTxnThatReads =
    TxnBody({kReadAll, OpBody(2, PutBody("t", "v")), kReadAll,
             OpBody(4, TxnBody({kReadAll, OpBody(2, PutBody("u", "v"))}))});

TEST_F(ApplierTest, RangesOfATxnRunOnlyWhereSomebodyWaits) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  const std::uint64_t before = store->counters().ranges;
  ApplyAll({Entry(RequestKind::kTxn, kTxnThatReads)});
  EXPECT_EQ(store->counters().ranges, before) << "as on a follower, and at a replay";
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  const auto waited_for = Apply(RequestKind::kTxn, kTxnThatReads);
  EXPECT_EQ(store->counters().ranges, before + 4) << "three of the txn, and this test's own one";
  ASSERT_TRUE(waited_for.has_value());
  const auto& txn = std::get<mvcc::TxnResult>(*waited_for);
  EXPECT_THAT(mvcc::KeysOf(std::get<mvcc::RangeResult>(txn.responses[2]).rows),
              ElementsAre("k", "t", "u"));
}

TEST_F(ApplierTest, AnAnswerPastItsBoundIsAnErrorOfAWriteThatWasDone) {
  SetBounds({.answer_bytes = 200});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(100, 'v'))), "ok");
  const std::string too_large = "grpc: trying to send message larger than max (";
  const std::string txn = Outcome(RequestKind::kTxn, kTxnThatReads);
  EXPECT_TRUE(txn.starts_with(too_large)) << txn;
  EXPECT_TRUE(txn.ends_with(" vs. 200)")) << txn;
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  const std::string large(200, 'v');
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("l", large)), "ok");
  for (const auto& [kind, body] :
       {std::pair(RequestKind::kPut, PutWithPrevKvBody("l", large)),
        std::pair(RequestKind::kDeleteRange, DeleteWithPrevKvBody("l"))}) {
    const std::string outcome = Outcome(kind, body);
    EXPECT_TRUE(outcome.starts_with(too_large)) << outcome;
  }
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, LargeAnswersReserveTheirMemoryUntilTheyAreGivenOn) {
  constexpr std::size_t kMiB = 1 << 20;
  rpc::AnswerMemory memory(8 * kMiB);
  SetBounds({.answers = &memory});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(kMiB, 'v'))), "ok");
  const raft::Entry first = Entry(RequestKind::kTxn, kTxnThatReads);
  const auto outcome = Wait(first.index);
  ApplyAll({first});
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->value.has_value()) << (*outcome)->value.error().message;
  EXPECT_GT(memory.used_bytes(), 5 * kMiB) << "three times the value, and as much to encode it";
  const std::string second = Outcome(RequestKind::kTxn, kTxnThatReads);
  EXPECT_TRUE(second.starts_with("grpc: trying to send message larger than max (")) << second;
  EXPECT_EQ(revision(), 4) << "written all the same";
  outcome->reset();
  EXPECT_EQ(memory.used_bytes(), 0U);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnThatReads), "ok");
}

// A batch has up to a thousand entries, and each may read as much as it likes.
TEST_F(ApplierTest, AnswersThatAreLargeTogetherAreGivenOutBeforeTheBatchEnds) {
  SetBounds({.answer_bytes = 10'000, .batch_bytes = 1000});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(500, 'v'))), "ok");
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 3; ++i) entries.push_back(Entry(RequestKind::kTxn, kTxnThatReads));
  std::vector<std::int64_t> seen_revisions;
  std::vector<PendingProposal> waiting;
  struct Note final : Waiter {
    Note(std::vector<std::int64_t>& to, const mvcc::Store& of) : seen(to), store(of) {}
    void Applied(ApplyResult result) override {
      ASSERT_TRUE(result.value.has_value());
      EXPECT_GE(store.revision(), std::get<mvcc::TxnResult>(*result.value).revision);
      seen.push_back(store.revision());
    }
    void Failed(const Error&) override { FAIL() << "the applier fails nobody"; }
    std::vector<std::int64_t>& seen;
    const mvcc::Store& store;
  };
  for (const raft::Entry& entry : entries) {
    waiting.push_back({.id = entry.index,
                       .deadline = {},
                       .waiter = std::make_unique<Note>(seen_revisions, *store)});
  }
  waiters_.Register(std::move(waiting));
  ApplyAll(entries);
  EXPECT_THAT(seen_revisions, ElementsAre(3, 4, 5)) << "each is published with what it changed";
}

// A put that keeps the value copies it, however small the request is.
TEST_F(ApplierTest, EntriesWaitWhileTheStoreHasNoRoomForWhatTheyWrite) {
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(1 << 20, 'v'))), "ok");
  std::string keep = PutBody("k", "");
  wire::AppendBool(keep, 5, true);
  const std::string copy = TxnBody({OpBody(2, keep)});
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(Entry(RequestKind::kTxn, copy));
  std::span<const raft::Entry> left = entries;
  const std::size_t first = applier_->Apply(left);
  EXPECT_LT(first, 80U) << "with 64 MiB in the buffer";
  EXPECT_LE(store->PendingBytes(), std::uint64_t{80} << 20);
  EXPECT_EQ(store->revision(), 2 + static_cast<std::int64_t>(first)) << "shown as far as it went";
  for (left = left.subspan(first); !left.empty(); left = left.subspan(applier_->Apply(left)))
    Settle();
  EXPECT_EQ(applier_->applied_index(), entries.back().index);
  EXPECT_EQ(revision(), 102);
}

// --- compaction --------------------------------------------------------------------------------

TEST_F(ApplierTest, ACompactionIsAnsweredAtOnceUnlessTheClientWaits) {
  for (int i = 0; i < 5; ++i) Apply(RequestKind::kPut, kPutBody);
  const auto logical = Apply(RequestKind::kCompaction, CompactBody(3));
  ASSERT_TRUE(logical.has_value());
  EXPECT_EQ(std::get<CompactionResult>(*logical).revision, 6);

  const raft::Entry entry = Entry(RequestKind::kCompaction, CompactBody(5, /*physical=*/true));
  const auto physical = Wait(entry.index);
  ApplyAll({entry});
  EXPECT_FALSE(physical->has_value());
  Settle();
  ASSERT_TRUE(physical->has_value()) << "the deletion is durable";
  EXPECT_TRUE((*physical)->value.has_value());

  const raft::Entry again = Entry(RequestKind::kCompaction, CompactBody(5, /*physical=*/true));
  const auto refused = Wait(again.index);
  ApplyAll({again});
  Settle();
  ASSERT_TRUE(refused->has_value());
  EXPECT_TRUE(FailsWith((*refused)->value, kErrCompacted));
}

TEST_F(ApplierTest, ARefusedCompactionIsAnAnswer) {
  Apply(RequestKind::kPut, kPutBody);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kCompaction, CompactBody(9)), kErrFutureRev));
  EXPECT_TRUE(
      FailsWith(Apply(RequestKind::kCompaction, CompactBody(9, /*physical=*/true)), kErrFutureRev));
  ASSERT_EQ(Outcome(RequestKind::kCompaction, CompactBody(2)), "ok");
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kCompaction, CompactBody(2)), kErrCompacted));
  EXPECT_EQ(FatalText(), "none");
}

// --- leases ------------------------------------------------------------------------------------

std::string LeasedPutBody(std::string_view key, std::int64_t lease) {
  std::string body = PutBody(key, "v");
  wire::AppendInt(body, 3, lease);
  return body;
}
std::string GrantBody(std::int64_t id, std::int64_t ttl_s) {
  return EncodeLeaseGrant({.ttl_s = ttl_s, .id = id});
}
std::string CheckpointBody(std::int64_t id, std::int64_t remaining_s) {
  const LeaseCheckpoint checkpoint{.id = id, .remaining_s = remaining_s};
  return EncodeLeaseCheckpoints({&checkpoint, 1});
}
std::string LeaseKey(std::int64_t id) {
  return std::string(lease::View(lease::EncodeLeaseKey(id)));
}

TEST_F(ApplierTest, AGrantIsStoredAndTakesNoRevision) {
  const auto value = Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  ASSERT_TRUE(value.has_value());
  const auto& granted = std::get<LeaseGrantResult>(*value);
  EXPECT_EQ(granted.id, 7);
  EXPECT_EQ(granted.ttl_s, 60);
  EXPECT_EQ(granted.revision, 1);
  EXPECT_EQ(revision(), 1);
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease),
              ElementsAre(std::pair(LeaseKey(7), lease::EncodeLease({.id = 7, .ttl_s = 60}))));
}

TEST_F(ApplierTest, AGrantThatCannotBeChangesNothing) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(7, 90)), kErrLeaseExist.message);
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, lease::kMaxTtlSeconds + 1)),
            kErrLeaseTtlTooLarge.message);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kLeaseGrant, GrantBody(0, 60)), kErrLeaseNotFound));
  EXPECT_EQ(Bucket(mvcc::Bucket::kLease).size(), 1U);
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, ARevocationDeletesAllKeysAtOneRevisionInTheirOrder) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kLeaseGrant, GrantBody(8, 60));
  for (const char* key : {"c", "a", "b"}) Apply(RequestKind::kPut, LeasedPutBody(key, 7));
  Apply(RequestKind::kPut, LeasedPutBody("d", 8));
  Apply(RequestKind::kPut, PutBody("e", "v"));
  ASSERT_EQ(revision(), 6);
  const auto value = Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7));
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(std::get<LeaseRevokeResult>(*value).revision, 7);
  EXPECT_EQ(revision(), 7);
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("d", "e"));
  Settle();
  const mvcc::Reader reader = mvcc::Ok(backend->NewReader());
  std::vector<std::string> tombstones;
  mvcc::Ok(reader->ScanRevisions(
      {.main = 7, .sub = 0}, {.main = 8, .sub = 0}, [&](const mvcc::RevisionRecord& record) {
        EXPECT_TRUE(record.tombstone);
        tombstones.emplace_back(mvcc::Ok(mvcc::DecodeKeyValue(record.value)).key);
        return true;
      }));
  EXPECT_THAT(tombstones, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), SizeIs(1));
}

TEST_F(ApplierTest, ARevocationOfALeaseWithoutKeysTakesNoRevision) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  EXPECT_EQ(revision(), 1);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), kErrLeaseNotFound));
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), IsEmpty());
}

TEST_F(ApplierTest, AKeyGoesWithTheLeaseOfItsLastPut) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kLeaseGrant, GrantBody(8, 60));
  for (const char* key : {"moved", "freed", "deleted", "stays", "kept"})
    Apply(RequestKind::kPut, LeasedPutBody(key, 7));
  Apply(RequestKind::kPut, LeasedPutBody("moved", 8));
  Apply(RequestKind::kPut, PutBody("freed", "v"));
  Apply(RequestKind::kDeleteRange, DeleteBody("deleted"));
  Apply(RequestKind::kPut, PutBody("deleted", "again"));
  std::string keeping = PutBody("kept", "w");
  wire::AppendBool(keeping, 6, true);  // ignore_lease
  Apply(RequestKind::kPut, keeping);
  Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7));
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("deleted", "freed", "moved"));
}

TEST_F(ApplierTest, ATxnAttachesAndDetaches) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kPut, LeasedPutBody("old", 7));
  ASSERT_EQ(Outcome(RequestKind::kTxn,
                    TxnBody({OpBody(2, LeasedPutBody("new", 7)), OpBody(3, DeleteBody("old"))})),
            "ok");
  EXPECT_THAT(leases_.leases->KeysOf(7), ElementsAre("new"));
}

TEST_F(ApplierTest, LeasesAndTheirKeysOutliveARestart) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kPut, LeasedPutBody("a", 7));
  Apply(RequestKind::kPut, LeasedPutBody("b", 7));
  Apply(RequestKind::kPut, PutBody("b", "free"));
  Apply(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40));
  Settle();
  Restart();
  EXPECT_THAT(leases_.leases->KeysOf(7), ElementsAre("a"));
  leases_.leases->Promote(1, Duration::zero());
  const auto times = mvcc::Ok(leases_.leases->TimeToLive(7, false));
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->ttl_s, 40);
  EXPECT_EQ(times->granted_s, 60);
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("b"));
}

TEST_F(ApplierTest, ACheckpointIsStored) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40)), "ok");
  EXPECT_EQ(Bucket(mvcc::Bucket::kLease)[LeaseKey(7)],
            lease::EncodeLease({.id = 7, .ttl_s = 60, .remaining_s = 40}));
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(9, 40)), "ok");  // it is gone
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), SizeIs(1));
}

TEST_F(ApplierTest, AlarmsRefuseLeases) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, 60)), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40)), "ok");
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, 60)), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(8)), kCorruptText);
}

TEST_F(ApplierTest, AGrantPastTheQuotaIsGrantedAndRefused) {
  SetQuota(1);
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(7, 60)), kNoSpaceText);
  EXPECT_TRUE(leases_.leases->LeaseExists(7));
}

// --- what the log may hold ---------------------------------------------------------------------

TEST_F(ApplierTest, TheStoresRefusalsAreAnswers) {
  std::string leased = kPutBody;
  wire::AppendInt(leased, 3, 99);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kPut, leased), kErrLeaseNotFound));
  std::string ignoring = PutBody("missing", "");
  wire::AppendBool(ignoring, 5, true);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kPut, ignoring), kErrKeyNotFound));
  EXPECT_TRUE(FailsWith(
      Apply(RequestKind::kTxn, TxnBody({OpBody(2, ignoring), OpBody(2, PutBody("k", "v"))})),
      kErrKeyNotFound));
  EXPECT_EQ(revision(), 1);
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, ARequestOfANewerVersionEndsTheReplica) {
  const raft::Entry good = Entry(RequestKind::kPut, PutBody("a", "1"));
  raft::Entry unknown = Entry(RequestKind::kPut, "");
  std::string bytes;
  wire::AppendBytesAlways(bytes, 1302, "");
  unknown.data = SharedBytes::Own(std::move(bytes));
  const raft::Entry behind = Entry(RequestKind::kPut, PutBody("b", "1"));
  ApplyAll({good, unknown, behind});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 2: the log holds a request of a newer version (field 1302)");
  EXPECT_EQ(applier_->applied_index(), 1);
}

TEST_F(ApplierTest, ADamagedRequestEndsTheReplica) {
  for (const RequestKind kind :
       {RequestKind::kPut, RequestKind::kDeleteRange, RequestKind::kTxn, RequestKind::kAlarm,
        RequestKind::kLeaseGrant, RequestKind::kLeaseRevoke, RequestKind::kLeaseCheckpoint,
        RequestKind::kMemberAttributesSet, RequestKind::kClusterVersionSet}) {
    fatal_.reset();
    ApplyAll({Entry(kind, "\x0a")});
    ASSERT_TRUE(fatal_.has_value()) << static_cast<int>(kind);
    EXPECT_EQ(fatal_->code, Code::kDataLoss) << fatal_->message;
  }
  fatal_.reset();
  ApplyAll({{.term = 3,
             .index = ++last_index_,
             .type = raft::EntryType::kNormal,
             .data = SharedBytes::Static("\x0a")}});
  EXPECT_EQ(FatalText(), "cannot apply log entry 10: a log entry's request is malformed");
}

TEST_F(ApplierTest, ADamagedOrJointConfigurationChangeEndsTheReplica) {
  raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.type = raft::EntryType::kConfChangeV2;
  ApplyAll({entry});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 1: joint configuration changes are not supported by this "
            "version");

  fatal_.reset();
  entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.data = SharedBytes::Own(raft::Encode(raft::ConfChange{
      .id = 1, .type = raft::ConfChangeType::kAddNode, .node_id = 7, .context = {}}));
  ApplyAll({entry});
  EXPECT_EQ(FatalText(), "cannot apply log entry 2: membership: a member's record is malformed");

  fatal_.reset();
  entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.data = SharedBytes::Own(
      raft::Encode(raft::ConfChange{.id = 1,
                                    .type = raft::ConfChangeType::kAddNode,
                                    .node_id = 8,
                                    .context = SharedBytes::Own(EncodeMemberJson(MemberSeven()))}));
  ApplyAll({entry});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 3: membership: the change is of member 8, its record of member "
            "7");
}

}  // namespace
}  // namespace kvorum::server
