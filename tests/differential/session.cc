#include "tests/differential/session.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <string_view>
#include <utility>

#include "tests/differential/random_requests.h"

namespace kvorum::differential {
namespace {

using etcdserverpb::CompactionRequest;
using etcdserverpb::DeleteRangeRequest;
using etcdserverpb::HashKVRequest;
using etcdserverpb::HashKVResponse;
using etcdserverpb::PutRequest;
using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;

constexpr int kPhases = 8;
// Requests that are sent before their answers are compared.
constexpr std::size_t kRequestsPerExchange = 128;
constexpr int kOldRevisions = 12;
// A session of fewer requests need not have met everything.
constexpr std::int64_t kRequestsThatMeetEverything = 50'000;

constexpr std::string_view kErrorsToMeet[] = {
    "etcdserver: key is not provided",
    "etcdserver: key not found",
    "etcdserver: value is provided",
    "etcdserver: lease is provided",
    "etcdserver: too many operations in txn request",
    "etcdserver: duplicate key given in txn request",
    "etcdserver: invalid sort option",
    "etcdserver: request is too large",
    "etcdserver: requested lease not found",
    "etcdserver: lease already exists",
    "etcdserver: too large lease TTL",
    "etcdserver: mvcc: required revision has been compacted",
    "etcdserver: mvcc: required revision is a future revision",
    "grpc: received message larger than max",
};

Request PutOfKey(std::string key) {
  PutRequest request;
  request.set_key(std::move(key));
  return request;
}

Request DeleteOfKey(std::string key) {
  DeleteRangeRequest request;
  request.set_key(std::move(key));
  return request;
}

Request HashKv(std::int64_t revision) {
  HashKVRequest request;
  request.set_revision(revision);
  return request;
}

Request Everything(std::int64_t revision) {
  RangeRequest request;
  request.set_key(kZero);
  request.set_range_end(kZero);
  request.set_revision(revision);
  return request;
}

Request CompactPhysically(std::int64_t revision) {
  CompactionRequest request;
  request.set_revision(revision);
  request.set_physical(true);
  return request;
}

}  // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      stream_(options_.seed),
      ours_("kvorum", options_.mover.empty() ? options_.kvorum : options_.peer),
      peer_("etcd", options_.peer),
      is_etcd_(!options_.mover.empty()) {}

Result<void> Session::Run() {
  KV_RETURN_IF_ERROR(Start());
  for (int phase = 1; phase <= kPhases; ++phase) KV_RETURN_IF_ERROR(RunPhase(phase));
  PrintSummary();
  return CheckCoverage();
}

Result<void> Session::Start() {
  KV_RETURN_IF_ERROR(ours_.Start());
  KV_RETURN_IF_ERROR(peer_.Start());
  KV_TRY(const std::string version, peer_.lane().Version());
  referee_ = std::make_unique<Referee>(version);
  // Older versions take no directory back whose cluster was of a newer one.
  if (!options_.mover.empty() && version.starts_with("3.4."))
    return Fail(Code::kUnimplemented, "SKIPPED: nothing goes back to etcd " + version);
  std::printf("differential: seed %llu, %lld requests, the peer is etcd %s\n",
              static_cast<unsigned long long>(options_.seed),
              static_cast<long long>(options_.requests), version.c_str());
  return CompareStores();
}

Result<void> Session::RunPhase(int phase) {
  const std::int64_t end = options_.requests * phase / kPhases;
  while (sent_ < end) {
    KV_RETURN_IF_ERROR(Exchange(stream_.Next(kRequestsPerExchange)));
  }
  KV_RETURN_IF_ERROR(CompareStores());
  KV_RETURN_IF_ERROR(CompactStepwise());
  if (phase % 3 == 2) {
    KV_RETURN_IF_ERROR(Restart(phase));
    KV_RETURN_IF_ERROR(CompareStores());
  }
  std::printf("phase %d: %lld requests, revision %lld, compacted at %lld: equal\n", phase,
              static_cast<long long>(sent_), static_cast<long long>(newest_),
              static_cast<long long>(compacted_));
  std::fflush(stdout);
  return {};
}

Result<void> Session::Restart(int phase) {
  const int signal = phase % 2 == 0 ? SIGKILL : SIGTERM;
  ours_.Stop(signal);
  peer_.Stop(signal);
  if (!options_.mover.empty()) KV_RETURN_IF_ERROR(Move());
  KV_RETURN_IF_ERROR(ours_.Start());
  return peer_.Start();
}

Result<void> Session::Move() {
  is_etcd_ = !is_etcd_;
  std::printf("the directory is %s's now\n", is_etcd_ ? "etcd" : "kvorum");
  return ours_.Move(options_.mover, is_etcd_ ? "release" : "adopt",
                    is_etcd_ ? options_.peer : options_.kvorum);
}

Result<std::vector<Answer>> Session::Exchange(std::span<const Request> requests) {
  auto running = std::async(std::launch::async, [&] { return peer_.lane().Run(requests); });
  std::vector<Answer> ours = ours_.lane().Run(requests);
  std::vector<Answer> peer = running.get();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto differences = referee_->Judge(requests[i], ours[i], peer[i]);
    ++sent_;
    if (!differences.empty()) return Fail(Report(requests[i], ours[i], peer[i], differences));
    Count(requests[i], ours[i]);
  }
  stream_.Observe(newest_, compacted_);
  return ours;
}

void Session::Count(const Request& request, const Answer& ours) {
  ++outcomes_[std::string(MethodOf(request)) + (ours.ok() ? "" : ": " + ours.text.substr(0, 60))];
  if (!ours.ok()) return;
  newest_ = std::max(newest_, HeaderRevision(*ours.response));
  if (const auto* compaction = std::get_if<CompactionRequest>(&request))
    compacted_ = compaction->revision();
  if (std::holds_alternative<RangeRequest>(request)) {
    ranges_with_rows_ += static_cast<const RangeResponse&>(*ours.response).count() > 0 ? 1 : 0;
  }
}

Result<void> Session::CompareStores() {
  KV_RETURN_IF_ERROR(CompareHashes());
  std::vector<Request> reads = {Everything(0), Everything(compacted_)};
  for (int i = 0; i < kOldRevisions; ++i) reads.push_back(Everything(stream_.choices().Revision()));
  KV_RETURN_IF_ERROR(Exchange(reads));
  return {};
}

Result<void> Session::CompareHashes() {
  std::vector<Request> requests = {SettleCompactions()};
  for (const std::int64_t revision :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, newest_, newest_ + 1, newest_ - 1}) {
    requests.push_back(HashKv(revision));
  }
  for (std::int64_t offset = -2; offset <= 2; ++offset)
    requests.push_back(HashKv(compacted_ + offset));
  for (int i = 0; i < kOldRevisions; ++i) requests.push_back(HashKv(stream_.choices().Revision()));
  KV_RETURN_IF_ERROR(Exchange(requests));
  return {};
}

Result<void> Session::CompactStepwise() {
  const std::int64_t before = newest_;
  KV_RETURN_IF_ERROR(Exchange(std::vector<Request>{
      PutOfKey("step/1"), PutOfKey("step/2"), DeleteOfKey("step/1"), PutOfKey("step/1"),
      DeleteOfKey("step/2"), PutOfKey("step/2"), DeleteOfKey("step/1")}));
  // A tombstone counts differently as the compacted revision and as the one compacted before.
  for (std::int64_t revision = before + 1; revision <= newest_; ++revision)
    KV_RETURN_IF_ERROR(CompareHashThroughCompaction(revision));
  return CompareHashes();
}

Result<void> Session::CompareHashThroughCompaction(std::int64_t revision) {
  const std::int64_t before = compacted_;
  const Request requests[] = {HashKv(revision), Everything(revision), CompactPhysically(revision),
                              HashKv(revision)};
  KV_TRY(const std::vector<Answer> answers, Exchange(requests));
  if (!answers[3].ok()) return Fail(Report(requests[3], answers[3], answers[0], {"refused"}));
  const auto& told = static_cast<const HashKVResponse&>(*answers[0].response);
  const auto& kept = static_cast<const HashKVResponse&>(*answers[3].response);
  const auto& rows = static_cast<const RangeResponse&>(*answers[1].response);
  // While no key lives, HashKV counts all records still on disk; a compaction counts none of them.
  if (rows.count() > 0 && kept.hash() != told.hash()) {
    return Fail(Report(requests[3], answers[3], answers[0],
                       {"not the hash of before the compaction (shown as the peer's)"}));
  }
  if (before > 0 && kept.compact_revision() != before) {
    return Fail(Report(requests[3], answers[3], answers[0],
                       {"compact_revision is not that of before: " + std::to_string(before)}));
  }
  return {};
}

Result<void> Session::CheckCoverage() const {
  if (sent_ < kRequestsThatMeetEverything) return {};
  std::int64_t fine = 0;
  std::int64_t fine_ranges = 0;
  for (const auto& [outcome, count] : outcomes_) {
    if (outcome.find(':') == std::string::npos) fine += count;
    if (outcome == "Range") fine_ranges = count;
  }
  for (const std::string_view error : kErrorsToMeet) {
    const auto met = [&](const auto& outcome) { return outcome.first.contains(error); };
    if (!std::ranges::any_of(outcomes_, met))
      return Fail(Code::kInternal, "no request was refused with: " + std::string(error));
  }
  if (fine * 3 < sent_ * 2) return Fail(Code::kInternal, "too many requests were refused");
  if (ranges_with_rows_ * 2 < fine_ranges)
    return Fail(Code::kInternal, "too many ranges found nothing");
  return {};
}

void Session::PrintSummary() const {
  for (const auto& [outcome, count] : outcomes_)
    std::printf("%8lld %s\n", static_cast<long long>(count), outcome.c_str());
  for (const Referee::Allowed& allowed : referee_->allowed()) {
    std::printf("%8lld times allowed: %s (%s)\n", static_cast<long long>(allowed.uses),
                std::string(allowed.difference.name).c_str(),
                std::string(allowed.difference.reason).c_str());
  }
}

Error Session::Report(const Request& request, const Answer& ours, const Answer& peer,
                      const std::vector<std::string>& differences) const {
  std::string text = "request " + std::to_string(sent_) + " of seed " +
                     std::to_string(options_.seed) +
                     " is answered differently\nrequest: " + Describe(request) +
                     "\nours:    " + Describe(ours) + "\npeer:    " + Describe(peer) + "\n";
  for (const std::string& line : differences) text += "  " + line + "\n";
  text += "replay:  " + Replay();
  // A server that is gone says why in its log.
  for (const auto& [answer, server] : {std::pair(&ours, &ours_), std::pair(&peer, &peer_)}) {
    if (answer->code == grpc::StatusCode::UNAVAILABLE) text += "\nlog:\n" + server->LogTail();
  }
  return {Code::kInternal, text};
}

std::string Session::Replay() const {
  return "kvorum_differential --seed " + std::to_string(options_.seed) + " --requests " +
         std::to_string(options_.requests) + " --kvorum " + options_.kvorum.string() + " --peer " +
         options_.peer.string() +
         (options_.mover.empty() ? "" : " --mover " + options_.mover.string());
}

}  // namespace kvorum::differential
