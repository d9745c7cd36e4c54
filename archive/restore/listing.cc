#include "archive/restore/listing.h"

#include <utility>

#include "archive/format/records.h"
#include "archive/restore/object_reads.h"

namespace kvorum::archive {
namespace {

// kDataLoss for a record that is not this history's.
Result<HistoryRecord> ReadRecord(ObjectStore& store, HistoryId id) {
  const std::string key = KeyText({.history = id, .name = HistoryFileName{}});
  const auto bytes = ReadObject(store, key, kMaxHeaderBytes);
  if (!bytes.has_value()) return std::unexpected(ToError(bytes.error()));
  auto record = ParseHistoryRecord(*bytes);
  if (!record.has_value() || record->id != id)
    return Fail(Code::kDataLoss, key + ": it does not tell of this history");
  return record;
}

}  // namespace

Result<Listing> ReadListing(
    ObjectStore& store,
    const std::function<void(std::string_view key, std::uint64_t size_bytes)>& on_key) {
  Listing listing;
  const auto listed = store.List({}, [&](std::string_view key, std::uint64_t size_bytes) {
    listing.contents.Add(key);
    if (on_key) on_key(key, size_bytes);
    return true;
  });
  if (!listed.has_value()) return std::unexpected(ToError(listed.error()));
  listing.contents.Sort();
  for (auto& [id, history] : listing.contents.histories) {
    if (!history.has_file) {
      listing.problems.push_back("history " + HistoryText(id) + " has no history.json");
      continue;
    }
    auto record = ReadRecord(store, id);
    if (record.has_value()) {
      history.record = *std::move(record);
    } else if (record.error().code == Code::kDataLoss || record.error().code == Code::kNotFound) {
      listing.problems.push_back(std::move(record).error().message);
    } else {
      return std::unexpected(std::move(record).error());
    }
  }
  return listing;
}

Result<void> CountWholeBases(ObjectStore& store, Contents& contents) {
  for (auto& [id, history] : contents.histories) {
    for (Base& base : history.bases) {
      if (base.has_manifest || base.parts == 0) continue;
      const auto last = ReadPartHeader(
          store, {.history = id, .name = PartName{.base = base.name, .number = base.parts - 1}});
      if (last.has_value()) {
        base.has_manifest = last->end.has_value();
      } else if (last.error().object.empty()) {
        return std::unexpected(last.error().error);
      }
    }
  }
  return {};
}

}  // namespace kvorum::archive
