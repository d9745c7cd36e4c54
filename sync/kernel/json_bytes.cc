#include "sync/kernel/json_bytes.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "sync/kernel/json_depth.h"

namespace kvorum::sync {
namespace {

constexpr std::string_view kBase64Suffix = "_base64";

std::unexpected<Error> Wrong(const std::string& name, std::string_view why) {
  return Fail(Code::kInvalidArgument, "\"" + name + "\" " + std::string(why));
}

}  // namespace

void SetBytes(Json& object, const std::string& name, const std::string& bytes) {
  if (IsValidUtf8(bytes)) {
    object[name] = bytes;
  } else {
    object[name + std::string(kBase64Suffix)] = EncodeBase64(Base64::kStandard, bytes);
  }
}

Result<std::string> BytesOf(const Json& object, const std::string& name) {
  const std::string encoded_name = name + std::string(kBase64Suffix);
  if (!object.contains(encoded_name)) return StringOf(object, name);
  KV_TRY(const std::string encoded, StringOf(object, encoded_name));
  auto bytes = DecodeBase64(Base64::kStandard, encoded);
  if (!bytes) return Wrong(encoded_name, "is not base64");
  return *std::move(bytes);
}

Result<Json> ParseObject(std::string_view what, std::string_view text) {
  if (JsonDepth(text) > kMaxJsonDepth)
    return Fail(Code::kInvalidArgument, std::string(what) + " is nested too deeply");
  Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Fail(Code::kInvalidArgument, std::string(what) + " is not a JSON object");
  return object;
}

Result<std::string> StringOf(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return Wrong(name, "is not a string");
  return found->get<std::string>();
}

Result<std::int64_t> IntegerOf(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return Wrong(name, "is not an integer");
  return found->get<std::int64_t>();
}

Result<Json> ArrayOf(const Json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) return Json::array();
  if (!found->is_array()) return Wrong(name, "is not an array");
  return *found;
}

}  // namespace kvorum::sync
