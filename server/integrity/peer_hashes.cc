#include "server/integrity/peer_hashes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kPath = "/members/hashkv";
constexpr unsigned kOk = 200;
constexpr unsigned kBadRequest = 400;
constexpr unsigned kPreconditionFailed = 412;

bool Says(const PeerAnswer& answer, std::string_view text) {
  return answer.body.find(text) != std::string::npos;
}

// Zero if it is missing, as Go's JSON leaves zeros out.
std::int64_t Number(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

Result<PeerHash> AskOne(PeerRequester& peers, const Asking& asking, const std::string& url,
                        std::int64_t revision) {
  const nlohmann::json body =
      revision == 0 ? nlohmann::json::object() : nlohmann::json{{"revision", revision}};
  KV_TRY(const PeerAnswer answer,
         peers.Ask({.method = "GET",
                    .path = kPath,
                    .headers = "Content-Type: application/json\r\nX-Etcd-Cluster-ID: " +
                               IdText(asking.cluster_id) + "\r\n",
                    .body = body.dump()},
                   url, asking.timeout));
  return ReadHashAnswer(answer);
}

}  // namespace

Result<PeerHash> ReadHashAnswer(const PeerAnswer& answer) {
  if (answer.status == kBadRequest) {
    // etcd's store says it without the server's name in front.
    if (Says(answer, "mvcc: required revision has been compacted")) return kErrCompacted.Fail();
    if (Says(answer, "mvcc: required revision is a future revision")) return kErrFutureRev.Fail();
  }
  if (answer.status == kPreconditionFailed && Says(answer, kClusterIdMismatch.message))
    return kClusterIdMismatch.Fail();
  if (answer.status != kOk) return Fail(Code::kUnknown, "unknown error: " + answer.body);
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  if (!json.is_object()) return Fail(Code::kUnknown, "not a hash: " + answer.body);
  PeerHash peer{.hash = {.hash = static_cast<std::uint32_t>(Number(json, "hash")),
                         .revision = Number(json, "hash_revision"),
                         .compact_revision = Number(json, "compact_revision")},
                .current_revision = 0};
  if (const auto header = json.find("header"); header != json.end() && header->is_object())
    peer.current_revision = Number(*header, "revision");
  return peer;
}

std::vector<PeerHashAnswer> AskPeerHashes(PeerRequester& peers, const MembershipView& members,
                                          const Asking& asking, std::int64_t revision) {
  std::vector<PeerHashAnswer> answers;
  for (const auto& [id, member] : members.members) {
    if (id == asking.self || member.peer_urls.empty()) continue;
    Result<PeerHash> hash = Fail(Code::kUnavailable, "no URL");
    for (const std::string& url : member.peer_urls) {
      hash = AskOne(peers, asking, url, revision);
      if (hash.has_value()) break;
      KV_WARN("failed hash kv request", {"local-member-id", IdText(asking.self)},
              {"requested-revision", revision}, {"remote-peer-endpoint", url},
              {"error", hash.error().message});
    }
    answers.push_back({.id = id, .urls = member.peer_urls, .hash = std::move(hash)});
  }
  return answers;
}

}  // namespace kvorum::server
