#include "archive/catalog/survey.h"

#include <utility>
#include <variant>

namespace kvorum::archive {
namespace {

struct AddSize {
  HistoryDetails& details;
  std::uint64_t size_bytes;

  void operator()(const HistoryFileName&) const {}
  void operator()(const MarkName&) const {}
  void operator()(const GapName&) const {}
  void operator()(const LogName&) const { details.log_bytes += size_bytes; }
  void operator()(const ManifestName& name) const { details.base_bytes[name.base] += size_bytes; }
  void operator()(const PartName& name) const { details.base_bytes[name.base] += size_bytes; }
};

// A record that is an object by itself. Nothing, and maybe a problem, if there is none.
template <class Record>
StoreResult<std::optional<Record>> ReadRecord(ObjectStore& store, const ObjectKey& key,
                                              Result<Record> (*parse)(std::string_view),
                                              std::string& problem) {
  const auto bytes = ReadObject(store, KeyText(key), kMaxHeaderBytes);
  if (!bytes.has_value()) {
    const StoreErrorKind kind = bytes.error().kind;
    if (kind == StoreErrorKind::kAbsent) return std::nullopt;
    if (kind != StoreErrorKind::kDamaged && kind != StoreErrorKind::kInvalid)
      return std::unexpected(bytes.error());
    problem = bytes.error().text;
    return std::nullopt;
  }
  auto record = parse(*bytes);
  if (record.has_value()) return *std::move(record);
  problem = record.error().message;
  return std::nullopt;
}

StoreResult<void> ReadRecords(ObjectStore& store, HistoryId id, History& history,
                              HistoryDetails& details) {
  if (history.has_file) {
    KV_TRY(history.record, ReadRecord(store, {.history = id, .name = HistoryFileName{}},
                                      &ParseHistoryRecord, details.record_problem));
    if (history.record && history.record->id != id) {
      details.record_problem = "it is the record of history " + HistoryText(history.record->id);
      history.record.reset();
    }
  }
  if (history.has_mark) {
    KV_TRY(details.mark, ReadRecord(store, {.history = id, .name = MarkName{}}, &ParseMark,
                                    details.mark_problem));
  }
  return {};
}

}  // namespace

StoreResult<Survey> TakeSurvey(ObjectStore& store) {
  Survey survey;
  KV_RETURN_IF_ERROR(store.List({}, [&](std::string_view key, std::uint64_t size_bytes) {
    survey.contents.Add(key);
    const auto parsed = ParseKey(key);
    if (!parsed) return true;
    ++survey.objects;
    survey.size_bytes += size_bytes;
    std::visit(AddSize{survey.details[parsed->history], size_bytes}, parsed->name);
    return true;
  }));
  survey.contents.Sort();
  for (auto& [id, history] : survey.contents.histories)
    KV_RETURN_IF_ERROR(ReadRecords(store, id, history, survey.details[id]));
  return survey;
}

}  // namespace kvorum::archive
