#include "server/services/http_handlers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/words.h"
#include "server/call/leader_streams.h"
#include "server/call/request_batcher.h"
#include "server/messages/version.h"
#include "server/replica/replica.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr unsigned kServiceUnavailable = 503;
constexpr const char* kNoLeaderReason = "RAFT NO LEADER";

// Values of one name in a query string, undecoded: those we look for need no escapes.
std::vector<std::string_view> QueryValues(std::string_view query, std::string_view name) {
  std::vector<std::string_view> values;
  for (const std::string_view pair : Split(query, '&')) {
    const auto [before, after] = Cut(pair, '=');
    if (before == name) values.push_back(after.value_or(""));
  }
  return values;
}

void AnswerHealth(rpc::HttpReply& reply, const std::string& reason) {
  const nlohmann::ordered_json body = {{"health", reason.empty() ? "true" : "false"},
                                       {"reason", reason}};
  reply.Send(rpc::HttpResponse::Text(reason.empty() ? 200 : kServiceUnavailable, body.dump()));
}

// Waits for a read to be confirmed, or until there is no leader to confirm it.
class HealthOfLeader final : public NeedsLeader {
 public:
  explicit HealthOfLeader(rpc::HttpReply reply) : reply_(std::move(reply)) {}

  void Answer(const std::string& reason) {
    if (!is_answered_.test_and_set()) AnswerHealth(reply_, reason);
  }
  void OnNoLeader() override { Answer(kNoLeaderReason); }

 private:
  std::atomic_flag is_answered_;
  rpc::HttpReply reply_;  // the first to set the flag owns it
};

void ServeHealth(ServiceContext& context, const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  const auto excluded = QueryValues(request.Query(), "exclude");
  for (const Alarm& alarm : context.alarms->List()) {
    const std::string name = AlarmName(alarm.type);
    if (std::ranges::find(excluded, name) != excluded.end()) continue;
    const bool named = alarm.type == AlarmType::kNoSpace || alarm.type == AlarmType::kCorrupt;
    return AnswerHealth(reply, "ALARM " + (named ? name : "UNKNOWN"));
  }
  const auto serializable = QueryValues(request.Query(), "serializable");
  if (!serializable.empty() && serializable.front() == "true") return AnswerHealth(reply, "");
  if (context.replica->leader() == raft::kNone) return AnswerHealth(reply, kNoLeaderReason);
  const auto health = std::make_shared<HealthOfLeader>(std::move(reply));
  if (context.leader_streams != nullptr)
    context.leader_streams->Add(std::shared_ptr<NeedsLeader>(health));
  context.batcher->Read(request.loop, [health](const Result<void>& confirmed) {
    health->Answer(confirmed.has_value() ? "" : "RANGE ERROR:" + confirmed.error().message);
  });
}

}  // namespace

bool MethodIsGet(const rpc::HttpRequest& request, rpc::HttpReply& reply) {
  if (request.method == "GET") return true;
  rpc::HttpResponse refusal = rpc::HttpResponse::Text(405, "Method Not Allowed\n");
  refusal.headers.push_back({"Allow", "GET"});
  refusal.headers.push_back({"X-Content-Type-Options", "nosniff"});
  reply.Send(std::move(refusal));
  return false;
}

void ServeVersion(const ServiceContext& context, const rpc::HttpRequest& request,
                  rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  const std::string cluster = context.membership->View()->cluster_version;
  const nlohmann::ordered_json body = {{"etcdserver", kApiVersion},
                                       {"etcdcluster", cluster.empty() ? "not_decided" : cluster},
                                       {"storage", kStorageVersion}};
  reply.Send(rpc::HttpResponse::Json(200, body.dump()));
}

rpc::HttpHandler MakeHttpHandler(ServiceContext& context) {
  rpc::HttpMux mux;
  mux.Handle("/health", [&context](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeHealth(context, request, std::move(reply));
  });
  mux.Handle("/version", [&context](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeVersion(context, request, std::move(reply));
  });
  return rpc::HttpMux::ToHandler(std::move(mux));
}

}  // namespace kvorum::server
