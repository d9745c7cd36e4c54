#include "sync/agent/agent_state.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text/duration_text.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::sync {
namespace {

constexpr std::int64_t kFormat = 1;

constexpr std::string_view kNodeKind = "node";

// All members that EntryToJson and CheckToJson write and that the readers read.
constexpr auto kEntryMembers = std::to_array<std::string_view>(
    {"id", "name", "value", "value_base64", "source", "source_base64", "kind", "details", "token",
     "token_base64", "checks"});
constexpr auto kCheckMembers = std::to_array<std::string_view>(
    {"id", "kind", "target", "target_base64", "uses_tls", "follows_redirects",
     // of TLS
     "tls_ca_file", "tls_ca_file_base64", "tls_server_name", "tls_server_name_base64",
     "tls_skip_verify",
     // of the request, the program
     "method", "headers", "body", "body_base64", "command",
     // of the schedule
     "interval", "interval_ns", "timeout", "timeout_ns", "successes_before_passing",
     "failures_before_critical", "failures_before_warning",
     // of the result
     "output_max_size", "details", "status", "output", "reported_unix_ns"});

Json WordsToJson(const std::vector<std::string>& words) {
  Json json = Json::array();
  for (const std::string& word : words) {
    Json part = Json::object();
    SetBytes(part, "word", word);
    json.push_back(part.contains("word") ? part["word"] : std::move(part));
  }
  return json;
}

void SetDetails(Json& json, const std::string& details) {
  if (details.empty()) return;
  if (auto object = ParseObject("the details", details)) json["details"] = *std::move(object);
}

Json CheckToJson(const Check& check) {
  const CheckDefinition& definition = check.definition;
  Json json = {{"id", definition.id}, {"kind", CheckKindName(definition.kind)}};
  if (!definition.target.empty()) SetBytes(json, "target", definition.target);
  if (definition.uses_tls) json["uses_tls"] = true;
  if (definition.follows_redirects) json["follows_redirects"] = true;
  const CheckTls& tls = definition.tls;
  if (!tls.ca_file.empty()) SetBytes(json, "tls_ca_file", tls.ca_file);
  if (!tls.server_name.empty()) SetBytes(json, "tls_server_name", tls.server_name);
  if (tls.skip_verify) json["tls_skip_verify"] = true;
  if (!definition.method.empty()) json["method"] = definition.method;
  for (const auto& [name, values] : definition.headers) json["headers"][name] = WordsToJson(values);
  if (!definition.body.empty()) SetBytes(json, "body", definition.body);
  if (!definition.command.empty()) json["command"] = WordsToJson(definition.command);
  json["interval_ns"] = definition.interval.count();
  json["timeout_ns"] = definition.timeout.count();
  json["successes_before_passing"] = definition.successes_before_passing;
  json["failures_before_critical"] = definition.failures_before_critical;
  if (definition.failures_before_warning != 0)
    json["failures_before_warning"] = definition.failures_before_warning;
  if (definition.output_max_bytes != kMaxOutputBytes)
    json["output_max_size"] = definition.output_max_bytes;
  SetDetails(json, definition.details);
  json["status"] = HealthName(check.health);
  json["output"] = check.output;
  if (check.reported_unix_ns != 0) json["reported_unix_ns"] = check.reported_unix_ns;
  return json;
}

Json EntryToJson(const Entry& entry) {
  Json json = {{"id", entry.id}, {"name", entry.name}};
  SetBytes(json, "value", entry.value);
  if (!entry.source.empty()) SetBytes(json, "source", entry.source);
  if (entry.kind == EntryKind::kNode) json["kind"] = kNodeKind;
  SetDetails(json, entry.details);
  if (!entry.token.empty()) SetBytes(json, "token", entry.token);
  json["checks"] = Json::array();
  for (const Check& check : entry.checks) json["checks"].push_back(CheckToJson(check));
  return json;
}

// Replaces `value` if the object has the member.
Result<void> ReadInteger(const Json& json, const std::string& name, std::int64_t& value) {
  if (!json.contains(name)) return {};
  KV_TRY(value, IntegerOf(json, name));
  return {};
}

Result<void> ReadThreshold(const Json& json, const std::string& name, int& value) {
  std::int64_t number = value;
  KV_RETURN_IF_ERROR(ReadInteger(json, name, number));
  if (number < 1 || number > std::numeric_limits<int>::max())
    return Fail(Code::kInvalidArgument, "\"" + name + "\" is not positive");
  value = static_cast<int>(number);
  return {};
}

// "interval":"5s", or nanoseconds in "interval" or "interval_ns".
Result<void> ReadDuration(const Json& json, const std::string& name, Duration& value) {
  const std::string in_ns = name + "_ns";
  if (json.contains(name)) {
    if (json.contains(in_ns))
      return Fail(Code::kInvalidArgument, "\"" + name + "\" and \"" + in_ns + "\" are both given");
    if (json[name].is_number_integer()) {
      value = Duration(json[name].get<std::int64_t>());
      return {};
    }
    KV_TRY(const std::string text, StringOf(json, name));
    const auto duration = ParseDuration(text);
    if (!duration)
      return Fail(Code::kInvalidArgument, "\"" + name + "\" is not a duration such as \"5s\"");
    value = *duration;
    return {};
  }
  std::int64_t count = value.count();
  KV_RETURN_IF_ERROR(ReadInteger(json, in_ns, count));
  value = Duration(count);
  return {};
}

Result<std::string> WordFromJson(const Json& word) {
  if (word.is_string()) return word.get<std::string>();
  return BytesOf(word, "word");
}

// Replaces `value` if the object has the member, as text or in base64.
Result<void> ReadBytes(const Json& json, const std::string& name, std::string& value) {
  if (!json.contains(name) && !json.contains(name + "_base64")) return {};
  KV_TRY(value, BytesOf(json, name));
  return {};
}

Result<void> ReadBool(const Json& json, const std::string& name, bool& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_boolean())
    return Fail(Code::kInvalidArgument, "\"" + name + "\" is not a boolean");
  value = found->get<bool>();
  return {};
}

Result<void> ReadTls(const Json& json, CheckTls& tls) {
  KV_RETURN_IF_ERROR(ReadBytes(json, "tls_ca_file", tls.ca_file));
  KV_RETURN_IF_ERROR(ReadBytes(json, "tls_server_name", tls.server_name));
  return ReadBool(json, "tls_skip_verify", tls.skip_verify);
}

Result<std::vector<std::string>> WordsFromJson(const Json& json) {
  std::vector<std::string> words;
  for (const Json& word : json) {
    KV_TRY(std::string text, WordFromJson(word));
    words.push_back(std::move(text));
  }
  return words;
}

Result<void> ReadDetails(const Json& json, std::string& details) {
  const auto found = json.find("details");
  if (found == json.end()) return {};
  if (!found->is_object()) return Fail(Code::kInvalidArgument, "\"details\" is not an object");
  details = found->dump();
  return {};
}

// More than an output may have is as much as it may have.
Result<void> ReadOutputSize(const Json& json, std::size_t& value) {
  int size = static_cast<int>(value);
  if (json.contains("output_max_size"))
    KV_RETURN_IF_ERROR(ReadThreshold(json, "output_max_size", size));
  value = std::min(static_cast<std::size_t>(size), kMaxOutputBytes);
  return {};
}

// The parts of a kHttp check alone.
Result<void> ReadRequest(const Json& json, CheckDefinition& definition) {
  if (json.contains("method")) {
    KV_TRY(definition.method, StringOf(json, "method"));
  }
  if (const auto headers = json.find("headers"); headers != json.end()) {
    if (!headers->is_object()) return Fail(Code::kInvalidArgument, "\"headers\" is not an object");
    for (const auto& [name, values] : headers->items()) {
      KV_TRY(const Json list, ArrayOf(*headers, name));
      KV_TRY(definition.headers[name], WordsFromJson(list));
    }
  }
  return ReadBytes(json, "body", definition.body);
}

Result<Check> CheckFromJson(const Json& json) {
  Check check;
  CheckDefinition& definition = check.definition;
  KV_TRY(definition.id, StringOf(json, "id"));
  KV_TRY(const std::string kind, StringOf(json, "kind"));
  KV_TRY(definition.kind, CheckKindOf(kind));
  KV_RETURN_IF_ERROR(ReadBytes(json, "target", definition.target));
  KV_RETURN_IF_ERROR(ReadBool(json, "uses_tls", definition.uses_tls));
  KV_RETURN_IF_ERROR(ReadBool(json, "follows_redirects", definition.follows_redirects));
  KV_RETURN_IF_ERROR(ReadTls(json, definition.tls));
  KV_TRY(const Json command, ArrayOf(json, "command"));
  KV_TRY(definition.command, WordsFromJson(command));
  KV_RETURN_IF_ERROR(ReadRequest(json, definition));
  KV_RETURN_IF_ERROR(ReadDuration(json, "interval", definition.interval));
  KV_RETURN_IF_ERROR(ReadDuration(json, "timeout", definition.timeout));
  KV_RETURN_IF_ERROR(
      ReadThreshold(json, "successes_before_passing", definition.successes_before_passing));
  KV_RETURN_IF_ERROR(
      ReadThreshold(json, "failures_before_critical", definition.failures_before_critical));
  if (json.contains("failures_before_warning")) {
    KV_RETURN_IF_ERROR(
        ReadThreshold(json, "failures_before_warning", definition.failures_before_warning));
  }
  KV_RETURN_IF_ERROR(ReadOutputSize(json, definition.output_max_bytes));
  KV_RETURN_IF_ERROR(ReadDetails(json, definition.details));
  if (json.contains("status")) {
    KV_TRY(const std::string health, StringOf(json, "status"));
    KV_TRY(check.health, HealthOf(health));
  }
  if (json.contains("output")) {
    KV_TRY(check.output, StringOf(json, "output"));
  }
  KV_RETURN_IF_ERROR(ReadInteger(json, "reported_unix_ns", check.reported_unix_ns));
  if (check.reported_unix_ns < 0)
    return Fail(Code::kInvalidArgument, "\"reported_unix_ns\" is negative");
  return check;
}

Result<Entry> EntryFromJson(const Json& json) {
  Entry entry;
  KV_TRY(entry.id, StringOf(json, "id"));
  KV_TRY(entry.name, StringOf(json, "name"));
  KV_RETURN_IF_ERROR(ReadBytes(json, "value", entry.value));
  KV_RETURN_IF_ERROR(ReadBytes(json, "source", entry.source));
  KV_RETURN_IF_ERROR(ReadBytes(json, "token", entry.token));
  KV_RETURN_IF_ERROR(ReadDetails(json, entry.details));
  if (json.contains("kind")) {
    KV_TRY(const std::string kind, StringOf(json, "kind"));
    if (kind != kNodeKind)
      return Fail(Code::kInvalidArgument, "\"kind\" of an entry is \"node\" or left out");
    entry.kind = EntryKind::kNode;
  }
  KV_TRY(const Json checks, ArrayOf(json, "checks"));
  for (const Json& check : checks) {
    KV_TRY(Check read, CheckFromJson(check));
    entry.checks.push_back(std::move(read));
  }
  KV_RETURN_IF_ERROR(ValidateEntry(entry));
  return entry;
}

Result<void> RefuseUnknown(const Json& json, std::span<const std::string_view> known,
                           const std::string& of) {
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string text = "\"" + name + "\" is not a member of ";
    return Fail(Code::kInvalidArgument, text.append(of));
  }
  return {};
}

// Members of another type are for the readers.
Result<void> RefuseUnknownMembers(const Json& entry) {
  KV_RETURN_IF_ERROR(RefuseUnknown(entry, kEntryMembers, "an entry"));
  const auto checks = entry.find("checks");
  if (checks == entry.end() || !checks->is_array()) return {};
  for (const Json& check : *checks) {
    if (check.is_object()) KV_RETURN_IF_ERROR(RefuseUnknown(check, kCheckMembers, "a check"));
  }
  return {};
}

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string EncodeState(const AgentState& state) {
  Json json = {{"format", kFormat},
               {"node", state.node},
               {"lease", state.lease},
               {"session_revision", state.session_revision},
               {"entries", Json::array()}};
  for (const Entry& entry : state.entries) json["entries"].push_back(EntryToJson(entry));
  return Text(json);
}

Result<AgentState> DecodeState(std::string_view text) {
  KV_TRY(const Json json, ParseObject("the state", text));
  KV_TRY(const std::int64_t format, IntegerOf(json, "format"));
  if (format != kFormat)
    return Fail(Code::kFailedPrecondition,
                "the state has format " + std::to_string(format) + ", and 1 is known");
  AgentState state;
  KV_TRY(state.node, StringOf(json, "node"));
  KV_RETURN_IF_ERROR(ValidateName("the node", state.node));
  KV_TRY(state.lease, IntegerOf(json, "lease"));
  KV_TRY(state.session_revision, IntegerOf(json, "session_revision"));
  KV_TRY(const Json entries, ArrayOf(json, "entries"));
  for (const Json& entry : entries) {
    KV_TRY(Entry read, EntryFromJson(entry));
    state.entries.push_back(std::move(read));
  }
  return state;
}

std::string EncodeEntry(const Entry& entry) { return Text(EntryToJson(entry)); }

Result<Entry> DecodeEntry(std::string_view text) {
  KV_TRY(const Json json, ParseObject("the entry", text));
  KV_RETURN_IF_ERROR(RefuseUnknownMembers(json));
  return EntryFromJson(json);
}

}  // namespace kvorum::sync
