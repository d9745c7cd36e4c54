#include "datadir/archive_origin.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/parse_number.h"

namespace kvorum::datadir {
namespace {

constexpr std::uint64_t kMaxOriginBytes = 4'096;
constexpr std::size_t kHistoryDigits = 16;
constexpr int kHexadecimal = 16;

std::unexpected<Error> FailOrigin(const std::string& path) {
  return Fail(Code::kDataLoss, path + " does not tell where the data left an archive");
}

std::optional<std::uint64_t> HistoryOf(const nlohmann::json& json) {
  const auto text = json.value("history", "");
  if (text.size() != kHistoryDigits) return std::nullopt;
  return ParseNumber<std::uint64_t>(std::string_view(text), kHexadecimal);
}

bool IsNumber(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number_unsigned();
}

bool IsText(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string();
}

}  // namespace

std::string ArchiveOriginPath(const std::string& data_dir) {
  return data_dir + "/member/archive-origin.json";
}

Result<void> WriteArchiveOrigin(FileSystem& fs, const std::string& data_dir,
                                const ArchiveOrigin& origin) {
  const nlohmann::ordered_json json = {{"reason", origin.reason},
                                       {"history", fmt::format("{:016x}", origin.history)},
                                       {"index", origin.index.value()},
                                       {"revision", origin.revision}};
  return WriteFileAtomically(fs, ArchiveOriginPath(data_dir), json.dump() + "\n");
}

Result<std::optional<ArchiveOrigin>> ReadArchiveOrigin(FileSystem& fs,
                                                       const std::string& data_dir) {
  const std::string path = ArchiveOriginPath(data_dir);
  KV_TRY(const bool is_there, fs.Exists(path));
  if (!is_there) return std::nullopt;
  KV_TRY(const std::string text, ReadWholeFile(fs, path, kMaxOriginBytes));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool has_all = json.is_object() && IsText(json, "reason") && IsText(json, "history") &&
                       IsNumber(json, "index") && IsNumber(json, "revision");
  if (!has_all) return FailOrigin(path);
  const auto history = HistoryOf(json);
  const auto revision = json["revision"].get<std::uint64_t>();
  if (!history || !std::in_range<std::int64_t>(revision)) return FailOrigin(path);
  return ArchiveOrigin{.reason = json["reason"].get<std::string>(),
                       .history = *history,
                       .index = raft::Index{json["index"].get<std::uint64_t>()},
                       .revision = static_cast<std::int64_t>(revision)};
}

}  // namespace kvorum::datadir
