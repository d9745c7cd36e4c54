#include "consul/model/fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/letter_case.h"
#include "sync/kernel/json_depth.h"

namespace kvorum::consul {
namespace {

// Tells the strings of a JSON text from what is between them.
class JsonStrings {
 public:
  // Takes the text's next character; true for one of a string, its quotes included.
  bool Take(char c) {
    if (!is_inside_) {
      is_inside_ = c == '"';
      return is_inside_;
    }
    is_inside_ = is_escaped_ || c != '"';
    is_escaped_ = !is_escaped_ && c == '\\';
    return true;
  }

 private:
  bool is_inside_ = false;
  bool is_escaped_ = false;
};

// The most members that one object of the text has; a text that is not JSON gets some number.
std::size_t WidestObject(std::string_view text) {
  std::vector<std::size_t> open;
  std::size_t widest = 0;
  JsonStrings strings;
  for (const char c : text) {
    if (strings.Take(c)) continue;
    if (c == '{' || c == '[') {
      open.push_back(0);
    } else if ((c == '}' || c == ']') && !open.empty()) {
      open.pop_back();
    } else if (c == ':' && !open.empty()) {
      widest = std::max(widest, ++open.back());
    }
  }
  return widest;
}

Result<std::string> TextOf(std::string_view member, const Json& value) {
  if (value.is_null()) return std::string();
  if (!value.is_string()) return Fail(WrongType(member, value, "string"));
  return value.get<std::string>();
}

Result<std::vector<std::string>> ListOf(std::string_view member, const Json& value) {
  std::vector<std::string> list;
  if (value.is_null()) return list;
  if (!value.is_array()) return Fail(WrongType(member, value, "[]string"));
  for (const Json& each : value) {
    KV_TRY(std::string text, TextOf(member, each));
    list.push_back(std::move(text));
  }
  return list;
}

// Reads a map whose values `read` reads.
template <class Value, class ReadValue>
Result<void> ReadMap(std::string_view member, const Json& json, std::string_view wanted,
                     std::map<std::string, Value>& value, ReadValue read) {
  if (!json.is_object()) return Fail(WrongType(member, json, wanted));
  std::map<std::string, Value> map;
  for (const auto& [key, each] : json.items()) {
    KV_TRY(map[key], read(each));
  }
  value = std::move(map);
  return {};
}

}  // namespace

Error WrongType(std::string_view member, const Json& value, std::string_view wanted) {
  std::string_view type = value.type_name();
  if (type == "boolean") type = "bool";
  return {.code = Code::kInvalidArgument,
          .message = "json: cannot unmarshal " + std::string(type) + " into Go struct field ." +
                     std::string(member) + " of type " + std::string(wanted)};
}

Result<Json> ParseBody(std::string_view text) {
  if (sync::JsonDepth(text) > kMaxBodyDepth)
    return Fail(Code::kInvalidArgument, "json: nested too deeply");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Fail(Code::kInvalidArgument, "EOF");
  if (WidestObject(text) > kMaxMembers)
    return Fail(Code::kInvalidArgument, "json: an object has too many members");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(Code::kInvalidArgument, "json: the text is not valid JSON");
  return json;
}

std::string_view FirstValue(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) return text;
  std::size_t depth = 0;
  JsonStrings strings;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (strings.Take(c)) continue;
    if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return text;
}

Fields::Fields(const Json& object) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    std::string lower = LowerCase(name);
    if (value.is_null()) continue;
    if (lower.contains('_')) {
      std::erase(lower, '_');
      snake_.insert_or_assign(std::move(lower), Member{name, &value});
    } else {
      plain_.insert_or_assign(std::move(lower), Member{name, &value});
    }
  }
}

const Json* Fields::Find(std::string_view name) {
  const std::string lower = LowerCase(std::string(name));
  asked_.insert(lower);
  if (const auto found = plain_.find(lower); found != plain_.end()) return found->second.value;
  const auto found = snake_.find(lower);
  return found == snake_.end() ? nullptr : found->second.value;
}

Result<void> Fields::Read(std::string_view name, std::string& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  KV_TRY(value, TextOf(name, *json));
  return {};
}

Result<void> Fields::Read(std::string_view name, bool& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  if (!json->is_boolean()) return Fail(WrongType(name, *json, "bool"));
  value = json->get<bool>();
  return {};
}

Result<void> Fields::Read(std::string_view name, int& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  const bool fits = json->is_number_unsigned() ? std::in_range<int>(json->get<std::uint64_t>())
                                               : json->is_number_integer() &&
                                                     std::in_range<int>(json->get<std::int64_t>());
  if (!fits) return Fail(WrongType(name, *json, "int"));
  value = json->get<int>();
  return {};
}

Result<void> Fields::Read(std::string_view name, std::uint64_t& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  if (!json->is_number_unsigned()) return Fail(WrongType(name, *json, "uint64"));
  value = json->get<std::uint64_t>();
  return {};
}

Result<void> Fields::Read(std::string_view name, Duration& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  KV_TRY(value, DurationOf(*json));
  return {};
}

Result<void> Fields::Read(std::string_view name, std::vector<std::string>& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  KV_TRY(value, ListOf(name, *json));
  return {};
}

Result<void> Fields::Read(std::string_view name, std::map<std::string, std::string>& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  return ReadMap(name, *json, "map[string]string", value,
                 [&](const Json& each) { return TextOf(name, each); });
}

Result<void> Fields::Read(std::string_view name,
                          std::map<std::string, std::vector<std::string>>& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  return ReadMap(name, *json, "map[string][]string", value,
                 [&](const Json& each) { return ListOf(name, each); });
}

Result<void> Fields::Read(std::string_view name, std::map<std::string, TaggedAddress>& value) {
  const Json* const json = Find(name);
  if (json == nullptr) return {};
  return ReadMap(name, *json, "map[string]ServiceAddress", value,
                 [&](const Json& each) -> Result<TaggedAddress> {
                   if (!each.is_object()) return Fail(WrongType(name, each, "ServiceAddress"));
                   Fields fields(each);
                   TaggedAddress address;
                   KV_RETURN_IF_ERROR(fields.Read("Address", address.address));
                   KV_RETURN_IF_ERROR(fields.Read("Port", address.port));
                   return address;
                 });
}

std::vector<std::string> Fields::Unknown() const {
  std::vector<std::string> names;
  for (const auto* members : {&plain_, &snake_}) {
    for (const auto& [lower, member] : *members) {
      if (!asked_.contains(lower)) names.push_back(member.name);
    }
  }
  return names;
}

}  // namespace kvorum::consul
