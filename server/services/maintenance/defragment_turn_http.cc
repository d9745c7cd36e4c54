#include "server/services/maintenance/defragment_turn_http.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/parse_number.h"
#include "rpc/http/http_error.h"
#include "server/call/cluster_facts.h"
#include "server/call/cluster_header.h"
#include "server/replica/drive/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

using Request = DefragmentTurns::Request;

constexpr std::string_view kPrefix = "/kvorum/defragment/";
constexpr Duration kTimeout = std::chrono::seconds(3);
constexpr unsigned kYes = 200;

struct Word {
  std::string_view text;
  Request request;
};
constexpr Word kWords[] = {
    {"begin/", Request::kBegin}, {"renew/", Request::kRenew}, {"end/", Request::kEnd}};

struct Question {
  Request request;
  raft::MemberId member;
};

std::optional<Question> Read(std::string_view text) {
  for (const Word& word : kWords) {
    if (!text.starts_with(word.text)) continue;
    text.remove_prefix(word.text.size());
    const auto number = ParseNumber<std::uint64_t>(text);
    if (!number) return std::nullopt;
    return Question{word.request, raft::MemberId{*number}};
  }
  return std::nullopt;
}

std::string Write(const Question& question) {
  std::string path(kPrefix);
  for (const Word& word : kWords) {
    if (word.request == question.request) path += word.text;
  }
  return path + std::to_string(question.member.value());
}

bool AskHere(const ClusterFacts& cluster, DefragmentTurns& turns, const Question& question) {
  const Replica& replica = cluster.replica;
  const raft::Term leading = replica.leader() == cluster.member_id ? replica.term() : raft::Term{0};
  return turns.Ask(question.member, question.request, leading, cluster.member_id,
                   replica.clock().Now());
}

}  // namespace

void HandleDefragmentTurns(rpc::HttpMux& mux, const ClusterFacts& cluster, DefragmentTurns& turns) {
  mux.HandlePrefix(std::string(kPrefix), [&cluster, &turns](const rpc::HttpRequest& request,
                                                            rpc::HttpReply reply) {
    const auto send = [&](rpc::HttpResponse response) {
      reply.Send(WithClusterId(cluster, std::move(response)));
    };
    if (request.method != "POST") return send(rpc::HttpResponse::Text(405, "Method Not Allowed\n"));
    if (IsOtherCluster(request, cluster.cluster_id))
      return send(rpc::HttpError(412, "cluster ID mismatch"));
    const auto question = Read(request.Path().substr(kPrefix.size()));
    if (!question.has_value() || !cluster.membership.View()->members.contains(question->member)) {
      return send(rpc::HttpResponse::Text(404, "no such member\n"));
    }
    const bool has_turn = AskHere(cluster, turns, *question);
    send(has_turn ? rpc::HttpResponse::Text(kYes, "yes\n")
                  : rpc::HttpResponse::Text(409, "not now\n"));
  });
}

bool AskForDefragmentTurn(PeerRequester& peers, const ClusterFacts& cluster, DefragmentTurns& turns,
                          DefragmentTurns::Request request) {
  const Question question{request, cluster.member_id};
  const auto view = cluster.membership.View();
  if (view->members.size() == 1) return true;  // no other member to wait for
  const raft::MemberId leader = cluster.replica.leader();
  if (leader == cluster.member_id) return AskHere(cluster, turns, question);
  const auto member = view->members.find(leader);
  if (member == view->members.end()) return false;
  const std::string path = Write(question);
  const PeerQuestion post{
      .method = "POST", .path = path, .headers = ClusterIdLine(cluster.cluster_id), .body = {}};
  for (const std::string& url : member->second.peer_urls) {
    const auto answer = peers.Ask(post, url, kTimeout);
    if (!answer.has_value()) continue;
    return answer->status == kYes && !IsOtherCluster(answer->cluster_id, cluster.cluster_id);
  }
  return false;
}

}  // namespace kvorum::server
