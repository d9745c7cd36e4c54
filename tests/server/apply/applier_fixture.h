// An applier over a store that the test restarts, with verbs for one-line tests: entries are made
// and applied one by one, each with a waiter for its outcome.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/maintenance_encode.h"
#include "auth/auth_store.h"
#include "base/api_errors.h"
#include "base/task.h"
#include "server/apply/applier.h"
#include "server/apply/auth_applier.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/store_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {

// The store knows this one from the start; after its opening a member puts its own behind it.
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

  // A member's start over the store's recovered state.
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
            .data = EncodeInternalRequest(last_index_.value(), kind, body)};
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
    one.push_back({.id = index.value(), .deadline = {}, .waiter = std::move(waiter)});
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
  // The member's reaction when the alarm it had raised is in force.
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

inline const std::string kNoSpaceText(kErrNoSpace.message);
inline const std::string kCorruptText(kErrCorrupt.message);

inline std::string RaiseBody(AlarmType type, AlarmAction action = AlarmAction::kActivate) {
  return EncodeAlarmRequest({.action = action, .alarm = {.member = 5, .type = type}});
}
inline const std::string kPutBody = PutBody("k", "v");
inline const std::string kTxnWithPut =
    TxnBody({OpBody(3, DeleteBody("k"))}, {OpBody(2, PutBody("k", "v"))});
inline const std::string kTxnWithoutPut = TxnBody({OpBody(3, DeleteBody("k"))});
inline Member MemberSeven() {
  return {.id = 7, .peer_urls = {"http://a:1"}, .is_learner = false, .name = {}, .client_urls = {}};
}

}  // namespace kvorum::server
