// Finds out that this member's keys are not those of the cluster, all the time.
//
// It reads the database through, again and again in short steps, and compares what is there with
// the incremental hash (mvcc/store/history_sum.h): a record that was changed or lost on this disk
// shows without anybody else. And it compares the incremental hash with the other members', at
// revisions and compactions that they have in common: a member that applied something else, or came
// back with another database, is in the minority. Members that do not know the question (etcd's)
// are left out.
//
// A member that finds itself wrong acts on itself alone, and only while a majority beside it
// serves: even a faulty check never takes a cluster down.
//
// Runs on the executor, which it blocks while it asks. The owner stops the executor, then destroys
// this. The counters are for any thread. Bounds: a twentieth of a processor, up to a fifth for
// large databases that are written to, half of one for the first pass; a question to each member
// every two seconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metric.h"
#include "base/task.h"
#include "mvcc/store/history_scan.h"
#include "server/call/quarantine.h"
#include "server/integrity/cluster_hashes.h"
#include "server/integrity/divergence.h"

namespace kvorum::server {

// --replica-check
enum class ReplicaCheckAction : std::uint8_t {
  kOff,
  kReport,      // log lines and metrics
  kAlarm,       // the CORRUPT alarm, which makes the cluster refuse writes
  kQuarantine,  // this member serves no keys
};
std::optional<ReplicaCheckAction> ParseReplicaCheckAction(std::string_view text);

class ReplicaCheck {
 public:
  ReplicaCheck(Executor& executor, Proposer& proposer, const Reads& reads, PeerRequester& peers,
               Quarantine& quarantine, ReplicaCheckAction action);
  void Start();

  struct Counters {
    std::atomic<bool> agrees{true};         // no member is known to differ
    std::atomic<std::size_t> compared{0};   // members in the last comparison, this one too
    std::atomic<std::int64_t> revision{0};  // where they were equal last
    std::atomic<bool> is_damaged{false};    // this member's database is wrong in itself
    Counter passes;
    Counter records;
  };
  const Counters& counters() const { return counters_; }

 private:
  // ---- reading the own database ----
  void Read();
  void ReadLater(Duration pause);
  std::int64_t PauseFactor() const;
  void EndPass();
  bool MayIdle() const;
  void OnDamage(const std::string& what);

  // ---- comparing with the others ----
  void CompareInTurn();
  void CompareWithOthers();
  std::vector<MemberHistory> AskOthers(const MembershipView& members, std::string_view path);
  void Judge(const Comparison& comparison, const std::vector<MemberHistory>& all);
  void Report(const Comparison& comparison, const std::vector<MemberHistory>& all);
  bool MajorityServesBeside(const std::vector<MemberHistory>& others, std::size_t size) const;
  // Returns true if the content is another one since the last call.
  bool NoticeNewContent();
  void Act(const std::string& reason);
  void HandOver(const MembershipView& members, const std::vector<MemberHistory>& all);

  Executor& executor_;
  Proposer& proposer_;
  const Reads& reads_;
  PeerRequester& peers_;
  Quarantine& quarantine_;
  const ReplicaCheckAction action_;
  std::unique_ptr<mvcc::HistoryScan> scan_;
  std::uint64_t epoch_ = 0;            // of the content that the following are about
  std::optional<std::string> damage_;  // found in it
  std::int64_t last_pass_revision_ = -1;
  std::int64_t pause_factor_ = 1;
  Duration worked_{};  // in the current pass, or in the last one
  TimePoint idle_until_;
  std::vector<raft::MemberId> reported_;  // as diverged
  Counters counters_;
};

}  // namespace kvorum::server
