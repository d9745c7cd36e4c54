#include "consul/agent/agent_writes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text/go_quote.h"
#include "consul/model/api_json.h"
#include "consul/model/fields.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

constexpr Duration kWriteInterval = std::chrono::milliseconds(10);
constexpr Duration kWritePatience = std::chrono::seconds(3);
// The agent's list grows by requests up to this, and by the last request's body.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr std::string_view kDecodeFailed = "Request decode failed: ";

std::string UnknownService(const std::string& id) {
  return "Unknown service ID " + GoQuote(id) +
         ". Ensure that the service ID is passed, not the service name.";
}

std::string UnknownCheck(const std::string& id) {
  return "Unknown check ID " + GoQuote(id) +
         ". Ensure that the check ID is passed, not the check name.";
}

std::string NoSuchService(const std::string& id) {
  return "ServiceID " + GoQuote(id) + " does not exist";
}

// The error's code decides the status.
void AnswerError(Exchange& exchange, const Error& error) {
  if (error.code == Code::kNotFound) return exchange.Text(404, error.message);
  exchange.Text(error.code == Code::kResourceExhausted ? 500 : 400, error.message);
}

Result<void> CheckRoom(const LocalView& view) {
  if (view.size_bytes() <= kMostBytes) return {};
  return Fail(Code::kResourceExhausted, "the agent's list of services is full");
}

// Go's words for truth; nothing: another word.
std::optional<bool> BoolOf(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::array<std::string_view, 6> kFalse = {"0",     "f",     "F",
                                                             "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, word) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, word) != kFalse.end()) return false;
  return std::nullopt;
}

// The value of ?enable; nothing: the exchange was answered.
std::optional<bool> EnableOf(Exchange& exchange) {
  const std::string word = exchange.Parameter("enable").value_or("");
  if (word.empty()) {
    exchange.Text(400, "Missing value for enable");
    return std::nullopt;
  }
  const auto enable = BoolOf(word);
  if (!enable.has_value()) exchange.Text(400, "Invalid value for enable: " + GoQuote(word));
  return enable;
}

// A note that is too long ends with what was left of it.
std::string CutNote(std::string note) {
  constexpr std::size_t kRoomForEnd = 64;
  const std::size_t total = note.size();
  if (total <= sync::kMaxOutputBytes) return note;
  const std::size_t kept = sync::kMaxOutputBytes - kRoomForEnd;
  note.resize(kept);
  return note + " ... (captured " + std::to_string(kept) + " of " + std::to_string(total) +
         " bytes)";
}

void TakeResult(const sync::Check& old, sync::Check& check) {
  check.health = old.health;
  check.output = old.output;
}

// A check that is registered again keeps its status and output.
void KeepResults(const std::vector<sync::Check>& old, std::vector<sync::Check>& checks) {
  for (sync::Check& check : checks) {
    const auto found = std::ranges::find(old, check.definition.id,
                                         [](const sync::Check& c) { return c.definition.id; });
    if (found != old.end()) TakeResult(*found, check);
  }
}

void EraseCheck(std::vector<sync::Check>& checks, std::string_view encoded_id) {
  std::erase_if(checks,
                [&](const sync::Check& check) { return check.definition.id == encoded_id; });
}

bool HasCheck(const sync::Entry& entry, std::string_view encoded_id) {
  return std::ranges::any_of(
      entry.checks, [&](const sync::Check& check) { return check.definition.id == encoded_id; });
}

}  // namespace

std::vector<Route> AgentWrites::Routes() {
  std::vector<Route> routes;
  const auto add = [&](std::string path, void (AgentWrites::*handle)(Exchange)) {
    routes.push_back(
        {.path = std::move(path),
         .methods = "PUT",
         .writes = true,
         .handle = [this, handle](Exchange exchange) { (this->*handle)(std::move(exchange)); }});
  };
  const auto add_report = [&](std::string path, sync::Health health) {
    routes.push_back(
        {.path = std::move(path),
         .methods = "PUT",
         .writes = true,
         .handle = [this, health](Exchange exchange) { ReportAs(health, std::move(exchange)); }});
  };
  add("/v1/agent/service/register", &AgentWrites::RegisterService);
  add("/v1/agent/service/deregister/", &AgentWrites::DeregisterService);
  add("/v1/agent/service/maintenance/", &AgentWrites::ServiceMaintenance);
  add("/v1/agent/maintenance", &AgentWrites::NodeMaintenance);
  add("/v1/agent/check/register", &AgentWrites::RegisterCheck);
  add("/v1/agent/check/deregister/", &AgentWrites::DeregisterCheck);
  add("/v1/agent/check/update/", &AgentWrites::UpdateCheck);
  add_report("/v1/agent/check/pass/", sync::Health::kPassing);
  add_report("/v1/agent/check/warn/", sync::Health::kWarning);
  add_report("/v1/agent/check/fail/", sync::Health::kCritical);
  return routes;
}

void AgentWrites::RegisterService(Exchange exchange) {
  const auto body = JsonBody(exchange, kDecodeFailed);
  if (!body.has_value()) return;
  auto form = ParseService(*body, Rules());
  if (!form) return exchange.Text(400, form.error().message);
  if (!exchange.token().empty()) form->entry.token = exchange.token();
  const std::string replace = exchange.Parameter("replace-existing-checks").value_or("false");
  const bool replaces_checks = replace.empty() || replace == "true";
  std::unique_lock lock(mutex_);
  const auto changed = AddService(std::move(form->entry), replaces_checks);
  lock.unlock();
  if (!changed) return AnswerError(exchange, changed.error());
  AnswerWhenWritten(std::move(exchange), *changed);
}

Result<std::string> AgentWrites::AddService(sync::Entry entry, bool replaces_checks) {
  const LocalView view = View();
  if (const sync::Entry* const old = view.Entry(DecodePart(entry.id)); old != nullptr) {
    entry.id = old->id;
    KeepResults(old->checks, entry.checks);
    for (const sync::Check& check : old->checks) {
      if (!replaces_checks && !HasCheck(entry, check.definition.id)) entry.checks.push_back(check);
    }
  } else {
    KV_RETURN_IF_ERROR(CheckRoom(view));
  }
  std::string id = entry.id;
  std::vector<std::string> checks;
  for (const sync::Check& check : entry.checks) checks.push_back(check.definition.id);
  KV_RETURN_IF_ERROR(Register(std::move(entry)));
  for (const std::string& check : checks) RemoveElsewhere(check, id);
  return id;
}

void AgentWrites::DeregisterService(Exchange exchange) {
  std::unique_lock lock(mutex_);
  const LocalView view = View();
  const sync::Entry* const entry = view.Entry(exchange.rest());
  const bool is_known = entry != nullptr && parts_.syncer.Deregister(entry->id).has_value();
  lock.unlock();
  if (!is_known) return exchange.Text(404, UnknownService(exchange.rest()));
  parts_.checks.Refresh();
  AnswerWhenWritten(std::move(exchange), entry->id);
}

void AgentWrites::RegisterCheck(Exchange exchange) {
  const auto body = JsonBody(exchange, kDecodeFailed);
  if (!body.has_value()) return;
  auto form = ParseCheck(*body, Rules());
  if (!form) return exchange.Text(400, form.error().message);
  if (!exchange.token().empty()) form->token = exchange.token();
  std::unique_lock lock(mutex_);
  const auto changed = AddCheck(*std::move(form));
  lock.unlock();
  if (!changed) return AnswerError(exchange, changed.error());
  AnswerWhenWritten(std::move(exchange), *changed);
}

Result<std::string> AgentWrites::AddCheck(CheckForm form) {
  const LocalView view = View();
  const std::string check_id = form.check.definition.id;
  if (DecodePart(check_id) == kSerfHealth)
    return Fail(Code::kInvalidArgument, "Invalid check: serfHealth is the catalog's own check");
  if (const auto old = view.Check(DecodePart(check_id)); old.has_value()) {
    TakeResult(*old->check, form.check);
  } else {
    KV_RETURN_IF_ERROR(CheckRoom(view));
  }
  sync::Entry entry;
  if (form.service_id.empty()) {
    entry = sync::NodeCheck(std::move(form.check));
    entry.token = std::move(form.token);
  } else {
    const sync::Entry* const service = view.Entry(form.service_id);
    if (service == nullptr) return Fail(Code::kNotFound, NoSuchService(form.service_id));
    entry = *service;
    EraseCheck(entry.checks, check_id);
    entry.checks.push_back(std::move(form.check));
  }
  std::string id = entry.id;
  KV_RETURN_IF_ERROR(Register(std::move(entry)));
  RemoveElsewhere(check_id, id);
  return id;
}

void AgentWrites::DeregisterCheck(Exchange exchange) {
  std::unique_lock lock(mutex_);
  const auto changed = RemoveCheck(exchange.rest());
  lock.unlock();
  if (!changed) return AnswerError(exchange, changed.error());
  AnswerWhenWritten(std::move(exchange), *changed);
}

Result<std::string> AgentWrites::RemoveCheck(const std::string& id) {
  const LocalView view = View();
  const auto found = view.Check(id);
  if (!found.has_value()) return Fail(Code::kNotFound, UnknownCheck(id));
  sync::Entry entry = *found->entry;
  std::string entry_id = entry.id;
  if (entry.kind == sync::EntryKind::kNode) {
    KV_RETURN_IF_ERROR(parts_.syncer.Deregister(entry_id));
    parts_.checks.Refresh();
    return entry_id;
  }
  EraseCheck(entry.checks, found->check->definition.id);
  KV_RETURN_IF_ERROR(Register(std::move(entry)));
  return entry_id;
}

// The ids of checks are the node's: a check that comes with the id of another takes its place.
void AgentWrites::RemoveElsewhere(const std::string& encoded_id, const std::string& entry_id) {
  for (const auto& listed : parts_.syncer.List(sync::Registry::Which::kVisible)) {
    if (listed.entry.id == entry_id || !HasCheck(listed.entry, encoded_id)) continue;
    if (listed.entry.kind == sync::EntryKind::kNode) {
      (void)parts_.syncer.Deregister(listed.entry.id);  // it is there
    } else if (!listed.entry.details.empty()) {
      sync::Entry entry = listed.entry;
      EraseCheck(entry.checks, encoded_id);
      (void)parts_.syncer.Register(std::move(entry));  // less than what was good
    }
  }
  parts_.checks.Refresh();
}

Result<void> AgentWrites::Register(sync::Entry entry) {
  if (auto registered = parts_.syncer.Register(std::move(entry)); !registered) {
    return Fail(Code::kInvalidArgument, "Validation failed: " + registered.error().message);
  }
  parts_.checks.Refresh();
  return {};
}

void AgentWrites::ReportAs(sync::Health health, Exchange exchange) {
  const std::string note = exchange.Parameter("note").value_or("");
  Report(std::move(exchange), health, note);
}

void AgentWrites::UpdateCheck(Exchange exchange) {
  const auto body = JsonBody(exchange, kDecodeFailed);
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
  Report(std::move(exchange), *health, output);
}

void AgentWrites::Report(Exchange exchange, sync::Health health, const std::string& output) {
  const std::string& id = exchange.rest();
  const LocalView view = View();
  const auto found = view.Check(id);
  if (!found.has_value()) return exchange.Text(404, UnknownCheck(id));
  const bool is_ttl = found->check->definition.kind == sync::CheckKind::kTtl &&
                      RecordOf(*found->check).type == "ttl";
  if (!is_ttl)
    return exchange.Text(500, "CheckID " + GoQuote(id) + " does not have associated TTL");
  const auto reported =
      parts_.checks.Report(found->entry->id, found->check->definition.id, health, CutNote(output));
  // It was there a moment ago.
  if (!reported) return exchange.Text(404, UnknownCheck(id));
  exchange.Ok();
}

void AgentWrites::ServiceMaintenance(Exchange exchange) {
  const std::string& id = exchange.rest();
  if (id.empty()) return exchange.Text(400, "Missing service ID");
  const auto enable = EnableOf(exchange);
  if (!enable.has_value()) return;
  sync::Check check = MaintenanceCheck(id, exchange.Parameter("reason").value_or(""));
  std::unique_lock lock(mutex_);
  const auto changed = SetMaintenance(id, std::move(check), *enable);
  lock.unlock();
  if (!changed) return AnswerError(exchange, changed.error());
  AnswerWhenWritten(std::move(exchange), *changed);
}

Result<std::string> AgentWrites::SetMaintenance(const std::string& id, sync::Check check,
                                                bool enable) {
  const LocalView view = View();
  const sync::Entry* const found = view.Entry(id);
  if (found == nullptr) return Fail(Code::kNotFound, UnknownService(id));
  sync::Entry entry = *found;
  std::string entry_id = entry.id;
  if (HasCheck(entry, check.definition.id) == enable) return entry_id;
  EraseCheck(entry.checks, check.definition.id);
  if (enable) entry.checks.push_back(std::move(check));
  KV_RETURN_IF_ERROR(Register(std::move(entry)));
  return entry_id;
}

void AgentWrites::NodeMaintenance(Exchange exchange) {
  const auto enable = EnableOf(exchange);
  if (!enable.has_value()) return;
  sync::Entry entry =
      sync::NodeCheck(MaintenanceCheck("", exchange.Parameter("reason").value_or("")));
  const std::string entry_id = entry.id;
  Result<void> changed;
  std::unique_lock lock(mutex_);
  if (View().Check(kNodeMaintenance).has_value() != *enable) {
    changed = *enable ? Register(std::move(entry)) : parts_.syncer.Deregister(entry_id);
    parts_.checks.Refresh();
  }
  lock.unlock();
  if (!changed) return AnswerError(exchange, changed.error());
  AnswerWhenWritten(std::move(exchange), entry_id);
}

void AgentWrites::AnswerWhenWritten(Exchange exchange, const std::string& entry_id) {
  auto look = [exchange = std::move(exchange), entry_id](const LocalView& view,
                                                         bool is_over) mutable {
    const LocalView::Written written = view.WrittenOf(entry_id);
    if (written == LocalView::Written::kNotYet && !is_over) return false;
    if (written == LocalView::Written::kDenied)
      exchange.Text(403, "Permission denied: the token may not write this entry to the catalog");
    else
      exchange.Ok();
    return true;
  };
  waits_.Wait(kWriteInterval, kWritePatience, std::move(look));
}

DefinitionRules AgentWrites::Rules() const {
  return {.scripts = parts_.scripts, .node_address = parts_.details.address};
}

}  // namespace kvorum::consul
