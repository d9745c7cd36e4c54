#include "tools/text/json_index.h"

#include <optional>
#include <utility>

namespace kvorum::ctl {
namespace {

constexpr std::size_t kMaxDepth = 256;

std::optional<std::string> EntryOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

}  // namespace

Result<JsonIndex> ParseJsonIndex(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return Fail(Code::kInvalidArgument, "\"" + std::string(text) + "\" is not NAME=POINTER");
  KV_TRY(JsonPointer pointer, JsonPointer::Parse(text.substr(equals + 1)));
  return JsonIndex{.name = std::string(text.substr(0, equals)), .pointer = std::move(pointer)};
}

std::vector<std::string> IndexEntries(const JsonIndex& index, std::string_view value) {
  const auto document = ParseDocument(value, kMaxDepth);
  if (!document) return {};
  const nlohmann::json* const place = index.pointer.Find(*document);
  if (place == nullptr) return {};
  std::vector<std::string> entries;
  const auto add = [&](const nlohmann::json& each) {
    if (auto entry = EntryOf(each)) entries.push_back(*std::move(entry));
  };
  if (!place->is_array()) {
    add(*place);
  } else {
    for (const nlohmann::json& each : *place) add(each);
  }
  return entries;
}

}  // namespace kvorum::ctl
