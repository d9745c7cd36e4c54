// The lessor compared with a naive model, under random calls and a clock that moves irregularly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "lease/lessor.h"

namespace kvorum::lease {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMinTtl = 2;
constexpr std::int64_t kInterval = 5;  // of checkpoints, s
constexpr std::int64_t kRetry = 7;

// Every lease with its deadline, and every key with its lease, in plain maps.
struct Model {
  struct Lease {
    std::int64_t ttl_s = 0;
    std::int64_t remaining_s = 0;
    TimePoint deadline;
    bool expired = false;
    int checkpoints = 0;  // proposed and not taken back
  };
  std::map<LeaseId, Lease> leases;
  std::map<std::string, LeaseId> keys;
  bool primary = false;

  std::vector<std::string> KeysOf(LeaseId id) const {
    std::vector<std::string> result;
    for (const auto& [key, lease] : keys)
      if (lease == id) result.push_back(key);
    return result;
  }
};

class LessorPropertyTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  LessorPropertyTest()
      : rng_(GetParam()),
        lessor_({.min_ttl_s = kMinTtl,
                 .checkpoints = true,
                 .checkpoint_interval = seconds(kInterval),
                 .retry = seconds(kRetry)}) {}

  LeaseId AnyId() { return static_cast<LeaseId>(1 + rng_.Below(20)); }
  std::string AnyKey() { return "key" + std::to_string(rng_.Below(30)); }

  void Grant() {
    const LeaseId id = AnyId();
    const auto ttl_s = static_cast<std::int64_t>(rng_.Below(20));
    const Lessor::Granted granted = lessor_.Grant(id, ttl_s, now_);
    ASSERT_EQ(granted.refusal.has_value(), model_.leases.contains(id));
    if (granted.refusal.has_value()) return;
    const std::int64_t given_s = std::max(ttl_s, kMinTtl);
    ASSERT_EQ(granted.record, (LeaseRecord{.id = id, .ttl_s = given_s}));
    model_.leases[id] = {.ttl_s = given_s, .deadline = now_ + seconds(given_s)};
  }
  void Revoke() {
    const LeaseId id = AnyId();
    ASSERT_EQ(lessor_.Revoke(id), model_.leases.erase(id) == 1);
    std::erase_if(model_.keys, [&](const auto& item) { return item.second == id; });
  }
  void Attach() {
    const std::string key = AnyKey();
    const LeaseId id = rng_.OneIn(4) ? kNoLease : AnyId();
    lessor_.Attach(key, id);
    model_.keys.erase(key);
    if (model_.leases.contains(id)) model_.keys[key] = id;
  }
  void Checkpoint() {
    const LeaseId id = AnyId();
    const auto remaining_s = static_cast<std::int64_t>(rng_.Below(20)) - 1;
    const auto record = lessor_.Checkpoint(id, remaining_s);
    const auto lease = model_.leases.find(id);
    ASSERT_EQ(record.has_value(), lease != model_.leases.end());
    if (!record.has_value()) return;
    lease->second.remaining_s = remaining_s;
    ASSERT_EQ(*record,
              (LeaseRecord{.id = id, .ttl_s = lease->second.ttl_s, .remaining_s = remaining_s}));
  }
  void Promote() {
    const seconds extension(static_cast<std::int64_t>(rng_.Below(3)));
    lessor_.Promote(now_, extension);
    model_.primary = true;
    for (auto& [id, lease] : model_.leases) {
      const std::int64_t left_s =
          lease.remaining_s > 0 ? std::min(lease.remaining_s, lease.ttl_s) : lease.ttl_s;
      lease.deadline = now_ + seconds(left_s) + extension;
      lease.expired = false;
      lease.checkpoints = 0;
    }
  }
  void Demote() {
    lessor_.Demote();
    model_.primary = false;
  }
  void Renew() {
    const LeaseId id = AnyId();
    const Lessor::Renewed renewed = lessor_.Renew(id, now_);
    const auto found = model_.leases.find(id);
    Lessor::Renewal expected = Lessor::Renewal::kRenewed;
    if (!model_.primary) {
      expected = Lessor::Renewal::kNotPrimary;
    } else if (found == model_.leases.end()) {
      expected = Lessor::Renewal::kNotFound;
    } else if (found->second.expired || found->second.deadline <= now_) {
      expected = Lessor::Renewal::kExpired;
    } else if (found->second.remaining_s > 0 || found->second.checkpoints > 0) {
      expected = Lessor::Renewal::kNeedsCheckpoint;
    }
    ASSERT_EQ(renewed.outcome, expected);
    if (expected != Lessor::Renewal::kRenewed) return;
    ASSERT_EQ(renewed.ttl_s, found->second.ttl_s);
    found->second.deadline = now_ + seconds(found->second.ttl_s);
  }
  void Expire() {
    const std::size_t limit = 1 + rng_.Below(5);
    const std::vector<LeaseId> taken = lessor_.TakeExpired(now_, limit);
    std::multiset<TimePoint> due;
    for (const auto& [id, lease] : model_.leases)
      if (model_.primary && lease.deadline <= now_) due.insert(lease.deadline);
    ASSERT_EQ(taken.size(), std::min(limit, due.size()));
    for (const LeaseId id : taken) {
      Model::Lease& lease = model_.leases.at(id);
      ASSERT_EQ(lease.deadline, *due.begin()) << "not the earliest";
      due.erase(due.begin());
      lease.expired = true;
      lease.deadline = now_ + seconds(kRetry);
    }
  }
  void Retry() {
    const LeaseId id = AnyId();
    const TimePoint when = now_ + milliseconds(rng_.Below(1000));
    lessor_.RetryExpired(id, when);
    const auto found = model_.leases.find(id);
    if (model_.primary && found != model_.leases.end() && found->second.expired)
      found->second.deadline = when;
  }
  // The lessor decides which ones are due; its data about them must be right.
  void TakeCheckpoints() {
    std::set<LeaseId> seen;
    for (const LeaseRecord& record : lessor_.TakeCheckpoints(now_, 1 + rng_.Below(5))) {
      ASSERT_TRUE(model_.primary);
      Model::Lease& lease = model_.leases.at(record.id);
      ASSERT_FALSE(lease.expired);
      ASSERT_GT(lease.ttl_s, kInterval);
      ASSERT_LT(record.remaining_s, lease.ttl_s);
      const Duration left = lease.deadline - now_;
      ASSERT_GE(seconds(record.remaining_s), left) << "a lease is made shorter";
      ASSERT_LT(seconds(record.remaining_s - 1), left);
      ++lease.checkpoints;
    }
  }
  // A number that was pending at some time: only the last one means that none is.
  void TakeBack() {
    const LeaseId id = AnyId();
    const std::uint32_t pending = lessor_.PendingCheckpoint(id);
    const auto found = model_.leases.find(id);
    if (model_.primary) {
      ASSERT_EQ(pending != 0, found != model_.leases.end() && found->second.checkpoints > 0);
    }
    if (rng_.OneIn(2)) return lessor_.CheckpointTakenBack(id, pending - 1);
    lessor_.CheckpointTakenBack(id, pending);
    if (found != model_.leases.end()) found->second.checkpoints = 0;
  }

  void Compare() {
    lessor_.CheckInvariants();
    ASSERT_EQ(lessor_.table().size(), model_.leases.size());
    ASSERT_EQ(lessor_.table().attached_keys(), model_.keys.size());
    std::map<LeaseId, TimePoint> listed;
    std::vector<Lessor::Listed> all;
    for (std::size_t part = 0; part < LeaseTable::kParts; ++part) lessor_.List(part, all);
    for (const Lessor::Listed& each : all) listed[each.id] = each.deadline;
    ASSERT_EQ(all.size(), model_.leases.size());
    ASSERT_EQ(listed.size(), model_.leases.size());
    for (const auto& [id, lease] : model_.leases) {
      ASSERT_EQ(LeaseTable::KeysOf(*lessor_.table().Find(id)), model_.KeysOf(id));
      if (!model_.primary) continue;
      ASSERT_EQ(listed.at(id), lease.deadline);
      const auto left = lessor_.TimeToLive(id, now_);
      ASSERT_TRUE(left.has_value());
      ASSERT_EQ(left->granted_s, lease.ttl_s);
      const std::int64_t expected =
          lease.expired ? 0 : std::max<std::int64_t>(0, (lease.deadline - now_) / seconds(1));
      ASSERT_EQ(left->ttl_s, expected);
    }
    for (const auto& [key, id] : model_.keys) ASSERT_EQ(lessor_.table().LeaseOf(key), id);
  }

  Rng rng_;
  TimePoint now_{1'000'000'000};
  Lessor lessor_;
  Model model_;
};

TEST_P(LessorPropertyTest, TheLessorDoesWhatTheModelDoes) {
  for (int step = 0; step < 3000; ++step) {
    switch (rng_.Below(14)) {
      case 0:
      case 1:
        Grant();
        break;
      case 2:
        if (rng_.OneIn(2)) Revoke();
        break;
      case 3:
      case 4:
        Attach();
        break;
      case 5:
        if (rng_.OneIn(4)) Checkpoint();
        if (rng_.OneIn(4)) TakeBack();
        break;
      case 6:
        if (rng_.OneIn(4)) rng_.OneIn(3) ? Demote() : Promote();
        break;
      case 7:
      case 8:
        Renew();
        break;
      case 9:
        Expire();
        break;
      case 10:
        Retry();
        break;
      case 11:
        TakeCheckpoints();
        break;
      default:
        now_ = now_ + milliseconds(rng_.Below(rng_.OneIn(10) ? 8000 : 700));
    }
    if (testing::Test::HasFatalFailure()) return;
    if (step % 7 == 0) Compare();
    if (testing::Test::HasFatalFailure()) return;
  }
  Compare();
}

INSTANTIATE_TEST_SUITE_P(Seeds, LessorPropertyTest, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace kvorum::lease
