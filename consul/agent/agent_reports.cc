#include "consul/agent/agent_reports.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "consul/agent/agent_texts.h"
#include "consul/agent/request_body.h"
#include "consul/model/fields.h"

namespace kvorum::consul {
namespace {

// An output of 1 MiB in its JSON. What is longer than an output may be is cut.
constexpr std::size_t kMaxReportBytes = (std::size_t{1} << 20U) + 4096;

// An output that is too long ends with what was left of it.
std::string CutOutput(std::string output, std::size_t max_bytes) {
  const std::size_t total = output.size();
  if (total <= max_bytes) return output;
  std::string kept = sync::CleanOutput(output, max_bytes);
  const std::string size = std::to_string(kept.size());
  return kept + " ... (captured " + size + " of " + std::to_string(total) + " bytes)";
}

}  // namespace

std::vector<Route> AgentReports::Routes() {
  std::vector<Route> routes = {
      {.path = "/v1/agent/check/update/",
       .methods = "PUT",
       .writes = true,
       .handle = [this](Exchange exchange) { UpdateCheck(std::move(exchange)); },
       .max_body_bytes = kMaxReportBytes}};
  const auto add = [&](std::string path, sync::Health health) {
    routes.push_back(
        {.path = std::move(path),
         .methods = "PUT",
         .writes = true,
         .handle = [this, health](Exchange exchange) { ReportAs(health, std::move(exchange)); }});
  };
  add("/v1/agent/check/pass/", sync::Health::kPassing);
  add("/v1/agent/check/warn/", sync::Health::kWarning);
  add("/v1/agent/check/fail/", sync::Health::kCritical);
  return routes;
}

void AgentReports::ReportAs(sync::Health health, Exchange exchange) {
  std::string note = exchange.Parameter("note").value_or("");
  Report(std::move(exchange), health, std::move(note));
}

void AgentReports::UpdateCheck(Exchange exchange) {
  const auto body = AgentBody(exchange);
  if (!body.has_value()) return;
  std::string status;
  std::string output;
  Fields fields(*body);
  const auto read = [&]() -> Result<void> {
    if (!body->is_object()) return Fail(WrongType("", *body, "checkUpdate"));
    KV_RETURN_IF_ERROR(fields.Read("Status", status));
    return fields.Read("Output", output);
  };
  if (const auto done = read(); !done)
    return exchange.Text(400, std::string(kDecodeFailed) + done.error().message);
  const auto health = sync::HealthOf(status);
  if (!health) return exchange.Text(400, "Invalid check status: '" + status + "'");
  Report(std::move(exchange), *health, std::move(output));
}

void AgentReports::Report(Exchange exchange, sync::Health health, std::string output) {
  const LocalView view = View();
  const auto found = view.Check(exchange.rest());
  if (!found.has_value()) return exchange.Text(404, UnknownCheck(exchange.rest()));
  output = CutOutput(std::move(output), found->check->definition.output_max_bytes);
  if (exchange.token().empty()) return Take(std::move(exchange), health, output);
  const WriteQuestion question{.places = {sync::PlaceOf(*found->entry)}, .token = exchange.token()};
  questions_.Ask(std::move(exchange), {question},
                 [this, health, output = std::move(output)](Exchange allowed) {
                   Take(std::move(allowed), health, output);
                 });
}

void AgentReports::Take(Exchange exchange, sync::Health health, const std::string& output) {
  const std::string& id = exchange.rest();
  const LocalView view = View();
  const auto found = view.Check(id);
  if (!found.has_value()) return exchange.Text(404, UnknownCheck(id));
  const bool is_ttl = found->check->definition.kind == sync::CheckKind::kTtl &&
                      RecordOf(*found->check).type == "ttl";
  if (!is_ttl)
    return exchange.Text(500, "CheckID " + GoQuote(id) + " does not have associated TTL");
  const auto reported =
      parts_.checks.Report(found->entry->id, found->check->definition.id, health, output);
  // It was there a moment ago.
  if (!reported) return exchange.Text(404, UnknownCheck(id));
  exchange.Ok();
}

}  // namespace kvorum::consul
