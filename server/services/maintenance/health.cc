#include "server/services/maintenance/health.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/words.h"
#include "rpc/http/http_error.h"
#include "server/call/leader_streams.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/replica/drive/replica.h"
#include "server/services/maintenance/http_handlers.h"
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

rpc::HttpResponse PlainText(unsigned status, std::string text) {
  rpc::HttpResponse response = rpc::HttpResponse::Text(status, std::move(text));
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

}  // namespace

void Health::Answer(rpc::HttpReply& reply, const std::string& reason) {
  (reason.empty() ? successes_ : failures_).Add();
  const nlohmann::ordered_json body = {{"health", reason.empty() ? "true" : "false"},
                                       {"reason", reason}};
  if (!reason.empty()) {
    KV_WARN("/health error", {"output", body.dump()}, {"status-code", kServiceUnavailable});
    return reply.Send(rpc::HttpError(kServiceUnavailable, body.dump()));
  }
  reply.Send(rpc::HttpResponse::Text(200, body.dump()));
}

// Waits for a read to be confirmed, or until there is no leader to confirm it.
class Health::OfLeader final : public NeedsLeader {
 public:
  OfLeader(Health& health, rpc::HttpReply reply) : health_(health), reply_(std::move(reply)) {}

  void Answer(const std::string& reason) {
    if (!is_answered_.test_and_set()) health_.Answer(reply_, reason);
  }
  void OnNoLeader() override { Answer(kNoLeaderReason); }

 private:
  Health& health_;
  std::atomic_flag is_answered_;
  rpc::HttpReply reply_;  // the first to set the flag owns it
};

void Health::ServeHealth(const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  const auto excluded = QueryValues(request.Query(), "exclude");
  for (const Alarm& alarm : reads_.cluster.alarms.List()) {
    const std::string name = AlarmName(alarm.type);
    if (std::ranges::find(excluded, name) != excluded.end()) continue;
    const bool named = alarm.type == AlarmType::kNoSpace || alarm.type == AlarmType::kCorrupt;
    return Answer(reply, "ALARM " + (named ? name : "UNKNOWN"));
  }
  const bool is_out = quarantine_.stands();
  if (is_out && std::ranges::find(excluded, "CORRUPT") == excluded.end())
    return Answer(reply, "ALARM CORRUPT");
  const auto serializable = QueryValues(request.Query(), "serializable");
  if (!serializable.empty() && serializable.front() == "true") return Answer(reply, "");
  if (reads_.cluster.replica.leader() == raft::kNone) return Answer(reply, kNoLeaderReason);
  const auto health = std::make_shared<OfLeader>(*this, std::move(reply));
  leader_streams_.Add(std::shared_ptr<NeedsLeader>(health));
  reads_.batcher.Read(request.loop, [health](const Result<void>& confirmed) {
    health->Answer(confirmed.has_value() ? "" : "RANGE ERROR:" + confirmed.error().message);
  });
}

Result<void> Health::RunAtOnce(const Check& check) const {
  const bool is_out = quarantine_.stands();
  if (check.name == "data_corruption" &&
      (is_out || reads_.cluster.alarms.Stands(AlarmType::kCorrupt)))
    return Fail(Code::kDataLoss, "alarm activated: CORRUPT");
  if (check.name == "non_learner" && reads_.cluster.membership.is_learner())
    return Fail(Code::kUnavailable, "not supported for learner");
  if (check.name == kSerializableRead) {
    if (const auto view = reads_.store.Read(); !view.has_value()) return Fail(view.error());
  }
  return {};
}

void Health::ServeProbe(std::span<Check> checks, const rpc::HttpRequest& request,
                        rpc::HttpReply reply) {
  if (!MethodIsGet(request, reply)) return;
  const bool is_whole = request.Path().substr(1) == checks.front().probe;
  const auto excluded = QueryValues(is_whole ? request.Query() : std::string_view(), "exclude");
  struct Outcome {
    Check* check;
    Result<void> result;
  };
  std::vector<Outcome> outcomes;
  for (Check& check : checks) {
    if (std::ranges::find(excluded, check.name) == excluded.end())
      outcomes.push_back({.check = &check, .result = RunAtOnce(check)});
  }
  const bool is_verbose = !QueryValues(request.Query(), "verbose").empty();
  auto finish = [is_verbose, path = std::string(request.Path()),
                 reply = std::move(reply)](const std::vector<Outcome>& all) mutable {
    std::string lines;
    bool passed = true;
    for (const auto& [check, result] : all) {
      check->last_passed = result.has_value();
      check->is_known = true;
      (result.has_value() ? check->passed : check->failed).Add();
      passed &= result.has_value();
      const std::string name(check->name);
      lines += result.has_value() ? "[+]" + name + " ok\n"
                                  : "[-]" + name + " failed: " + result.error().message + "\n";
    }
    if (!passed) KV_ERROR("Health check error", {"path", path}, {"reason", lines});
    if (!passed) return reply.Send(PlainText(kServiceUnavailable, lines + "\n"));
    reply.Send(PlainText(200, (is_verbose ? lines : "") + "ok\n"));
  };
  const auto waiting = std::ranges::find(
      outcomes, kLinearizableRead, [](const Outcome& outcome) { return outcome.check->name; });
  if (waiting == outcomes.end()) return finish(outcomes);
  const auto place = static_cast<std::size_t>(waiting - outcomes.begin());
  reads_.batcher.Read(request.loop,
                      [place, outcomes = std::move(outcomes),
                       finish = std::move(finish)](const Result<void>& confirmed) mutable {
                        outcomes[place].result = confirmed;
                        finish(outcomes);
                      });
}

void Health::AddRoutes(rpc::HttpMux& mux) {
  mux.Handle("/health", [this](rpc::HttpRequest request, rpc::HttpReply reply) {
    ServeHealth(request, std::move(reply));
  });
  for (const std::string_view probe : {"livez", "readyz"}) {
    const auto of_probe = std::ranges::equal_range(checks_, probe, {}, &Check::probe);
    const auto add = [&](std::string path, std::span<Check> checks) {
      mux.Handle(std::move(path), [this, checks](rpc::HttpRequest request, rpc::HttpReply reply) {
        ServeProbe(checks, request, std::move(reply));
      });
    };
    const std::string root = "/" + std::string(probe);
    add(root, of_probe);
    for (Check& check : of_probe) add(root + "/" + std::string(check.name), {&check, 1});
  }
}

}  // namespace kvorum::server
