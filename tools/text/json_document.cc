#include "tools/text/json_document.h"

#include <utility>

#include "base/text/parse_number.h"
#include "sync/kernel/json_depth.h"

namespace kvorum::ctl {
namespace {

std::unexpected<Error> BadPointer(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalidArgument,
              "\"" + std::string(text) + "\" is not a JSON pointer: " + std::string(why));
}

Result<std::string> Unescape(std::string_view text, std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      name += token[i];
      continue;
    }
    const char code = ++i < token.size() ? token[i] : '\0';
    if (code != '0' && code != '1') return BadPointer(text, "~ is not followed by 0 or 1");
    name += code == '0' ? '~' : '/';
  }
  return name;
}

// No sign, no leading zero.
const nlohmann::json* Element(const nlohmann::json& array, std::string_view token) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return nullptr;
  const auto index = ParseNumber<std::size_t>(token);
  return index && *index < array.size() ? &array[*index] : nullptr;
}

}  // namespace

std::optional<nlohmann::json> ParseDocument(std::string_view text, std::size_t max_depth) {
  if (sync::JsonDepth(text) > max_depth) return std::nullopt;
  auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

Result<JsonPointer> JsonPointer::Parse(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') return BadPointer(text, "it does not begin with a slash");
  std::string_view rest = text.substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    KV_TRY(std::string name, Unescape(text, rest.substr(0, slash)));
    pointer.tokens_.push_back(std::move(name));
    if (slash == std::string_view::npos) return pointer;
    rest.remove_prefix(slash + 1);
  }
}

const nlohmann::json* JsonPointer::Find(const nlohmann::json& document) const {
  const nlohmann::json* place = &document;
  for (const std::string& token : tokens_) {
    if (place->is_array()) {
      place = Element(*place, token);
    } else if (place->is_object()) {
      const auto found = place->find(token);
      place = found == place->end() ? nullptr : &*found;
    } else {
      return nullptr;
    }
    if (place == nullptr) return nullptr;
  }
  return place;
}

}  // namespace kvorum::ctl
