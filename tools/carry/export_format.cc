#include "tools/carry/export_format.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "base/text/parse_number.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

constexpr std::string_view kFormat = "kvorum-export-1";

std::unexpected<Error> Bad(std::string_view why) {
  return Fail(Code::kInvalidArgument, std::string(why));
}

std::string HexText(std::uint64_t number) { return fmt::format("\"{:x}\"", number); }

// Reads the fields of one object; the first that is wrong is remembered.
class Fields {
 public:
  explicit Fields(const nlohmann::json& object) : object_(object) {}

  std::int64_t Number(const char* name, std::optional<std::int64_t> otherwise = {}) {
    const auto it = object_.find(name);
    if (it == object_.end()) return otherwise ? *otherwise : Missing(name);
    if (!it->is_number_integer()) return Missing(name);
    return it->get<std::int64_t>();
  }
  std::uint64_t Hex(const char* name, std::optional<std::uint64_t> otherwise = {}) {
    const auto it = object_.find(name);
    if (it == object_.end() && otherwise) return *otherwise;
    if (it != object_.end() && it->is_string())
      if (const auto number = ParseNumber<std::uint64_t>(it->get_ref<const std::string&>(), 16))
        return *number;
    return static_cast<std::uint64_t>(Missing(name));
  }
  std::string Bytes(const char* name) {
    const auto it = object_.find(name);
    if (it != object_.end() && it->is_string())
      if (auto bytes = DecodeBase64(Base64::kStandard, it->get_ref<const std::string&>()))
        return *std::move(bytes);
    Missing(name);
    return {};
  }

  // The line, if every field was right.
  template <class Line>
  Result<ExportLine> Whole(Line line) const {
    if (!wrong_.empty()) return Bad("\"" + wrong_ + "\" is missing or wrong");
    return ExportLine(std::move(line));
  }

 private:
  std::int64_t Missing(const char* name) {
    if (wrong_.empty()) wrong_ = name;
    return 0;
  }

  const nlohmann::json& object_;
  std::string wrong_;
};

std::string Write(const ExportHead& head) {
  return JsonObject()
      .Add("format", JsonString(kFormat))
      .Add("cluster", HexText(head.cluster))
      .Add("revision", std::to_string(head.revision))
      .Add("prefix", JsonBytes(head.prefix))
      .Add("keys", std::to_string(head.keys))
      .Finish();
}

std::string Write(const ExportedKey& key) {
  JsonObject object;
  object.Add("key", JsonBytes(key.key))
      .Add("value", JsonBytes(key.value))
      .Add("create_revision", std::to_string(key.create_revision))
      .Add("mod_revision", std::to_string(key.mod_revision))
      .Add("version", std::to_string(key.version));
  if (key.lease != 0)
    object.Add("lease", HexText(static_cast<std::uint64_t>(key.lease)))
        .Add("ttl", std::to_string(key.ttl_s));
  return object.Finish();
}

std::string Write(const ExportEnd& end) {
  return JsonObject().Add("end", "true").Add("keys", std::to_string(end.keys)).Finish();
}

}  // namespace

std::string WriteExportLine(const ExportLine& line) {
  return std::visit([](const auto& one) { return Write(one); }, line);
}

Result<ExportLine> ReadExportLine(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Bad("not a JSON object");
  Fields fields(object);
  if (const auto format = object.find("format"); format != object.end()) {
    if (*format != kFormat) return Bad("not an export of this format");
    ExportHead head{.cluster = fields.Hex("cluster"), .revision = fields.Number("revision")};
    head.prefix = fields.Bytes("prefix");
    head.keys = fields.Number("keys");
    return fields.Whole(std::move(head));
  }
  if (object.contains("end")) return fields.Whole(ExportEnd{.keys = fields.Number("keys")});
  ExportedKey key{.key = fields.Bytes("key"), .value = fields.Bytes("value")};
  if (key.key.empty()) return Bad("\"key\" is missing or wrong");
  key.create_revision = fields.Number("create_revision", 0);
  key.mod_revision = fields.Number("mod_revision", 0);
  key.version = fields.Number("version", 0);
  key.lease = static_cast<std::int64_t>(fields.Hex("lease", 0));
  key.ttl_s = fields.Number("ttl", 0);
  return fields.Whole(std::move(key));
}

}  // namespace kvorum::ctl
