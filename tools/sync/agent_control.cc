#include "tools/sync/agent_control.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sync/agent/agent_state.h"

namespace kvorum::ctl {
namespace {

std::string_view StateName(const sync::SyncerStatus& status) {
  if (status.is_held_by_another) return "held";
  if (status.full_syncs == 0) return "starting";
  if (status.blocked > 0) return "blocked";
  return status.dirty > 0 ? "dirty" : "synced";
}

std::string_view SyncName(const sync::Registry::Listed& listed) {
  if (listed.deleted) return "deleting";
  if (listed.blocked) return "blocked";
  return listed.in_sync ? "synced" : "dirty";
}

sync::Health HealthOfEntry(const sync::Entry& entry) {
  sync::Health worst = sync::Health::kPassing;
  for (const sync::Check& check : entry.checks) worst = std::max(worst, check.health);
  return worst;
}

sync::Json ItemOf(const sync::Registry::Listed& listed) {
  sync::Entry entry = listed.entry;
  entry.token.clear();
  sync::Json item = sync::Json::parse(sync::EncodeEntry(entry));
  item["status"] = sync::HealthName(HealthOfEntry(listed.entry));
  item["sync"] = SyncName(listed);
  return item;
}

// "pass" as well as "passing".
Result<sync::Health> HealthFrom(const std::string& word) {
  if (word == "pass") return sync::Health::kPassing;
  if (word == "warn") return sync::Health::kWarning;
  if (word == "fail") return sync::Health::kCritical;
  return sync::HealthOf(word);
}

Result<sync::Json> Done(Result<void> result) {
  if (!result) return std::unexpected(std::move(result).error());
  return sync::Json::object();
}

}  // namespace

AgentControl::~AgentControl() {
  if (is_paused_) parts_.syncer.pause().Release();
}

void AgentControl::Answer(ControlHandlers& handlers, const std::string& command,
                          Result<sync::Json> (AgentControl::*handle)(const sync::Json& request)) {
  handlers[command] = [this, handle](const sync::Json& request, ControlReply reply) {
    const auto answer = (this->*handle)(request);
    answer ? reply.Ok(*answer) : reply.Fail(answer.error().message);
  };
}

ControlHandlers AgentControl::Handlers() {
  ControlHandlers handlers;
  Answer(handlers, "register", &AgentControl::Register);
  Answer(handlers, "deregister", &AgentControl::Deregister);
  Answer(handlers, "check", &AgentControl::Check);
  Answer(handlers, "pause", &AgentControl::PauseNow);
  Answer(handlers, "resume", &AgentControl::Resume);
  Answer(handlers, "reload", &AgentControl::Reload);
  handlers["list"] = [this](const sync::Json& request, ControlReply reply) {
    List(request, std::move(reply));
  };
  handlers["status"] = [this](const sync::Json&, ControlReply reply) { reply.Ok(Status()); };
  handlers["sync"] = [this](const sync::Json&, ControlReply reply) { Sync(std::move(reply)); };
  handlers["leave"] = [this](const sync::Json&, ControlReply reply) { Leave(std::move(reply)); };
  return handlers;
}

Result<sync::Json> AgentControl::Register(const sync::Json& request) {
  const auto found = request.find("entry");
  if (found == request.end() || !found->is_object())
    return kvorum::Fail(Code::kInvalidArgument, "\"entry\" is not an object");
  KV_TRY(sync::Entry entry, sync::DecodeEntry(ControlText(*found)));
  entry.source.clear();
  KV_RETURN_IF_ERROR(parts_.syncer.Register(std::move(entry)));
  parts_.checks.Refresh();
  return sync::Json::object();
}

Result<sync::Json> AgentControl::Deregister(const sync::Json& request) {
  KV_TRY(const std::string id, sync::StringOf(request, "id"));
  KV_RETURN_IF_ERROR(parts_.syncer.Deregister(id));
  parts_.checks.Refresh();
  return sync::Json::object();
}

Result<sync::Json> AgentControl::Check(const sync::Json& request) {
  KV_TRY(const std::string id, sync::StringOf(request, "id"));
  KV_TRY(const std::string check, sync::StringOf(request, "check"));
  KV_TRY(const std::string word, sync::StringOf(request, "status"));
  KV_TRY(const sync::Health health, HealthFrom(word));
  std::string output;
  if (request.contains("output") || request.contains("output_base64")) {
    KV_TRY(output, sync::BytesOf(request, "output"));
  }
  return Done(parts_.checks.Report(id, check, health, output));
}

Result<sync::Json> AgentControl::PauseNow(const sync::Json&) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_paused_, true))
    return kvorum::Fail(Code::kFailedPrecondition, "the agent is paused already");
  parts_.syncer.pause().Acquire();
  return sync::Json::object();
}

Result<sync::Json> AgentControl::Resume(const sync::Json&) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_paused_, false))
      return kvorum::Fail(Code::kFailedPrecondition, "the agent is not paused");
  }
  parts_.syncer.pause().Release();
  return sync::Json::object();
}

Result<sync::Json> AgentControl::Reload(const sync::Json&) {
  if (!parts_.reload)
    return kvorum::Fail(Code::kFailedPrecondition, "the agent has no folder of services");
  return parts_.reload();
}

void AgentControl::List(const sync::Json& request, ControlReply reply) {
  const auto all = request.find("all");
  const bool has_all = all != request.end() && all->is_boolean() && all->get<bool>();
  auto list =
      parts_.syncer.List(has_all ? sync::Registry::Which::kAll : sync::Registry::Which::kVisible);
  reply.Stream(
      [list = std::move(list), next = std::size_t{0}]() mutable -> std::optional<sync::Json> {
        if (next == list.size()) return std::nullopt;
        return ItemOf(list[next++]);
      });
}

void AgentControl::Sync(ControlReply reply) {
  {
    const std::lock_guard lock(mutex_);
    if (is_paused_)
      reply.Fail("the agent is paused; it syncs once it is resumed");
    else
      waiting_.push_back({.reply = std::move(reply), .passes = parts_.syncer.full_passes()});
  }
  parts_.syncer.SyncNow();
}

std::vector<ControlReply> AgentControl::TakeWaiting() {
  std::vector<ControlReply> taken;
  const std::lock_guard lock(mutex_);
  std::vector<Waiting> others;
  for (Waiting& each : waiting_) {
    if (each.passes < parts_.syncer.full_passes())
      taken.push_back(std::move(each.reply));
    else
      others.push_back(std::move(each));
  }
  waiting_.swap(others);
  return taken;
}

void AgentControl::Leave(ControlReply reply) {
  parts_.syncer.Leave([this, reply = std::move(reply)](const Result<void>& left) mutable {
    left ? reply.Ok() : reply.Fail(left.error().message);
    parts_.on_left();
  });
}

void AgentControl::Synced() {
  std::vector<ControlReply> waiting = TakeWaiting();
  if (waiting.empty()) return;
  const sync::Json status = Status();
  for (ControlReply& reply : waiting) reply.Ok(status);
}

void AgentControl::Failed(const Error& error) {
  for (ControlReply& reply : TakeWaiting()) reply.Fail(error.message);
}

sync::Json AgentControl::Status() const {
  const sync::SyncerStatus status = parts_.syncer.status();
  bool is_paused = false;
  {
    const std::lock_guard lock(mutex_);
    is_paused = is_paused_;
  }
  const bool has_next = status.next_full != sync::kNever && status.full_syncs > 0;
  const auto next_s = std::chrono::duration<double>(status.next_full - parts_.clock.Now()).count();
  return {{"node", parts_.node},
          {"state", StateName(status)},
          {"paused", is_paused},
          {"entries", parts_.syncer.List(sync::Registry::Which::kVisible).size()},
          {"dirty", status.dirty},
          {"blocked", status.blocked},
          {"nodes", status.nodes},
          {"full_syncs", status.full_syncs},
          {"next_full_s",
           has_next ? sync::Json(std::max<std::int64_t>(0, std::llround(next_s))) : sync::Json()},
          {"lease", status.lease},
          {"session_revision", status.session_revision},
          {"last_error", status.last_error}};
}

std::string StatusLine(const sync::Json& status) {
  const auto number = [&](const char* name) {
    return std::to_string(status[name].get<std::int64_t>());
  };
  std::string line = status["node"].get<std::string>() + ": " + status["state"].get<std::string>() +
                     (status["paused"].get<bool>() ? " (paused), " : ", ") + number("entries") +
                     " entries, " + number("nodes") + " nodes";
  if (status["dirty"] != 0) line += ", " + number("dirty") + " dirty";
  if (status["blocked"] != 0) line += ", " + number("blocked") + " blocked";
  if (status["next_full_s"].is_number())
    line += ", next full sync in " + number("next_full_s") + " s";
  const std::string error = status["last_error"].get<std::string>();
  return error.empty() ? line : line + "; " + sync::CleanOutput(error);
}

}  // namespace kvorum::ctl
