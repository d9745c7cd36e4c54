#include "server/integrity/replica_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/majority.h"
#include "mvcc/store/store.h"
#include "server/call/cluster_header.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/replica/drive/replica.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kCompareInterval = std::chrono::seconds(2);
constexpr Duration kAnswerTimeout = std::chrono::seconds(1);
// Between two passes while there are writes, and while there are none.
constexpr Duration kBusyPause = std::chrono::seconds(1);
constexpr Duration kIdlePause = std::chrono::seconds(20);
// The pause before another attempt, while a compaction runs or no reader's place is free.
constexpr Duration kRetry = std::chrono::milliseconds(200);
constexpr std::uint64_t kRecordsAStep = 1000;
constexpr Duration kWork = std::chrono::milliseconds(5);
// A pause is this many times as long as the work before it: a twentieth of a processor, up to a
// fifth for a pass that would take longer than kBusyPass while there are writes, and half of one
// for the first pass, before which there is nothing to compare.
constexpr std::int64_t kPauseFactor = 19;
constexpr std::int64_t kLeastPauseFactor = 4;
constexpr std::int64_t kFirstPauseFactor = 1;
constexpr Duration kBusyPass = std::chrono::milliseconds(1500);
constexpr Duration kTransferLimit = std::chrono::milliseconds(500);

std::string AllPoints() {
  return std::string(kHistoryPath) + "?points=" + std::to_string(mvcc::HistorySum::kMaxPoints);
}

}  // namespace

std::optional<ReplicaCheckAction> ParseReplicaCheckAction(std::string_view text) {
  if (text == "off") return ReplicaCheckAction::kOff;
  if (text == "report") return ReplicaCheckAction::kReport;
  if (text == "alarm") return ReplicaCheckAction::kAlarm;
  if (text == "quarantine") return ReplicaCheckAction::kQuarantine;
  return std::nullopt;
}

ReplicaCheck::ReplicaCheck(Executor& executor, Proposer& proposer, const Reads& reads,
                           PeerRequester& peers, Quarantine& quarantine, ReplicaCheckAction action)
    : executor_(executor),
      proposer_(proposer),
      reads_(reads),
      peers_(peers),
      quarantine_(quarantine),
      action_(action) {}

void ReplicaCheck::Start() {
  epoch_ = reads_.store.history_sum().epoch();
  if (action_ != ReplicaCheckAction::kOff) executor_.Post([this] { Read(); });
  executor_.PostAt(executor_.clock().Now() + kCompareInterval, [this] { CompareInTurn(); });
}

// ---- reading the own database ----

void ReplicaCheck::ReadLater(Duration pause) {
  executor_.PostAt(executor_.clock().Now() + pause, [this] { Read(); });
}

void ReplicaCheck::Read() {
  if (scan_ == nullptr) {
    if (MayIdle()) return ReadLater(kBusyPause);
    pause_factor_ = PauseFactor();
    worked_ = Duration::zero();
    scan_ = std::make_unique<mvcc::HistoryScan>(reads_.store);
  }
  const TimePoint start = executor_.clock().Now();
  Duration worked{};
  do {
    const auto progress = scan_->Step(kRecordsAStep);
    if (!progress.has_value()) {
      if (progress.error().code == Code::kDataLoss) {
        OnDamage(progress.error().message);
        scan_.reset();
      }
      return ReadLater(kBusyPause);
    }
    worked = executor_.clock().Now() - start;
    if (*progress == mvcc::HistoryScan::Progress::kMustWait) {
      worked_ += worked;
      return ReadLater(kRetry);
    }
    if (*progress == mvcc::HistoryScan::Progress::kDone) {
      worked_ += worked;
      return EndPass();
    }
  } while (worked < kWork);
  worked_ += worked;
  // Work that took longer has waited for a processor.
  ReadLater(std::min(worked, 2 * kWork) * pause_factor_);
}

// By the work of the pass before.
std::int64_t ReplicaCheck::PauseFactor() const {
  if (last_pass_revision_ < 0) return kFirstPauseFactor;
  if (reads_.store.history_sum().durable_revision() == last_pass_revision_) return kPauseFactor;
  const std::int64_t fits = kBusyPass / std::max(worked_, Duration(1)) - 1;
  return std::clamp(fits, kLeastPauseFactor, kPauseFactor);
}

void ReplicaCheck::EndPass() {
  const auto [outcome, revision] = reads_.store.history_sum().EndPass();
  counters_.passes.Add();
  counters_.records.Add(scan_->records());
  scan_.reset();
  switch (outcome) {
    case mvcc::HistorySum::Outcome::kOvertaken:
      return ReadLater(kRetry);
    case mvcc::HistorySum::Outcome::kDiffers:
      OnDamage("the database does not hold the records up to revision " + std::to_string(revision) +
               " that this member has written");
      break;
    case mvcc::HistorySum::Outcome::kFirst:
    case mvcc::HistorySum::Outcome::kEqual:
      break;
  }
  last_pass_revision_ = revision;
  idle_until_ = executor_.clock().Now() + kIdlePause;
  ReadLater(kBusyPause);
}

// A database without writes needs no pass every two seconds.
bool ReplicaCheck::MayIdle() const {
  return executor_.clock().Now() < idle_until_ &&
         reads_.store.history_sum().durable_revision() == last_pass_revision_;
}

void ReplicaCheck::OnDamage(const std::string& what) {
  counters_.is_damaged = true;
  quarantine_.SetDamaged(true);
  if (damage_.has_value()) return;
  damage_ = what;
  KV_ERROR("this member's database is damaged", {"error", what});
  executor_.Post([this] { CompareWithOthers(); });
}

// ---- comparing with the others ----

bool ReplicaCheck::NoticeNewContent() {
  const std::uint64_t epoch = reads_.store.history_sum().epoch();
  if (std::exchange(epoch_, epoch) == epoch) return false;
  damage_.reset();
  counters_.is_damaged = false;
  quarantine_.SetDamaged(false);
  last_pass_revision_ = -1;
  quarantine_.End();
  return true;
}

std::vector<MemberHistory> ReplicaCheck::AskOthers(const MembershipView& members,
                                                   std::string_view path) {
  std::vector<std::string> urls;
  for (const auto& [id, member] : members.members) {
    if (id != reads_.cluster.member_id)
      urls.insert(urls.end(), member.peer_urls.begin(), member.peer_urls.end());
  }
  std::vector<MemberHistory> histories;
  const std::uint64_t cluster = reads_.cluster.cluster_id;
  peers_.AskEach({.method = "GET", .path = path, .headers = ClusterIdLine(cluster), .body = {}},
                 urls, kAnswerTimeout, [&](const std::string&, Result<PeerAnswer> answer) {
                   if (!answer.has_value() || answer->status != 200) return false;
                   if (IsOtherCluster(answer->cluster_id, cluster)) return false;
                   auto history = DecodeHistoryJson(answer->body);
                   if (!history.has_value()) return false;
                   const bool is_known =
                       history->member == reads_.cluster.member_id ||
                       !members.members.contains(history->member) ||
                       std::ranges::find(histories, history->member, &MemberHistory::member) !=
                           histories.end();
                   if (!is_known) histories.push_back(*std::move(history));
                   return histories.size() + 1 == members.members.size();
                 });
  return histories;
}

void ReplicaCheck::CompareInTurn() {
  CompareWithOthers();
  executor_.PostAt(executor_.clock().Now() + kCompareInterval, [this] { CompareInTurn(); });
}

void ReplicaCheck::CompareWithOthers() {
  NoticeNewContent();
  const auto members = reads_.cluster.membership.View();
  const auto must_hand_over = [this] {
    return quarantine_.stands() && reads_.cluster.replica.leader() == reads_.cluster.member_id;
  };
  if (members->members.size() == 1) return;
  if (action_ == ReplicaCheckAction::kOff && !must_hand_over()) return;
  std::vector<MemberHistory> all = AskOthers(*members, kHistoryPath);
  if (NoticeNewContent()) return;  // while they were asked about the one before
  if (action_ != ReplicaCheckAction::kOff) {
    const bool may_act = MajorityServesBeside(all, members->members.size());
    std::set<std::int64_t> asked;
    for (const MemberHistory& other : all) {
      for (const auto& point : other.history.points) asked.insert(point.revision);
    }
    MemberHistory own{.member = reads_.cluster.member_id,
                      .serves = !quarantine_.stands(),
                      .history = reads_.store.history_sum().Newest(mvcc::HistorySum::kMaxPoints)};
    std::erase_if(own.history.points,
                  [&](const auto& point) { return !asked.contains(point.revision); });
    all.push_back(std::move(own));
    const Comparison comparison = Compare(all, members->members.size());
    Judge(comparison, all);
    const bool is_diverged = std::ranges::find(comparison.diverged, reads_.cluster.member_id) !=
                             comparison.diverged.end();
    if (may_act && damage_.has_value()) Act(*damage_);
    if (may_act && is_diverged)
      Act("other records than a majority up to revision " + std::to_string(comparison.revision));
  }
  if (must_hand_over()) HandOver(*members, all);
}

// Not to one in quarantine, which would only hand it back. A member of another program does not
// say.
void ReplicaCheck::HandOver(const MembershipView& members, const std::vector<MemberHistory>& all) {
  std::vector<raft::MemberId> able;
  for (const auto& [id, member] : members.members) {
    const auto said = std::ranges::find(all, id, &MemberHistory::member);
    if (said == all.end() || said->serves) able.push_back(id);
  }
  reads_.cluster.replica.GiveUpLeadershipTo(std::move(able), kTransferLimit, [] {});
}

bool ReplicaCheck::MajorityServesBeside(const std::vector<MemberHistory>& others,
                                        std::size_t size) const {
  const auto serving = std::ranges::count_if(others, &MemberHistory::serves);
  return static_cast<std::size_t>(serving) >= Majority(size);
}

void ReplicaCheck::Judge(const Comparison& comparison, const std::vector<MemberHistory>& all) {
  using enum Comparison::Verdict;
  counters_.compared = comparison.compared;
  if (comparison.verdict == kNothing) return;
  counters_.agrees = comparison.verdict == kEqual;
  if (comparison.verdict == kEqual) {
    counters_.revision = comparison.revision;
    reported_.clear();
    return;
  }
  // kNone stands for members of which it is unknown which are right.
  std::vector<raft::MemberId> now =
      comparison.verdict == kMinority ? comparison.diverged : std::vector{raft::kNone};
  if (std::exchange(reported_, now) == now) return;
  Report(comparison, all);
  if (comparison.verdict == kNoMajority && action_ == ReplicaCheckAction::kAlarm)
    ClusterHashes(proposer_, reads_, peers_).RaiseAlarm(raft::kNone);
}

// With the revisions between which the difference came about, as far back as members remember.
void ReplicaCheck::Report(const Comparison& comparison, const std::vector<MemberHistory>& all) {
  std::string ids;
  for (const raft::MemberId id : comparison.diverged)
    ids.append(ids.empty() ? "" : ",").append(IdText(id));
  std::vector<MemberHistory> far = AskOthers(*reads_.cluster.membership.View(), AllPoints());
  const mvcc::HistorySum::History own =
      reads_.store.history_sum().Newest(mvcc::HistorySum::kMaxPoints);
  std::optional<DivergenceRange> range;
  for (const MemberHistory& other : far) {
    if (!range.has_value()) range = FindDivergence(own, other.history);
  }
  KV_ERROR(
      "members hold different keys", {"diverged-members", ids.empty() ? "unknown" : ids},
      {"members-compared", all.size()}, {"revision", comparison.revision},
      {"compact-revision", comparison.compact_revision},
      {"last-equal-revision", range.has_value() ? range->equal_at.value_or(-1) : -1},
      {"first-different-revision", range.has_value() ? range->differ_at : comparison.revision});
}

void ReplicaCheck::Act(const std::string& reason) {
  switch (action_) {
    case ReplicaCheckAction::kOff:
    case ReplicaCheckAction::kReport:
      return;
    case ReplicaCheckAction::kAlarm:
      if (!reads_.cluster.alarms.Stands(
              {.member = reads_.cluster.member_id, .type = AlarmType::kCorrupt}))
        ClusterHashes(proposer_, reads_, peers_).RaiseAlarm(reads_.cluster.member_id);
      return;
    case ReplicaCheckAction::kQuarantine:
      return quarantine_.Begin(reason);
  }
}

}  // namespace kvorum::server
