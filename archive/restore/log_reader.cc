#include "archive/restore/log_reader.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace kvorum::archive {
namespace {

bool AreEqual(const raft::Entry& a, const raft::Entry& b) {
  return a.index == b.index && a.term == b.term && a.type == b.type &&
         a.data.view() == b.data.view();
}

}  // namespace

LogReader::LogReader(ObjectStore& store, const Plan& plan, raft::Term base_term, Ahead ahead)
    : plan_(plan),
      last_(plan.base.index),
      last_term_(base_term),
      marks_{
          {.index = plan.base.index, .time_ms = plan.base.time_ms, .revision = plan.base.revision}},
      objects_(
          store,
          [this]() -> std::optional<std::string> {
            if (asked_ == plan_.logs.size()) return std::nullopt;
            return KeyText({.history = plan_.history, .name = plan_.logs[asked_++]});
          },
          ahead) {}

Read<std::vector<raft::Entry>> LogReader::Next() {
  while (!is_at_target_ && taken_ < plan_.logs.size()) {
    KV_TRY(const auto object, objects_.Next());
    const ObjectKey key = {.history = plan_.history, .name = plan_.logs[taken_]};
    auto read = ReadLogObject(key, object->bytes);
    if (!read.has_value()) return FailObject(object->key, read.error().message);
    KV_RETURN_IF_ERROR(CheckFollows(*read));
    const raft::Index end = EndWithin(read->header);
    is_at_target_ = end < read->header.name.last || end == plan_.end;
    object_ = object->key;
    std::vector<raft::Entry> entries = std::move(read->entries);
    overlapped_ = IsOverlapped(taken_ + 1) ? entries : std::vector<raft::Entry>();
    ++taken_;
    std::erase_if(entries, [&](const raft::Entry& entry) {
      return entry.index <= last_ || entry.index > end;
    });
    std::ranges::copy_if(read->header.times, std::back_inserter(marks_), [&](const TimeMark& mark) {
      return mark.index > marks_.back().index && mark.index <= end;
    });
    header_ = std::move(read->header);
    if (entries.empty()) continue;
    last_ = entries.back().index;
    last_term_ = entries.back().term;
    return entries;
  }
  return std::vector<raft::Entry>();
}

bool LogReader::IsOverlapped(std::size_t object) const {
  return object < plan_.logs.size() && plan_.logs[object].first <= plan_.logs[object - 1].last;
}

// Another leader's object names another predecessor, which ends at the same entry.
// A writer that declared a gap names the object before the gap; the entries between may be in
// objects of another writer, or lie before the base.
bool LogReader::NamesPredecessor(const LogHeader& header) const {
  if (header.previous.empty() || header.previous == object_) return true;
  const auto previous = ParseKey(header.previous);
  const auto* name = previous ? std::get_if<LogName>(&previous->name) : nullptr;
  return name != nullptr && previous->history == plan_.history && name->last < header.name.first;
}

Read<void> LogReader::CheckFollows(const LogContent& content) const {
  const LogHeader& header = content.header;
  const std::string key = KeyText({.history = plan_.history, .name = header.name});
  if (header.name.first > last_ + 1 || header.name.last <= last_)
    return FailObject(key, "it does not hold the entries behind those before it");
  if (!NamesPredecessor(header)) return FailObject(key, "it names a wrong predecessor");
  if (header_ && header.previous == object_ &&
      (header.previous_crc != header_->end_crc || header.name.first != last_ + 1))
    return FailObject(key, "it does not go on where its predecessor ends");
  if (header.name.first == last_ + 1 && header.first_term < last_term_)
    return FailObject(key, "its term is lower than the one before it");
  if (header.name.first <= last_ && content.entries[last_ - header.name.first].term != last_term_)
    return FailObject(key, "its entries are not those behind the ones before it");
  for (const raft::Entry& before : overlapped_) {
    if (before.index < header.name.first) continue;
    if (!AreEqual(before, content.entries[before.index - header.name.first]))
      return FailObject(key, "an entry differs from the one that " + object_ + " has");
  }
  return {};
}

raft::Index LogReader::EndWithin(const LogHeader& header) const {
  raft::Index end = header.name.last;
  if (const auto* to = std::get_if<ToIndex>(&plan_.target)) end = std::min(end, to->index);
  if (const auto* to = std::get_if<ToTime>(&plan_.target);
      to != nullptr && header.name.time_ms > to->time_ms) {
    // Behind the last one there is nothing in time.
    end = last_;
    for (const TimeMark& mark : header.times) {
      if (mark.time_ms <= to->time_ms) end = std::max(end, mark.index);
    }
  }
  if (plan_.end) end = std::min(end, *plan_.end);
  return end;
}

TimeMark LogReader::MarkAt(raft::Index index) {
  const auto behind = std::ranges::upper_bound(marks_, index, {}, &TimeMark::index);
  if (behind == marks_.begin()) return marks_.front();
  marks_.erase(marks_.begin(), behind - 1);
  return marks_.front();
}

}  // namespace kvorum::archive
