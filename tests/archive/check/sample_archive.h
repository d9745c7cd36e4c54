// An archive with a history that a child history left, and a model of the states in it.
//
// The state after an entry is the data of all entries up to it, one after the other, and an image
// of the state is just that. So a restored state can be compared with the right one. Revisions are
// indices; an entry's time is ten times its index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/format/frame.h"
#include "archive/format/log_object.h"
#include "archive/format/names.h"
#include "archive/format/records.h"
#include "base/digest/sha256.h"
#include "tests/archive/memory_store.h"

namespace kvorum::archive {

inline std::int64_t RevisionAt(std::uint64_t index) { return static_cast<std::int64_t>(index); }
inline UnixMillis TimeAt(std::uint64_t index) { return static_cast<UnixMillis>(10 * index); }

inline BaseName SampleBase(std::uint64_t index) {
  return {.index = raft::Index{index}, .revision = RevisionAt(index), .time_ms = TimeAt(index)};
}

// Writes one history.
class SampleHistory {
 public:
  // `data` begins each entry's data, so that no two histories have equal ones.
  SampleHistory(MemoryStore& store, HistoryId id, std::string data, std::uint64_t first,
                std::string state)
      : store_(store), id_(id), data_(std::move(data)), first_(first), states_{std::move(state)} {}

  std::string Key(const ObjectName& name) const { return KeyText({.history = id_, .name = name}); }
  std::uint64_t last() const { return first_ + states_.size() - 2; }
  // The state after the entry.
  const std::string& State(std::uint64_t index) const { return states_[index - first_ + 1]; }

  void PutRecord(std::optional<Origin> parent = std::nullopt) {
    store_.objects[Key(HistoryFileName{})] =
        ToJson(HistoryRecord{.id = id_,
                             .cluster_id = 7,
                             .reason = parent ? "restore" : "new",
                             .began_ms = 1,
                             .first = raft::Index{first_},
                             .parent = parent});
  }
  // A log object of the next entries.
  std::string PutLog(std::uint64_t count) {
    std::vector<raft::Entry> entries;
    std::vector<TimeMark> times;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t index = last() + 1;
      const std::string data = data_ + std::to_string(index) + ";";
      states_.push_back(states_.back() + data);
      entries.push_back({.term = TermAt(index),
                         .index = raft::Index{index},
                         .data = SharedBytes::Own(std::string(data))});
      times.push_back(
          {.index = raft::Index{index}, .time_ms = TimeAt(index), .revision = RevisionAt(index)});
    }
    const LogObject object = MakeLogObject(id_, end_, entries, std::move(times), "metadata");
    end_ = object.end;
    store_.objects[object.end.key] = object.bytes;
    return object.end.key;
  }
  // Entries that go into no object.
  void Skip(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      states_.push_back(states_.back() + data_ + std::to_string(last() + 1) + ";");
  }
  // A base of the state after the entry, in three parts.
  void PutBase(std::uint64_t index) {
    const std::string& image = State(index);
    const ImageEnd end = {
        .size_bytes = image.size(), .sha256 = Sha256Hex(image), .term = TermAt(index)};
    Manifest manifest = {.history = id_, .base = SampleBase(index), .end = end, .parts = {}};
    for (std::uint32_t number = 0; number < 3; ++number) {
      const std::size_t from = image.size() * number / 3;
      const std::string content = image.substr(from, image.size() * (number + 1) / 3 - from);
      PartHeader header = {.history = id_,
                           .name = {.base = SampleBase(index), .number = number},
                           .offset = from,
                           .raw_bytes = content.size(),
                           .sha256 = Sha256Hex(content),
                           .end = std::nullopt};
      if (number == 2) header.end = end;
      manifest.parts.push_back({.raw_bytes = content.size(), .sha256 = header.sha256});
      store_.objects[Key(header.name)] = Frame(ToJson(header), content);
    }
    store_.objects[Key(ManifestName{SampleBase(index)})] = ToJson(manifest);
  }
  void PutMark() {
    store_.objects[Key(MarkName{})] = ToJson(Mark{.time_ms = TimeAt(last()),
                                                  .index = raft::Index{last()},
                                                  .revision = RevisionAt(last()),
                                                  .term = TermAt(last()),
                                                  .member = 1,
                                                  .last_object = end_.key});
  }
  std::string PutGap(std::uint64_t from, std::uint64_t to) {
    const GapName name = {.from = raft::Index{from}, .to = raft::Index{to}};
    const Gap gap = {.name = name, .found_ms = 1, .reason = "the log began later"};
    store_.objects[Key(name)] = ToJson(gap);
    return Key(name);
  }

 private:
  static raft::Term TermAt(std::uint64_t index) { return raft::Term{1 + index / 100}; }

  MemoryStore& store_;
  HistoryId id_;
  std::string data_;
  std::uint64_t first_;
  std::vector<std::string> states_;  // before the first entry, then after each
  LogEnd end_;
};

// The parent: entries 1 to 300, bases at 5, 105 and 205. The child left it at 150: entries 151 to
// 210, a base at 155.
struct SampleArchive {
  static constexpr HistoryId kParent = 0xa;
  static constexpr HistoryId kChild = 0xc;

  SampleArchive() {
    parent.PutRecord();
    for (int i = 0; i < 30; ++i) parent.PutLog(10);
    for (const std::uint64_t index : {5U, 105U, 205U}) parent.PutBase(index);
    parent.PutMark();
    child.PutRecord(Origin{.history = kParent, .index = 150, .revision = RevisionAt(150)});
    for (int i = 0; i < 6; ++i) child.PutLog(10);
    child.PutBase(155);
    child.PutMark();
  }
  SampleArchive(const SampleArchive&) = delete;
  SampleArchive& operator=(const SampleArchive&) = delete;

  const SampleHistory& Of(HistoryId id) const { return id == kParent ? parent : child; }

  MemoryStore store;
  SampleHistory parent{store, kParent, "p", 1, ""};
  SampleHistory child{store, kChild, "c", 151, "what the parent had"};
};

}  // namespace kvorum::archive
