// Both ways between a record and its JSON in the store by one list of its members: a function
// Describe(archive, record) names them in their order, for a MemberWriter or a MemberReader.
//
// Pure; for one thread. Only for records.cc: its templates read nlohmann's header.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "consul/model/ids.h"
#include "consul/model/records.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {

using sync::Json;

// A record that is written, or one that is read.
template <class Given, class Record>
concept Is = std::same_as<std::remove_const_t<Given>, Record>;

// A name that cannot be encoded was refused where it came from; as itself it does no harm here.
inline std::string EncodedOrItself(std::string_view name) {
  return EncodeName(name).value_or(std::string(name));
}

class MemberWriter {
 public:
  static constexpr bool kReads = false;

  // Left out if it has the usual value.
  template <class Value>
  void Member(const char* name, const Value& value,
              const std::type_identity_t<Value>& usual = Value{}) {
    if (value != usual) json[name] = JsonOf(value);
  }
  template <class Value>
  void Always(const char* name, const Value& value) {
    json[name] = JsonOf(value);
  }
  // Stands in the key as well, from where it is read.
  void Key(const char* name, const std::string& encoded) { json[name] = encoded; }
  void Needed(const char* name, const std::string& value) { json[name] = value; }
  // Encoded.
  void Name(const char* name, const std::string& value) { json[name] = EncodedOrItself(value); }
  void Status(const char* name, Health health) { json[name] = sync::HealthName(health); }
  // An object as text, left out if it is empty.
  void ObjectText(const char* name, const std::string& text) {
    Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (object.is_object() && !object.empty()) json[name] = std::move(object);
  }
  // An object whose members `describe` names.
  template <class DescribeMembers>
  void Object(const char* name, DescribeMembers describe) {
    MemberWriter members;
    describe(members);
    json[name] = std::move(members.json);
  }
  template <class Record, class DescribeRecord>
  void List(const char* name, const std::vector<Record>& records, DescribeRecord describe) {
    Json& list = json[name] = Json::array();
    for (const Record& record : records) {
      MemberWriter members;
      describe(members, record);
      list.push_back(std::move(members.json));
    }
  }

  Json json = Json::object();

 private:
  template <class Value>
  static Json JsonOf(const Value& value) {
    return value;
  }
  static Json JsonOf(const std::map<std::string, TaggedAddress>& value) {
    Json object = Json::object();
    for (const auto& [name, tagged] : value)
      object[name] = {{"address", tagged.address}, {"port", tagged.port}};
    return object;
  }
};

// A member that is missing leaves the value as it is; one of another type is an error, of which the
// first stays.
class MemberReader {
 public:
  static constexpr bool kReads = true;

  // Anything but an object is an error.
  explicit MemberReader(const Json& json) : json_(json) {
    if (!json.is_object()) Refuse("the record");
  }

  template <class Value>
  void Member(const char* name, Value& value, const std::type_identity_t<Value>& = Value{}) {
    Always(name, value);
  }
  template <class Value>
  void Always(const char* name, Value& value) {
    const Json* const found = Find(name);
    if (found != nullptr && !Take(*found, value)) Refuse(name);
  }
  void Key(const char* /*name*/, const std::string& /*encoded*/) {}
  void Needed(const char* name, std::string& value) {
    if (!outcome) return;
    auto text = sync::StringOf(json_, name);
    if (text)
      value = *std::move(text);
    else
      outcome = std::unexpected(text.error());
  }
  void Name(const char* name, std::string& value) {
    Needed(name, value);
    value = DecodePart(value);
  }
  void Status(const char* name, Health& health) {
    std::string text;
    Needed(name, text);
    if (!outcome) return;
    const auto read = sync::HealthOf(text);
    if (read)
      health = *read;
    else
      outcome = std::unexpected(read.error());
  }
  void ObjectText(const char* name, std::string& text) {
    const Json* const found = Find(name);
    if (found == nullptr) return;
    if (!found->is_object()) return Refuse(name);
    if (!found->empty()) text = found->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  template <class DescribeMembers>
  void Object(const char* name, DescribeMembers describe) {
    const Json* const found = Find(name);
    if (found == nullptr) return;
    if (!found->is_object()) return Refuse(name);
    MemberReader members(*found);
    describe(members);
    outcome = std::move(members.outcome);
  }
  template <class Record, class DescribeRecord>
  void List(const char* name, std::vector<Record>& records, DescribeRecord describe) {
    const Json* const found = Find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return Refuse(name);
    for (const Json& each : *found) {
      if (!each.is_object()) return Refuse(name);
      MemberReader members(each);
      describe(members, records.emplace_back());
      outcome = std::move(members.outcome);
      if (!outcome) return;
    }
  }

  Result<void> outcome = {};

 private:
  // Null: it is missing, or something was wrong before.
  const Json* Find(const char* name) const {
    const auto found = json_.find(name);
    return !outcome || found == json_.end() ? nullptr : &*found;
  }
  void Refuse(std::string_view name) {
    outcome = Fail(Code::kInvalidArgument, "\"" + std::string(name) + "\" is of another type");
  }

  static bool Take(const Json& json, std::string& value) {
    if (!json.is_string()) return false;
    value = json.get<std::string>();
    return true;
  }
  static bool Take(const Json& json, bool& value) {
    if (!json.is_boolean()) return false;
    value = json.get<bool>();
    return true;
  }
  template <std::signed_integral Number>
  static bool Take(const Json& json, Number& value) {
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned() ? !std::in_range<Number>(json.get<std::uint64_t>())
                                  : !std::in_range<Number>(json.get<std::int64_t>()))
      return false;
    value = json.get<Number>();
    return true;
  }
  static bool Take(const Json& json, std::vector<std::string>& value) {
    if (!json.is_array()) return false;
    for (const Json& each : json) {
      if (!Take(each, value.emplace_back())) return false;
    }
    return true;
  }
  static bool Take(const Json& json, TaggedAddress& value) {
    if (!json.is_object()) return false;
    MemberReader members(json);
    members.Always("address", value.address);
    members.Always("port", value.port);
    return members.outcome.has_value();
  }
  template <class Value>
  static bool Take(const Json& json, std::map<std::string, Value>& value) {
    if (!json.is_object()) return false;
    for (const auto& [key, each] : json.items()) {
      if (!Take(each, value[key])) return false;
    }
    return true;
  }

  const Json& json_;
};

}  // namespace kvorum::consul
