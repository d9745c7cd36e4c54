#include "consul/kv/session_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/rng.h"
#include "consul/model/durations.h"
#include "consul/model/fields.h"

namespace kvorum::consul {
namespace {

std::unexpected<SessionRefusal> RefuseSession(std::string text) {
  return std::unexpected(SessionRefusal{500, std::move(text)});
}

// Ids as texts, or as objects that have an ID.
Result<void> ReadIds(Fields& fields, const char* name, std::vector<std::string>& ids) {
  const Json* found = fields.Find(name);
  if (found == nullptr) return {};
  if (!found->is_array()) return Fail(WrongType(name, *found, "[]string"));
  ids.clear();
  for (const Json& entry : *found) {
    std::string id = entry.is_string() ? entry.get<std::string>() : std::string();
    if (entry.is_object()) KV_RETURN_IF_ERROR(Fields(entry).Read("ID", id));
    if (id.empty()) return Fail(WrongType(name, entry, "string"));
    ids.push_back(std::move(id));
  }
  return {};
}

Result<void> ReadSession(const Json& body, SessionRecord& record) {
  if (body.is_null()) return {};
  if (!body.is_object()) return Fail(WrongType("", body, "structs.Session"));
  Fields fields(body);
  KV_RETURN_IF_ERROR(fields.Read("Name", record.name));
  KV_RETURN_IF_ERROR(fields.Read("Node", record.node));
  KV_RETURN_IF_ERROR(fields.Read("Behavior", record.behavior));
  KV_RETURN_IF_ERROR(fields.Read("TTL", record.ttl));
  // The old name of the list; the new one counts if both are there.
  KV_RETURN_IF_ERROR(ReadIds(fields, "Checks", record.node_checks));
  KV_RETURN_IF_ERROR(ReadIds(fields, "NodeChecks", record.node_checks));
  KV_RETURN_IF_ERROR(ReadIds(fields, "ServiceChecks", record.service_checks));
  if (const Json* delay = fields.Find("LockDelay")) {
    KV_TRY(const Duration length, LockDelayOf(*delay));
    record.lock_delay_ns = length.count();
  }
  return {};
}

const CheckRecord* FindIn(const std::vector<CheckRecord>& checks, std::string_view id) {
  const auto found = std::ranges::find(checks, id, &CheckRecord::id);
  return found == checks.end() ? nullptr : &*found;
}

}  // namespace

std::expected<WantedSession, SessionRefusal> ParseSession(const Json& body, std::string_view node) {
  WantedSession wanted{.record = {.id = {}, .node = std::string(node)}};
  SessionRecord& record = wanted.record;
  record.node_checks = {std::string(kSerfHealth)};
  if (const Result<void> read = ReadSession(body, record); !read)
    return std::unexpected(SessionRefusal{400, "Request decode failed: " + read.error().message});
  if (record.node.empty()) return RefuseSession("Must provide Node");
  if (record.behavior.empty()) record.behavior = "release";
  if (record.behavior != "release" && record.behavior != "delete")
    return RefuseSession("Invalid Behavior setting '" + record.behavior + "'");
  const Result<Duration> ttl = SessionTtlOf(record.ttl);
  if (!ttl) return RefuseSession(ttl.error().message);
  wanted.ttl = *ttl;
  // A session with a TTL has its own lease.
  if (wanted.ttl == Duration::zero()) record.ttl.clear();
  return wanted;
}

CheckFound FindCheck(const SessionGround& ground, std::string_view check) {
  const auto found = [](const CheckRecord& record, ServiceRef service) {
    return CheckFound{.exists = true,
                      .is_critical = record.health == Health::kCritical,
                      .service = std::move(service)};
  };
  if (ground.node.node == nullptr) return {};
  if (const CheckRecord* record = FindIn(ground.node.node->checks, check))
    return found(*record, nullptr);
  for (const ServiceRef& service : ground.services) {
    if (const CheckRecord* record = FindIn(service->checks, check)) return found(*record, service);
  }
  if (check != kSerfHealth || ground.node.node->is_external) return {};
  return {.exists = true, .is_critical = !ground.node.is_alive, .is_life = true};
}

std::vector<std::string> ChecksOf(const SessionRecord& session) {
  std::vector<std::string> checks = session.node_checks;
  checks.insert(checks.end(), session.service_checks.begin(), session.service_checks.end());
  return checks;
}

bool LeansOnLife(const SessionRecord& session, const SessionGround& ground) {
  return std::ranges::any_of(ChecksOf(session), [&](const std::string& check) {
    return FindCheck(ground, check).is_life;
  });
}

Result<void> CheckGround(const SessionRecord& session, const SessionGround& ground) {
  if (ground.node.node == nullptr)
    return Fail(Code::kFailedPrecondition, "Missing node registration");
  for (const std::string& check : ChecksOf(session)) {
    const CheckFound found = FindCheck(ground, check);
    if (!found.exists)
      return Fail(Code::kFailedPrecondition, "Missing check '" + check + "' registration");
    if (found.is_critical)
      return Fail(Code::kFailedPrecondition, "Check '" + check + "' is in critical state");
  }
  return {};
}

std::string NewSessionId() {
  const std::uint64_t high = (EntropySeed() & ~0xf000ULL) | 0x4000ULL;         // version 4
  const std::uint64_t low = (EntropySeed() & ~(3ULL << 62U)) | (1ULL << 63U);  // its variant
  std::string id;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) id += '-';
    const std::uint64_t half = digit < 16 ? high : low;
    id += "0123456789abcdef"[(half >> (60U - 4U * static_cast<unsigned>(digit % 16))) & 15U];
  }
  return id;
}

}  // namespace kvorum::consul
