// Names of the archive's objects, below its URL's prefix: which history, which entries, which
// revision and time. A listing alone says what can be restored.
//
//   <history>/history.json
//   <history>/log/<first>-<last>-<revision>-<unix ms>.gz
//   <history>/base/<index>-<revision>-<unix ms>/part-<number>.gz
//   <history>/base/<index>-<revision>-<unix ms>/manifest.json
//   <history>/gap/<from>-<to>.json
//   <history>/mark.json
//
// A history has 16 hexadecimal digits, a part's number five decimal ones, all other numbers twenty:
// they sort as text as they do as numbers, and are compared as numbers. Only these characters
// occur: [a-z0-9./-].
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "proto/raft_types.h"

namespace kvorum::archive {

// One line of replicated state. A restore begins a new one, since the same indices then have other
// entries.
using HistoryId = StrongNumber<struct HistoryIdTag>;

// Milliseconds since 1970, UTC. They do not go back within a history.
using UnixMillis = std::int64_t;

struct LogName {
  raft::Index first = 0;
  raft::Index last = 0;
  std::int64_t revision = 0;  // of the store, once the last entry is applied
  UnixMillis time_ms = 0;     // of the last entry

  friend auto operator<=>(const LogName&, const LogName&) = default;
};

struct BaseName {
  raft::Index index = 0;  // the last entry in the image
  std::int64_t revision = 0;
  UnixMillis time_ms = 0;

  friend auto operator<=>(const BaseName&, const BaseName&) = default;
};

struct PartName {
  BaseName base;
  std::uint32_t number = 0;  // from 0 on

  friend auto operator<=>(const PartName&, const PartName&) = default;
};

struct ManifestName {
  BaseName base;

  friend auto operator<=>(const ManifestName&, const ManifestName&) = default;
};

// The entries of a gap are in no log object.
struct GapName {
  raft::Index from = 0;
  raft::Index to = 0;

  friend auto operator<=>(const GapName&, const GapName&) = default;
};

struct HistoryFileName {
  friend auto operator<=>(const HistoryFileName&, const HistoryFileName&) = default;
};

struct MarkName {
  friend auto operator<=>(const MarkName&, const MarkName&) = default;
};

inline constexpr std::uint32_t kMaxParts = 100'000;

using ObjectName =
    std::variant<HistoryFileName, LogName, PartName, ManifestName, GapName, MarkName>;

struct ObjectKey {
  HistoryId history = 0;
  ObjectName name;

  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
};

std::string HistoryText(HistoryId history);
// Nothing unless these are 16 lower-case hexadecimal digits, and not all 0.
std::optional<HistoryId> ParseHistory(std::string_view text);

// The prefix of the objects of one kind, with the slash at its end, for listings.
std::string HistoryPrefix(HistoryId history);
std::string LogPrefix(HistoryId history);
std::string BasePrefix(HistoryId history);
std::string GapPrefix(HistoryId history);

std::string KeyText(const ObjectKey& key);
// Nothing for a name that no archive writes: KeyText(*ParseKey(text)) == text.
std::optional<ObjectKey> ParseKey(std::string_view text);

}  // namespace kvorum::archive
