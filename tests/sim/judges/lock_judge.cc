#include "tests/sim/judges/lock_judge.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"
#include "base/check.h"
#include "proto/election.pb.h"
#include "proto/lock.pb.h"

namespace kvorum::sim {
namespace {

template <class Response>
Response Parse(std::string_view bytes) {
  Response response;
  KV_CHECK(response.ParseFromString(std::string(bytes)), "a service gave out what is no answer");
  return response;
}

}  // namespace

bool LockJudge::IsTimely(const Asked& asked, std::int64_t revision) {
  if (asked.revision <= revision && revision <= events_.last_revision()) return true;
  world_.Fail("{}: answered with revision {}, and {} to {} were the newest meanwhile", asked.key(),
              revision, asked.revision, events_.last_revision());
  return false;
}

const QueueHistory::Place* LockJudge::PlaceAt(const Asked& asked, std::int64_t revision) {
  const Places& places = queues_.At(asked.name, revision);
  const auto found = places.find(asked.key());
  return found == places.end() ? nullptr : &found->second;
}

void LockJudge::CheckRefusal(const Asked& asked, const Error& error) {
  if (error.message == kErrLeaseNotFound.message && !ledger_.IsGone(asked.lease))
    return world_.Fail("{}: told that its lease is gone, and it is not", asked.key());
  if (error.message != kErrSessionExpired.message && error.message != kErrElectionNotLeader.message)
    return;
  world_.faults.Add(Fault::kLockLost);
  const std::string key = asked.key();
  bool was_deleted = false;
  for (std::int64_t at = asked.revision + 1; at <= events_.last_revision(); ++at) {
    was_deleted |= std::ranges::any_of(events_.At(at), [&](const PublishedEvent& event) {
      return event.is_delete && event.key == key;
    });
  }
  if (!was_deleted) world_.Fail("{}: told that its place is lost, and nobody deleted it", key);
}

// ---- locks ----

void LockJudge::Locked(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) return CheckRefusal(asked, answer.error());
  const auto locked = Parse<v3lockpb::LockResponse>(*answer);
  if (locked.key() != asked.key())
    return world_.Fail("{}: granted the key {}", asked.key(), locked.key());
  const std::int64_t revision = locked.header().revision();
  if (!IsTimely(asked, revision)) return;
  const auto* front = QueueHistory::FrontOf(queues_.At(asked.name, revision));
  if (front == nullptr || front->first != asked.key()) {
    return world_.Fail("{} is granted at revision {}, and {} is at the front", asked.key(),
                       revision, front == nullptr ? "nobody" : front->first);
  }
  if (front->second.lease != asked.lease)
    return world_.Fail("{} is granted, and hangs on lease {:x}", asked.key(), front->second.lease);
  world_.faults.Add(Fault::kLockGranted);
  Granted(asked, revision);
}

// Counts who has waited, and for what.
void LockJudge::Granted(const Asked& asked, std::int64_t revision) {
  const std::int64_t since = queues_.FrontSince(asked.name, revision);
  if (since <= asked.revision || PlaceAt(asked, since)->created == since) return;
  world_.faults.Add(Fault::kLockWaited);
  if (events_.ends_of_leases().contains(since)) world_.faults.Add(Fault::kLockInherited);
}

void LockJudge::Unlocked(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) return;
  const std::int64_t revision = Parse<v3lockpb::UnlockResponse>(*answer).header().revision();
  if (IsTimely(asked, revision) && PlaceAt(asked, revision) != nullptr)
    world_.Fail("{} is unlocked at revision {}, and still there", asked.key(), revision);
}

// ---- elections ----

// The header of an election's answer is that of the candidate's entry.
std::int64_t LockJudge::Elected(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) {
    CheckRefusal(asked, answer.error());
    return 0;
  }
  const auto elected = Parse<v3electionpb::CampaignResponse>(*answer);
  const auto& leader = elected.leader();
  if (leader.name() != asked.name || leader.key() != asked.key() || leader.lease() != asked.lease)
    world_.Fail("{}: elected as {}", asked.key(), leader.ShortDebugString());
  const std::int64_t from = elected.header().revision();
  if (!IsTimely(asked, from)) return 0;
  const auto is_own = [&](const Places::value_type& place) {
    return place.first == asked.key() && place.second.created == leader.rev() &&
           place.second.lease == asked.lease;
  };
  std::int64_t led = 0;
  for (std::int64_t at = from; at <= events_.last_revision() && led == 0; ++at) {
    const auto* front = QueueHistory::FrontOf(queues_.At(asked.name, at));
    if (front != nullptr && is_own(*front)) led = at;
  }
  if (led == 0) {
    world_.Fail("{} of revision {} is elected, and not at the front between {} and {}", asked.key(),
                leader.rev(), from, events_.last_revision());
    return 0;
  }
  const bool had_value =
      queues_.Was(asked.name, from, events_.last_revision(), [&](const Places& places) {
        const auto found = places.find(asked.key());
        return found != places.end() && found->second.value == asked.value;
      });
  if (!had_value) world_.Fail("{} is elected without its value", asked.key());
  world_.faults.Add(Fault::kElected);
  Granted(asked, led);
  return leader.rev();
}

void LockJudge::Proclaimed(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) {
    if (answer.error().message != kErrElectionNotLeader.message) return;
    world_.faults.Add(Fault::kElectionLost);
    const auto* place = PlaceAt(asked, events_.last_revision());
    if (place != nullptr && place->created == asked.created)
      world_.Fail("{}: told that it does not lead, and its key is still there", asked.key());
    return;
  }
  const std::int64_t revision = Parse<v3electionpb::ProclaimResponse>(*answer).header().revision();
  if (!IsTimely(asked, revision)) return;
  const auto* place = PlaceAt(asked, revision);
  if (place == nullptr || place->created != asked.created || place->mod != revision ||
      place->value != asked.value || place->lease != asked.lease) {
    world_.Fail("{} has proclaimed {}, and revision {} did not do it", asked.key(), asked.value,
                revision);
  }
  world_.faults.Add(Fault::kProclaimed);
}

void LockJudge::Resigned(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) return;
  const std::int64_t revision = Parse<v3electionpb::ResignResponse>(*answer).header().revision();
  if (!IsTimely(asked, revision)) return;
  const auto* place = PlaceAt(asked, revision);
  if (place != nullptr && place->created == asked.created)
    world_.Fail("{} has resigned at revision {}, and is still there", asked.key(), revision);
  world_.faults.Add(Fault::kResigned);
}

void LockJudge::LeaderTold(const Asked& asked, const Answer& answer) {
  if (!answer.has_value()) {
    if (answer.error().message != kErrElectionNoLeader.message) return;
    const bool was_empty = queues_.Was(asked.name, asked.revision, events_.last_revision(),
                                       [](const Places& places) { return places.empty(); });
    if (!was_empty) world_.Fail("{}: told that nobody leads, and somebody does", asked.name);
    return;
  }
  const auto told = Parse<v3electionpb::LeaderResponse>(*answer);
  if (!IsTimely(asked, told.header().revision())) return;
  Observed none;
  LeaderSeen(asked.name, none, *answer);
  world_.faults.Add(Fault::kLeaderTold);
}

void LockJudge::LeaderSeen(const std::string& name, Observed& before, std::string_view message) {
  const auto told = Parse<v3electionpb::LeaderResponse>(message);
  const Observed now{.revision = told.header().revision(),
                     .created = told.kv().create_revision(),
                     .mod = told.kv().mod_revision()};
  world_.Note("{}: {} leads since revision {}, says revision {} at {}", name, told.kv().key(),
              now.created, now.mod, now.revision);
  if (now.revision > events_.last_revision() || now.mod > now.revision)
    return world_.Fail("{}: told of revision {} before it is published", name, now.revision);
  const auto* front = QueueHistory::FrontOf(queues_.At(name, now.revision));
  if (front == nullptr || front->first != told.kv().key() || front->second.created != now.created ||
      front->second.mod != now.mod || front->second.value != told.kv().value()) {
    return world_.Fail("{}: {} of revision {} is told to lead at {}, and {} does", name,
                       told.kv().key(), now.created, now.revision,
                       front == nullptr ? "nobody" : front->first);
  }
  const Observed last = std::exchange(before, now);
  if (now.revision < last.revision || now.created < last.created ||
      (now.created == last.created && now.mod < last.mod)) {
    return world_.Fail("{}: told of revision {} of leader {} behind {} of {}", name, now.mod,
                       now.created, last.mod, last.created);
  }
  if (now.created != last.created) return;
  // The same leader again: nothing that it proclaimed between the two is missing, unless a
  // compaction overtook the observer. It then looks the leader up as it is by now, at a later
  // revision than the leader's own.
  if (events_.compacted() > last.revision && now.revision != now.mod) return;
  for (std::int64_t at = std::max(last.mod, events_.compacted()) + 1; at < now.mod; ++at) {
    const auto* leader = QueueHistory::FrontOf(queues_.At(name, at));
    if (leader == nullptr || leader->second.created != now.created || leader->second.mod != at)
      continue;
    return world_.Fail("{}: not told of what {} proclaimed at revision {}", name, leader->first,
                       at);
  }
}

}  // namespace kvorum::sim
