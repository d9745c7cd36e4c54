#include "server/integrity/hash_checks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/majority.h"
#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

// In the form in which Go prints a list of ids.
std::string IdsText(const std::vector<raft::MemberId>& ids) {
  std::string text;
  for (const raft::MemberId id : ids) text.append(text.empty() ? "" : ",").append(IdText(id));
  return text;
}

std::string UrlsText(const std::vector<std::string>& urls) {
  std::string text;
  for (const std::string& url : urls) text.append(text.empty() ? "" : ",").append(url);
  return text;
}

void LogUnequal(std::string_view message, raft::MemberId self, const mvcc::KvHash& own,
                const PeerHashAnswer& peer) {
  KV_WARN(message, {"local-member-id", IdText(self)}, {"local-member-revision", own.revision},
          {"local-member-compact-revision", own.compact_revision}, {"local-member-hash", own.hash},
          {"remote-peer-id", IdText(peer.id)}, {"remote-peer-endpoints", UrlsText(peer.urls)},
          {"remote-peer-revision", peer.hash->current_revision},
          {"remote-peer-compact-revision", peer.hash->hash.compact_revision},
          {"remote-peer-hash", peer.hash->hash.hash});
}

void LogNoAnswer(raft::MemberId self, const mvcc::KvHash& own, const PeerHashAnswer& peer) {
  const Error& error = peer.hash.error();
  const char* message = nullptr;
  if (error == kErrFutureRev) message = "cannot fetch hash from slow remote peer";
  if (error == kErrCompacted)
    message = "cannot fetch hash from remote peer; local member is behind";
  if (error == kClusterIdMismatch) message = "cluster ID mismatch";
  if (message == nullptr) return;
  KV_WARN(message, {"local-member-id", IdText(self)}, {"local-member-revision", own.revision},
          {"local-member-compact-revision", own.compact_revision}, {"local-member-hash", own.hash},
          {"remote-peer-id", IdText(peer.id)}, {"remote-peer-endpoints", UrlsText(peer.urls)},
          {"error", error.message});
}

// The reason why a peer's hash of a compaction cannot be compared, or nothing.
std::string ReasonToSkip(const mvcc::KvHash& own, const PeerHashAnswer& peer) {
  if (!peer.hash.has_value()) return "no response";
  const std::int64_t compacted = peer.hash->hash.compact_revision;
  if (compacted == own.compact_revision) return {};
  return "the peer's CompactRevision " + std::to_string(compacted) +
         " doesn't match leader's CompactRevision " + std::to_string(own.compact_revision);
}

}  // namespace

Result<void> HashChecks::AtStart() {
  const std::string self = IdText(source_.member_id());
  KV_INFO("starting initial corruption check", {"local-member-id", self},
          {"timeout", FormatDuration(source_.timeout())});
  const auto own = source_.OwnHash(0);
  if (!own.has_value())
    return Fail(own.error().code, self + " failed to fetch hash (" + own.error().message + ")");
  bool differs = false;
  for (const PeerHashAnswer& peer : source_.PeerHashes(own->hash.revision)) {
    if (!peer.hash.has_value()) {
      LogNoAnswer(source_.member_id(), own->hash, peer);
    } else if (peer.hash->hash.hash == own->hash.hash) {
      continue;
    } else if (peer.hash->hash.compact_revision == own->hash.compact_revision) {
      if (own->hash.Agrees(peer.hash->hash.hash)) continue;
      LogUnequal("found different hash values from remote peer", source_.member_id(), own->hash,
                 peer);
      differs = true;
    } else {
      LogUnequal("found different compact revision values from remote peer", source_.member_id(),
                 own->hash, peer);
    }
  }
  if (differs) return Fail(Code::kDataLoss, self + " found data inconsistency with peers");
  KV_INFO("initial corruption checking passed; no corruption", {"local-member-id", self});
  return {};
}

Result<void> HashChecks::Periodic() {
  KV_TRY(const PeerHash before, source_.OwnHash(0));
  const auto peers = source_.PeerHashes(before.hash.revision);
  KV_RETURN_IF_ERROR(source_.CatchUp());
  KV_TRY(const PeerHash after, source_.OwnHash(0));

  bool is_alarmed = false;
  const auto raise = [&](raft::MemberId member) {
    if (!std::exchange(is_alarmed, true)) source_.RaiseAlarm(member);
  };
  const mvcc::KvHash& first = before.hash;
  const mvcc::KvHash& second = after.hash;
  if (!first.Agrees(second.hash) && second.revision == first.revision &&
      second.compact_revision == first.compact_revision) {
    KV_WARN("found hash mismatch", {"revision-1", first.revision},
            {"compact-revision-1", first.compact_revision}, {"hash-1", first.hash},
            {"revision-2", second.revision}, {"compact-revision-2", second.compact_revision},
            {"hash-2", second.hash});
    raise(source_.member_id());
  }
  std::size_t checked = 0;
  for (const PeerHashAnswer& peer : peers) {
    if (!peer.hash.has_value()) continue;
    ++checked;
    const PeerHash& answer = *peer.hash;
    if (answer.current_revision > after.current_revision) {
      KV_WARN("revision from follower must be less than or equal to leader's",
              {"leader-revision", after.current_revision},
              {"follower-revision", answer.current_revision},
              {"follower-peer-id", IdText(peer.id)});
      raise(peer.id);
    }
    if (answer.hash.compact_revision > second.compact_revision) {
      KV_WARN("compact revision from follower must be less than or equal to leader's",
              {"leader-compact-revision", second.compact_revision},
              {"follower-compact-revision", answer.hash.compact_revision},
              {"follower-peer-id", IdText(peer.id)});
      raise(peer.id);
    }
    if (answer.hash.compact_revision == first.compact_revision && !first.Agrees(answer.hash.hash)) {
      KV_WARN("same compact revision then hashes must match",
              {"leader-compact-revision", second.compact_revision}, {"leader-hash", first.hash},
              {"follower-compact-revision", answer.hash.compact_revision},
              {"follower-hash", answer.hash.hash}, {"follower-peer-id", IdText(peer.id)});
      raise(peer.id);
    }
  }
  KV_INFO("finished peer corruption check", {"number-of-peers-checked", checked});
  return {};
}

void HashChecks::OfCompactions() {
  KV_INFO("starting compact hash check", {"local-member-id", IdText(source_.member_id())},
          {"timeout", FormatDuration(source_.timeout())});
  std::vector<mvcc::KvHash> hashes = source_.CompactionHashes();
  std::erase_if(hashes,
                [&](const mvcc::KvHash& hash) { return hash.revision <= checked_revision_; });
  std::ranges::sort(hashes, std::ranges::greater{}, &mvcc::KvHash::revision);
  std::size_t compared = 0;
  for (const mvcc::KvHash& hash : hashes) {
    ++compared;
    const auto peers = source_.PeerHashes(hash.revision);
    if (!peers.empty() && CompareCompaction(hash, peers)) break;
  }
  KV_INFO("finished compaction hash check", {"number-of-hashes-checked", compared});
}

bool HashChecks::CompareCompaction(const mvcc::KvHash& own,
                                   const std::vector<PeerHashAnswer>& peers) {
  const raft::MemberId self = source_.member_id();
  std::map<std::uint32_t, std::vector<raft::MemberId>> members_by_hash = {{own.hash, {self}}};
  std::size_t checked = 0;
  for (const PeerHashAnswer& peer : peers) {
    if (const std::string reason = ReasonToSkip(own, peer); !reason.empty()) {
      KV_WARN("Skipped peer's hash", {"number-of-peers", peers.size()}, {"leader-id", IdText(self)},
              {"peer-id", IdText(peer.id)}, {"reason", reason});
      continue;
    }
    ++checked;
    const std::uint32_t theirs = peer.hash->hash.hash;
    members_by_hash[own.Agrees(theirs) ? own.hash : theirs].push_back(peer.id);
  }
  if (members_by_hash.size() == 1) {
    if (checked < peers.size()) {
      KV_WARN("skipped revision in compaction hash check; was not able to check all peers",
              {"number-of-peers-checked", checked}, {"number-of-peers", peers.size()},
              {"revision", own.revision}, {"compactRevision", own.compact_revision});
      return false;
    }
    KV_INFO("successfully checked hash on whole cluster", {"number-of-peers-checked", checked},
            {"revision", own.revision}, {"compactRevision", own.compact_revision});
    checked_revision_ = std::max(checked_revision_, own.revision);
    return true;
  }
  const std::size_t quorum = Majority(peers.size() + 1);
  const auto most = std::ranges::max_element(members_by_hash, {},
                                             [](const auto& of) { return of.second.size(); });
  const bool has_quorum = most->second.size() >= quorum;
  if (has_quorum) {
    members_by_hash.erase(most);
  } else {
    KV_ERROR(
        "Detected compaction hash mismatch but cannot identify the corrupted members, so "
        "intentionally set the memberID as 0",
        {"leader-id", IdText(self)}, {"leader-revision", own.revision},
        {"leader-compact-revision", own.compact_revision}, {"leader-hash", own.hash});
    source_.RaiseAlarm(raft::kNone);
  }
  for (const auto& [hash, ids] : members_by_hash) {
    if (has_quorum) {
      for (const raft::MemberId id : ids) source_.RaiseAlarm(id);
    }
    KV_ERROR("Detected compaction hash mismatch", {"leader-id", IdText(self)},
             {"leader-revision", own.revision}, {"leader-compact-revision", own.compact_revision},
             {"leader-hash", own.hash}, {"peer-hash", hash}, {"peer-ids", IdsText(ids)},
             {"quorum-exist", has_quorum});
  }
  return true;
}

}  // namespace kvorum::server
