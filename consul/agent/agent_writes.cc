#include "consul/agent/agent_writes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "consul/agent/agent_texts.h"
#include "consul/agent/request_body.h"
#include "consul/model/api_json.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

constexpr Duration kWriteInterval = std::chrono::milliseconds(10);
constexpr Duration kWritePatience = std::chrono::seconds(3);
// The agent's list grows by requests up to this, and by the last request's body.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

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

// A path of the API has no control character, so an id with one could never be named again.
bool HasControl(std::string_view encoded_id) {
  return std::ranges::any_of(DecodePart(encoded_id), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

// Why an id is refused; empty: it is not.
std::string_view BadCheckId(const sync::Check& check) {
  if (DecodePart(check.definition.id) == kSerfHealth)
    return "Invalid check: serfHealth is the catalog's own check";
  return HasControl(check.definition.id) ? "Invalid check: CheckID: the id has a control character"
                                         : "";
}

std::string_view BadId(const sync::Entry& entry) {
  if (HasControl(entry.id)) return "Validation failed: the id has a control character";
  for (const sync::Check& check : entry.checks) {
    if (const std::string_view why = BadCheckId(check); !why.empty()) return why;
  }
  return "";
}

// The caller, and the owner of the token that writes, must both be allowed to.
std::vector<WriteQuestion> QuestionsOf(const std::string& caller, const std::string& writer,
                                       const sync::EntryPlace& written,
                                       const sync::EntryPlace& also_touched) {
  std::vector<WriteQuestion> questions;
  if (caller.empty() || caller != writer)
    questions.push_back({.places = {written}, .token = writer});
  if (!caller.empty()) questions.push_back({.places = {written, also_touched}, .token = caller});
  return questions;
}

// A change of an entry as it is.
std::vector<WriteQuestion> QuestionsOf(const std::string& caller, const sync::Entry& entry) {
  const sync::EntryPlace place = sync::PlaceOf(entry);
  const bool is_of_node = entry.kind == sync::EntryKind::kNode;
  return QuestionsOf(caller, is_of_node ? std::string() : entry.token, place, place);
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
  add("/v1/agent/service/register", &AgentWrites::RegisterService);
  add("/v1/agent/service/deregister/", &AgentWrites::DeregisterService);
  add("/v1/agent/service/maintenance/", &AgentWrites::ServiceMaintenance);
  add("/v1/agent/maintenance", &AgentWrites::NodeMaintenance);
  add("/v1/agent/check/register", &AgentWrites::RegisterCheck);
  add("/v1/agent/check/deregister/", &AgentWrites::DeregisterCheck);
  return routes;
}

void AgentWrites::ChangeIfAllowed(Exchange exchange, std::vector<WriteQuestion> questions,
                                  Change change) {
  questions_.Ask(std::move(exchange), std::move(questions),
                 [this, change = std::move(change)](Exchange allowed) mutable {
                   std::unique_lock lock(mutex_);
                   const auto changed = change();
                   lock.unlock();
                   if (!changed) return AnswerError(allowed, changed.error());
                   AnswerWhenWritten(std::move(allowed), *changed);
                 });
}

void AgentWrites::RegisterService(Exchange exchange) {
  const auto body = AgentBody(exchange);
  if (!body.has_value()) return;
  auto form = ParseService(*body, Rules());
  if (!form) return exchange.Text(400, form.error().message);
  sync::Entry& entry = form->entry;
  if (const std::string_view why = BadId(entry); !why.empty())
    return exchange.Text(400, std::string(why));
  if (!exchange.token().empty()) entry.token = exchange.token();
  const std::string replace = exchange.Parameter("replace-existing-checks").value_or("false");
  const bool replaces_checks = replace.empty() || replace == "true";
  // The service as it is named now, and those whose checks it takes, change as well.
  const LocalView view = View();
  WriteQuestion question{.places = {sync::PlaceOf(entry)}, .token = entry.token};
  if (const sync::Entry* const old = view.Entry(DecodePart(entry.id)); old != nullptr) {
    question.places.front().id = old->id;
    question.places.push_back(sync::PlaceOf(*old));
  }
  for (const sync::Check& check : entry.checks) {
    if (const auto old = view.Check(DecodePart(check.definition.id)); old.has_value())
      question.places.push_back(sync::PlaceOf(*old->entry));
  }
  ChangeIfAllowed(std::move(exchange), {std::move(question)},
                  [this, entry = std::move(entry), replaces_checks]() mutable {
                    return AddService(std::move(entry), replaces_checks);
                  });
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
  const LocalView view = View();
  const std::string id = exchange.rest();
  const sync::Entry* const entry = view.Entry(id);
  if (entry == nullptr) return exchange.Text(404, UnknownService(id));
  // The service is removed with the token that is given, if one is.
  const std::string token = exchange.token().empty() ? entry->token : exchange.token();
  ChangeIfAllowed(std::move(exchange), {{.places = {sync::PlaceOf(*entry)}, .token = token}},
                  [this, id, token] { return RemoveService(id, token); });
}

Result<std::string> AgentWrites::RemoveService(const std::string& id, const std::string& token) {
  const LocalView view = View();
  const sync::Entry* const entry = view.Entry(id);
  if (entry == nullptr || !parts_.syncer.Deregister(entry->id, token))
    return Fail(Code::kNotFound, UnknownService(id));
  parts_.checks.Refresh();
  return entry->id;
}

void AgentWrites::RegisterCheck(Exchange exchange) {
  const auto body = AgentBody(exchange);
  if (!body.has_value()) return;
  auto form = ParseCheck(*body, Rules());
  if (!form) return exchange.Text(400, form.error().message);
  if (!exchange.token().empty()) form->token = exchange.token();
  if (const std::string_view why = BadCheckId(form->check); !why.empty())
    return exchange.Text(400, std::string(why));
  const LocalView view = View();
  sync::EntryPlace written = sync::PlaceOf(sync::NodeCheck(form->check));
  std::string writer;
  if (!form->service_id.empty()) {
    const sync::Entry* const service = view.Entry(form->service_id);
    if (service == nullptr) return exchange.Text(404, NoSuchService(form->service_id));
    written = sync::PlaceOf(*service);
    writer = service->token;
  }
  const auto old = view.Check(DecodePart(form->check.definition.id));
  auto questions = QuestionsOf(form->token, writer, written,
                               old.has_value() ? sync::PlaceOf(*old->entry) : written);
  ChangeIfAllowed(std::move(exchange), std::move(questions),
                  [this, form = *std::move(form)]() mutable { return AddCheck(std::move(form)); });
}

Result<std::string> AgentWrites::AddCheck(CheckForm form) {
  const LocalView view = View();
  const std::string check_id = form.check.definition.id;
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
  const LocalView view = View();
  const std::string id = exchange.rest();
  const auto found = view.Check(id);
  if (!found.has_value()) return exchange.Text(404, UnknownCheck(id));
  auto questions = QuestionsOf(exchange.token(), *found->entry);
  ChangeIfAllowed(std::move(exchange), std::move(questions),
                  [this, id] { return RemoveCheck(id); });
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

void AgentWrites::ServiceMaintenance(Exchange exchange) {
  const std::string id = exchange.rest();
  if (id.empty()) return exchange.Text(400, "Missing service ID");
  const auto enable = EnableOf(exchange);
  if (!enable.has_value()) return;
  const LocalView view = View();
  const sync::Entry* const entry = view.Entry(id);
  if (entry == nullptr) return exchange.Text(404, UnknownService(id));
  sync::Check check = MaintenanceCheck(id, exchange.Parameter("reason").value_or(""));
  auto questions = QuestionsOf(exchange.token(), *entry);
  ChangeIfAllowed(std::move(exchange), std::move(questions),
                  [this, id, check = std::move(check), is_on = *enable]() mutable {
                    return SetMaintenance(id, std::move(check), is_on);
                  });
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
  auto questions = QuestionsOf(exchange.token(), entry);
  ChangeIfAllowed(std::move(exchange), std::move(questions),
                  [this, entry = std::move(entry), is_on = *enable]() mutable {
                    return SetNodeMaintenance(std::move(entry), is_on);
                  });
}

Result<std::string> AgentWrites::SetNodeMaintenance(sync::Entry entry, bool enable) {
  std::string entry_id = entry.id;
  if (View().Check(kNodeMaintenance).has_value() == enable) return entry_id;
  KV_RETURN_IF_ERROR(enable ? Register(std::move(entry)) : parts_.syncer.Deregister(entry_id));
  parts_.checks.Refresh();
  return entry_id;
}

void AgentWrites::AnswerWhenWritten(Exchange exchange, const std::string& entry_id) {
  auto look = [exchange = std::move(exchange), entry_id](const LocalView& view,
                                                         bool is_over) mutable {
    const LocalView::Written written = view.WrittenOf(entry_id);
    if (written == LocalView::Written::kNotYet && !is_over) return false;
    if (written == LocalView::Written::kDenied)
      exchange.Text(403, std::string(kMayNotWrite));
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
