#include "consul/model/records.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text/duration_text.h"
#include "base/text/parse_number.h"
#include "consul/model/ids.h"
#include "consul/model/record_members.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {
namespace {

// --- the members of each record, in their order

template <class Archive, Is<ServiceDetails> Details>
void Describe(Archive& archive, Details& details) {
  archive.Member("kind", details.kind);
  // Always there: what is empty is an entry of our own.
  archive.Always("tags", details.tags);
  archive.Member("address", details.address);
  archive.Member("tagged_addresses", details.tagged_addresses);
  archive.Member("meta", details.meta);
  archive.Member("port", details.port);
  archive.Member("socket_path", details.socket_path);
  archive.Member("weight_passing", details.weight_passing, 1);
  archive.Member("weight_warning", details.weight_warning, 1);
  archive.Member("enable_tag_override", details.enable_tag_override);
}

template <class Archive, Is<NodeDetails> Details>
void Describe(Archive& archive, Details& details) {
  archive.Member("id", details.id);
  archive.Member("address", details.address);
  archive.Member("tagged_addresses", details.tagged_addresses);
  archive.Member("meta", details.meta);
}

// A check without its id, status and output. One without a name has its id for that.
template <class Archive, Is<CheckRecord> Check>
void Describe(Archive& archive, Check& check) {
  archive.Member("name", check.name);
  archive.Member("notes", check.notes);
  archive.Member("type", check.type);
  archive.Member("interval", check.interval);
  archive.Member("timeout", check.timeout);
  archive.ObjectText("definition", check.definition);
  archive.Member("deregister_after_ns", check.deregister_after_ns);
}

template <class Archive, class Details>
void DescribeDetails(Archive& archive, Details& details) {
  archive.Object("details", [&](auto& members) { Describe(members, details); });
}

template <class Archive, class Checks>
void DescribeChecks(Archive& archive, Checks& checks) {
  archive.List("checks", checks, [](auto& members, auto& check) {
    members.Name("id", check.id);
    if constexpr (Archive::kReads) check.name = check.id;
    members.Status("status", check.health);
    members.Always("output", check.output);
    DescribeDetails(members, check);
  });
}

template <class Archive, Is<NodeRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.Always("is_external", record.is_external);
  DescribeDetails(archive, record.details);
  DescribeChecks(archive, record.checks);
}

template <class Archive, Is<ServiceRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.Key("id", EncodeId(record.id).value_or(record.id));
  archive.Name("name", record.name);
  DescribeDetails(archive, record.details);
  DescribeChecks(archive, record.checks);
}

template <class Archive, Is<SessionRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.Key("id", record.id);
  archive.Always("name", record.name);
  archive.Needed("node", record.node);
  archive.Always("lock_delay_ns", record.lock_delay_ns);
  archive.Always("behavior", record.behavior);
  archive.Always("ttl", record.ttl);
  archive.Always("node_checks", record.node_checks);
  archive.Always("service_checks", record.service_checks);
}

// --- and the one way through them

template <class Record>
std::string EncodeMembers(const Record& record) {
  MemberWriter writer;
  Describe(writer, record);
  return writer.json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// `record` is what is known without the text, which is called `what`.
template <class Record>
Result<Record> DecodeMembers(std::string_view what, Record record, std::string_view text) {
  KV_TRY(const Json json, sync::ParseObject(what, text));
  MemberReader reader(json);
  Describe(reader, record);
  if (!reader.outcome) return std::unexpected(std::move(reader.outcome).error());
  return record;
}

// Details that are missing are those of a new record.
template <class Record>
Result<Record> DecodeDetails(Record record, std::string_view details) {
  if (details.empty()) return record;
  return DecodeMembers("the details", std::move(record), details);
}

// 10.0.0.1:80, host:80, [::1]:80.
void TakeAddressOf(std::string_view value, ServiceDetails& details) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string_view::npos) return;
  const auto port = ParseNumber<std::uint16_t>(value.substr(colon + 1));
  std::string_view host = value.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  constexpr std::size_t kLongestHost = 255;
  const bool is_host = !host.empty() && host.size() <= kLongestHost &&
                       (is_bracketed || !host.contains(':')) &&
                       host.find_first_of("/ []\t\n\"") == std::string_view::npos;
  if (!port.has_value() || !is_host) return;
  details.address = host;
  details.port = *port;
}

// The value of an entry of our own, which has no details; empty: it has some, or no value.
std::string OwnValueIn(std::string_view bytes) {
  const auto json = sync::ParseObject("", bytes);
  if (!json) return {};
  if (const auto details = json->find("details"); details != json->end() && !details->empty())
    return {};
  const auto value = json->find("value");
  return value != json->end() && value->is_string() ? value->get<std::string>() : std::string();
}

// Splits "A/B" at its only slash.
std::optional<std::pair<std::string_view, std::string_view>> Halves(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return {};
  if (text.find('/', slash + 1) != std::string_view::npos) return {};
  return std::pair(text.substr(0, slash), text.substr(slash + 1));
}

}  // namespace

std::string EncodeServiceDetails(const ServiceDetails& details) { return EncodeMembers(details); }
std::string EncodeNodeDetails(const NodeDetails& details) { return EncodeMembers(details); }
std::string EncodeCheckDetails(const CheckRecord& check) { return EncodeMembers(check); }

Result<ServiceDetails> DecodeServiceDetails(std::string_view details) {
  return DecodeDetails(ServiceDetails{}, details);
}

Result<NodeDetails> DecodeNodeDetails(std::string_view details) {
  return DecodeDetails(NodeDetails{}, details);
}

Result<CheckRecord> DecodeCheckDetails(std::string_view id, std::string_view details) {
  return DecodeDetails(CheckRecord{.id = std::string(id), .name = std::string(id)}, details);
}

std::string_view CheckTypeOf(sync::CheckKind kind) {
  return kind == sync::CheckKind::kExec ? "script" : sync::CheckKindName(kind);
}

CheckRecord RecordOf(const sync::Check& check) {
  const sync::CheckDefinition& definition = check.definition;
  const std::string id = DecodePart(definition.id);
  auto record = DecodeCheckDetails(id, definition.details);
  if (!record) record = CheckRecord{.id = id, .name = id};
  if (definition.details.empty()) {
    record->type = CheckTypeOf(definition.kind);
    if (definition.kind != sync::CheckKind::kTtl)
      record->interval = FormatDuration(definition.interval);
  }
  record->health = check.health;
  record->output = check.output;
  return *std::move(record);
}

ServiceRecord RecordOf(std::string_view node, const sync::Entry& entry) {
  ServiceRecord record{
      .node = std::string(node), .id = DecodePart(entry.id), .name = DecodePart(entry.name)};
  if (entry.details.empty())
    TakeAddressOf(entry.value, record.details);
  else if (auto details = DecodeServiceDetails(entry.details))
    record.details = *std::move(details);
  for (const sync::Check& check : entry.checks) record.checks.push_back(RecordOf(check));
  return record;
}

std::string EncodeNode(const NodeRecord& record) { return EncodeMembers(record); }
std::string EncodeService(const ServiceRecord& record) { return EncodeMembers(record); }
std::string EncodeSession(const SessionRecord& record) { return EncodeMembers(record); }

Result<NodeRecord> DecodeNode(std::string_view node, std::string_view bytes) {
  return DecodeMembers("the node's record", NodeRecord{.node = std::string(node)}, bytes);
}

Result<ServiceRecord> DecodeService(std::string_view node, std::string_view id,
                                    std::string_view bytes) {
  KV_TRY(ServiceRecord record,
         DecodeMembers("the service's record",
                       ServiceRecord{.node = std::string(node), .id = std::string(id), .name = {}},
                       bytes));
  if (record.name.empty()) return Fail(Code::kInvalidArgument, "\"name\" is empty");
  if (record.details == ServiceDetails{}) TakeAddressOf(OwnValueIn(bytes), record.details);
  return record;
}

Result<SessionRecord> DecodeSession(std::string_view id, std::string_view bytes) {
  KV_TRY(SessionRecord record,
         DecodeMembers("the session's record", SessionRecord{.id = std::string(id), .node = {}},
                       bytes));
  if (record.behavior != "release" && record.behavior != "delete")
    return Fail(Code::kInvalidArgument, "\"behavior\" is neither release nor delete");
  return record;
}

std::string RegistryKeys::Node(std::string_view node) const {
  return prefix_ + "node/" + EncodedOrItself(node);
}

std::string RegistryKeys::Service(std::string_view node, std::string_view id) const {
  return ServicesOf(node) + EncodeId(id).value_or(std::string(id));
}

std::string RegistryKeys::ServicesOf(std::string_view node) const {
  return prefix_ + "service/" + EncodedOrItself(node) + "/";
}

std::string RegistryKeys::Life(std::string_view node) const {
  return prefix_ + "life/" + EncodedOrItself(node);
}

std::string RegistryKeys::Session(std::string_view id) const {
  return prefix_ + "session/" + EncodedOrItself(id);
}

RegistryKeys::Parsed RegistryKeys::Parse(std::string_view key) const {
  if (!key.starts_with(prefix_)) return {};
  const auto parts = Halves(key.substr(prefix_.size()));
  if (parts.has_value()) {
    const auto& [kind, name] = *parts;
    if (kind == "node") return {.kind = Kind::kNode, .node = DecodePart(name)};
    if (kind == "life") return {.kind = Kind::kLife, .node = DecodePart(name)};
    if (kind == "session") return {.kind = Kind::kSession, .id = DecodePart(name)};
    return {};
  }
  constexpr std::string_view kServices = "service/";
  if (!key.substr(prefix_.size()).starts_with(kServices)) return {};
  const auto service = Halves(key.substr(prefix_.size() + kServices.size()));
  if (!service.has_value()) return {};
  return {.kind = Kind::kService,
          .node = DecodePart(service->first),
          .id = DecodePart(service->second)};
}

}  // namespace kvorum::consul
