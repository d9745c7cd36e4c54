// Small members that check each other as processes do: each has its quarantine, its check and its
// way to be re-seeded. Their questions go to the others' peer ports, over the links of the network,
// unless a test answers them.
#pragma once

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/history_json.h"
#include "api/member_id.h"
#include "base/check.h"
#include "server/call/quarantine.h"
#include "server/call/request_batcher.h"
#include "server/integrity/replica_check.h"
#include "server/services/maintenance/reseed.h"
#include "tests/disk/memory_backend.h"
#include "tests/server/member_parts.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {

class CheckedCluster {
 public:
  // The answer of a test in the place of the one that is asked; nothing: that one answers.
  using Script = std::function<std::optional<Result<PeerAnswer>>(std::size_t from, std::size_t to,
                                                                 std::string_view path)>;

  explicit CheckedCluster(std::uint64_t seed,
                          ReplicaCheckAction action = ReplicaCheckAction::kQuarantine,
                          std::size_t size = 3)
      : action_(action), cluster_(size, seed), processes_(size) {}
  ~CheckedCluster() {
    for (std::size_t i = 0; i < processes_.size(); ++i) Kill(i);
  }
  CheckedCluster(const CheckedCluster&) = delete;
  CheckedCluster& operator=(const CheckedCluster&) = delete;

  // All of them, until they follow one leader.
  void StartAll() {
    for (std::size_t i = 0; i < processes_.size(); ++i) Start(i);
    KV_CHECK(cluster_.WaitForLeader().has_value(), "no leader");
  }
  void Start(std::size_t i) {
    Kill(i);
    const auto started = cluster_.Start(i);
    KV_CHECK(started.has_value(), "a member does not start");
    processes_[i] = std::make_unique<Process>(*this, i);
    KV_CHECK(processes_[i]->quarantine.Load().has_value(), "the quarantine's file");
    processes_[i]->check.Start();
  }
  void Kill(std::size_t i) {
    processes_[i].reset();
    cluster_.Kill(i);
  }

  SmallCluster& members() { return cluster_; }
  void SetScript(Script script) { script_ = std::move(script); }
  bool RunUntil(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60)) {
    return cluster_.RunUntil(condition, limit);
  }
  void RunFor(Duration duration) { cluster_.RunFor(duration); }
  std::size_t leader() { return *cluster_.WaitForLeader(); }
  // Returns a member that follows.
  std::size_t follower() { return (leader() + 1) % processes_.size(); }

  bool is_out(std::size_t i) const { return processes_[i]->quarantine.stands(); }
  std::size_t outs() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        processes_, [](const auto& each) { return each != nullptr && each->quarantine.stands(); }));
  }
  const ReplicaCheck::Counters& counters(std::size_t i) const {
    return processes_[i]->check.counters();
  }
  ServiceParts& parts(std::size_t i) { return processes_[i]->parts.services; }

  void Put(const std::string& key, const std::string& value) {
    const auto put = cluster_.Propose(leader(), RequestKind::kPut, PutBody(key, value));
    KV_CHECK(put.has_value(), "a put fails");
  }
  // Durable on all that are up, so that all can compare it.
  void PutDurably(const std::string& key, const std::string& value) {
    Put(key, value);
    KV_CHECK(cluster_.CatchUp(), "a member does not catch up");
    Flush();
  }
  void Flush() {
    std::size_t waits = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (!cluster_.is_up(i)) continue;
      ++waits;
      cluster_.member(i).store().Flush([&waits] { --waits; });
    }
    KV_CHECK(RunUntil([&] { return waits == 0; }), "a backend does not commit");
  }
  // In the database of a member that runs.
  void Spoil(std::size_t i, const std::string& key, mvcc::SpoilKind kind) {
    const auto spoiled = SpoilNewest(cluster_.backend(i), key, kind);
    KV_CHECK(spoiled.has_value() && *spoiled, "nothing to be spoiled");
  }
  void SpoilWhileDown(std::size_t i, const std::string& key, mvcc::SpoilKind kind) {
    Kill(i);
    const auto backend = mvcc::OpenMemoryBackend(cluster_.disk(i), SmallMember::kDatabase);
    KV_CHECK(backend.has_value(), "the database cannot be opened");
    const auto spoiled = SpoilNewest(**backend, key, kind);
    KV_CHECK(spoiled.has_value() && *spoiled, "nothing to be spoiled");
  }

  // The outcome comes once it is there.
  using Outcome = std::shared_ptr<std::optional<Result<void>>>;
  Outcome Reseed(std::size_t i, Duration limit = std::chrono::minutes(10)) {
    auto outcome = std::make_shared<std::optional<Result<void>>>();
    processes_[i]->reseeder.Reseed(cluster_.scheduler().clock().Now() + limit,
                                   [outcome](Result<void> done) { *outcome = std::move(done); });
    return outcome;
  }
  bool Ends(const Outcome& outcome, Duration limit = std::chrono::minutes(2)) {
    return RunUntil([&] { return outcome->has_value(); }, limit);
  }
  // The number of times that a member has asked to be re-seeded.
  std::size_t reseeds_asked() const { return reseeds_asked_; }

  // A member's answer to the question for its history, as its peer port gives it.
  MemberHistory HistoryOf(std::size_t i) const {
    const Reads& of = processes_[i]->parts.services.reads;
    return {.member = of.cluster.member_id,
            .serves = !processes_[i]->quarantine.stands(),
            .history = of.store.history_sum().Newest(mvcc::HistorySum::kMaxPoints)};
  }
  static PeerAnswer Telling(const MemberHistory& history) {
    return {.status = 200, .cluster_id = {}, .body = EncodeHistoryJson(history)};
  }

 private:
  class PeerPort final : public PeerRequester {
   public:
    PeerPort(CheckedCluster& cluster, std::size_t number) : cluster_(cluster), number_(number) {}
    using PeerRequester::Ask;
    void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view path,
                Duration, const Take& take) override {
      for (const std::string& url : urls) {
        if (take(url, cluster_.Answer(number_, NumberOf(url), path))) return;
      }
    }
    void AskEach(const PeerQuestion& question, const std::vector<std::string>& urls,
                 Duration timeout, const Take& take) override {
      CheckNamesCluster(question);
      AskAll(question.method, urls, question.path, timeout, take);
    }
    Result<PeerAnswer> Ask(const PeerQuestion& question, const std::string& url,
                           Duration) override {
      CheckNamesCluster(question);
      return cluster_.Answer(number_, NumberOf(url), question.path);
    }
    std::string Resolve(const std::string& url) override { return url; }

   private:
    void CheckNamesCluster(const PeerQuestion& question) const {
      const std::string id =
          IdText(cluster_.processes_[number_]->parts.services.cluster.cluster_id);
      KV_CHECK(question.headers == "X-Etcd-Cluster-Id: " + id + "\r\n", "no cluster's id");
    }
    static std::size_t NumberOf(std::string_view url) {
      constexpr std::string_view kBegin = "http://10.0.0.";
      std::size_t number = 0;
      std::from_chars(url.data() + kBegin.size(), url.data() + url.size(), number);
      return number - 1;
    }
    CheckedCluster& cluster_;
    const std::size_t number_;
  };

  struct Process {
    Process(CheckedCluster& cluster, std::size_t number)
        : peers(cluster, number),
          lane(cluster.cluster_.scheduler()),
          parts(cluster.cluster_.member(number).local_member(),
                cluster.cluster_.network().PortOf(cluster.cluster_.id(number)), lane, lane),
          quarantine(cluster.cluster_.disk(number), SmallMember::kQuarantineFile),
          check(lane, parts.services.proposer, parts.services.reads, peers, quarantine,
                cluster.action_),
          reseeder(lane, peers, parts.services.reads, quarantine) {}

    PeerPort peers;
    Scheduler::Lane lane;
    MemberParts parts;
    Quarantine quarantine;
    ReplicaCheck check;
    Reseeder reseeder;
  };

  Result<PeerAnswer> Answer(std::size_t from, std::size_t to, std::string_view path) {
    if (path.starts_with(kReseedPrefix)) ++reseeds_asked_;
    if (script_) {
      if (auto scripted = script_(from, to, path); scripted.has_value())
        return *std::move(scripted);
    }
    SmallNetwork& network = cluster_.network();
    const raft::MemberId asks = cluster_.id(from);
    const raft::MemberId asked = cluster_.id(to);
    if (processes_[to] == nullptr || network.IsCut(asks, asked) || network.IsCut(asked, asks))
      return Fail(Code::kUnavailable, "no answer");
    if (path.starts_with(kHistoryPath)) return Telling(HistoryOf(to));
    KV_CHECK(path == std::string(kReseedPrefix) + IdText(asks), "a question that nobody asks");
    // The answer waits for nothing, since no other thread could run: only an immediate refusal is
    // returned.
    auto outcome = std::make_shared<Result<void>>();
    SendFreshSnapshot(processes_[to]->parts.services.proposer, processes_[to]->quarantine, asks,
                      [outcome](Result<void> begun) { *outcome = std::move(begun); });
    if (outcome->has_value()) return PeerAnswer{.status = 200, .cluster_id = {}, .body = {}};
    const bool is_final = outcome->error().code == Code::kFailedPrecondition;
    return PeerAnswer{.status = is_final ? 412U : 503U,
                      .cluster_id = {},
                      .body = outcome->error().message + "\n"};
  }

  const ReplicaCheckAction action_;
  SmallCluster cluster_;
  std::vector<std::unique_ptr<Process>> processes_;
  Script script_;
  std::size_t reseeds_asked_ = 0;
};

}  // namespace kvorum::server
