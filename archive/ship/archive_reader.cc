#include "archive/ship/archive_reader.h"

#include <string_view>
#include <utility>

namespace kvorum::archive {
namespace {

// Names at the top of an archive that are looked at, foreign ones too.
constexpr std::size_t kMaxTopNames = 10'000;

// A small object; nullopt if there is none.
ShipResult<std::optional<std::string>> ReadIfThere(ObjectStore& store, const std::string& key) {
  auto content = ReadObject(store, key, kMaxHeaderBytes);
  if (content.has_value()) return *std::move(content);
  if (content.error().kind == StoreErrorKind::kAbsent) return std::nullopt;
  return std::unexpected(std::move(content).error());
}

// The histories that have any object. Their objects are passed over: behind the first key of each
// the listing begins anew, behind all that it has.
ShipResult<std::vector<HistoryId>> ListHistories(ObjectStore& store) {
  std::vector<HistoryId> ids;
  std::string after;
  for (std::size_t names = 0; names < kMaxTopNames; ++names) {
    std::string found;
    KV_RETURN_IF_ERROR(
        store.List({.prefix = {}, .after = after}, [&](std::string_view key, std::uint64_t) {
          found = key;
          return false;
        }));
    if (found.empty()) return ids;
    const std::size_t slash = found.find('/');
    if (slash == std::string::npos) {
      after = found;
      continue;
    }
    const std::string top = found.substr(0, slash);
    if (const auto id = ParseHistory(top)) ids.push_back(*id);
    // '~' sorts behind each character of our names.
    after = std::max(found, top + "/~");
  }
  return ShipFail(ShipErrorKind::kRefused,
                  store.name() + ": more than " + std::to_string(kMaxTopNames) +
                      " names that are not of an archive: give it a prefix or folder of its own");
}

}  // namespace

ShipResult<std::optional<HistoryRecord>> ReadHistory(ObjectStore& store, HistoryId id) {
  const std::string key = KeyText({.history = id, .name = HistoryFileName{}});
  KV_TRY(const auto content, ReadIfThere(store, key));
  if (!content) return std::nullopt;
  auto record = ParseHistoryRecord(*content);
  if (!record || record->id != id)
    return ShipFail(ShipErrorKind::kRefused, key + ": this history's record is damaged");
  return *std::move(record);
}

ShipResult<std::vector<HistoryRecord>> ReadHistories(ObjectStore& store) {
  KV_TRY(const std::vector<HistoryId> ids, ListHistories(store));
  std::vector<HistoryRecord> records;
  for (const HistoryId id : ids) {
    KV_TRY(auto record, ReadHistory(store, id));
    if (record) records.push_back(*std::move(record));
  }
  return records;
}

ShipResult<std::optional<Mark>> ReadMark(ObjectStore& store, HistoryId history) {
  KV_TRY(const auto content,
         ReadIfThere(store, KeyText({.history = history, .name = MarkName{}})));
  if (!content) return std::nullopt;
  auto mark = ParseMark(*content);
  if (!mark) return std::nullopt;
  return *std::move(mark);
}

ShipResult<std::optional<BaseName>> FindNewestBase(ObjectStore& store, HistoryId history) {
  std::optional<BaseName> newest;
  KV_RETURN_IF_ERROR(store.List({.prefix = BasePrefix(history), .after = {}},
                                [&](std::string_view text, std::uint64_t) {
                                  const auto key = ParseKey(text);
                                  const auto* name =
                                      key ? std::get_if<ManifestName>(&key->name) : nullptr;
                                  if (name != nullptr && (!newest || *newest < name->base))
                                    newest = name->base;
                                  return true;
                                }));
  return newest;
}

ShipResult<LogPlace> FindLogPlace(ObjectStore& store, HistoryId history, const std::string& from) {
  LogPlace place;
  const auto take = [&](std::string_view text) {
    const auto key = ParseKey(text);
    if (!key || key->history != history) return;
    if (const auto* log = std::get_if<LogName>(&key->name)) {
      if (!place.log || place.log->last < log->last) place.log = *log;
    } else if (const auto* gap = std::get_if<GapName>(&key->name)) {
      if (!place.gap || place.gap->to < gap->to) place.gap = *gap;
    }
  };
  take(from);
  for (const std::string& prefix : {LogPrefix(history), GapPrefix(history)}) {
    const bool is_log = prefix == LogPrefix(history);
    KV_RETURN_IF_ERROR(store.List({.prefix = prefix, .after = is_log ? from : std::string()},
                                  [&](std::string_view key, std::uint64_t) {
                                    take(key);
                                    return true;
                                  }));
  }
  return place;
}

}  // namespace kvorum::archive
