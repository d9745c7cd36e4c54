// The archive's records as values, and their JSON: histories, gaps, marks, manifests, and the
// headers of log objects and of a base's parts. A record that is an object by itself ends with the
// CRC-32C of its text, the member `crc32c`; headers have theirs in the frame
// (archive/format/frame.h).
//
// Decoders return kDataLoss for any bytes that are not such a record, unknown members excepted.
// Their input is at most kMaxHeaderBytes or kMaxManifestBytes. Threading: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/format/names.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{256} << 10;
// 100,000 parts of 16 MiB are 1.6 TB.
inline constexpr std::size_t kMaxManifestBytes = std::size_t{32} << 20;
// Times of a log object; more are thinned out by its writer.
inline constexpr std::size_t kMaxTimes = 2'048;

// The place at which a history left another one.
struct Origin {
  HistoryId history = 0;
  raft::Index index = 0;
  std::int64_t revision = 0;

  friend bool operator==(const Origin&, const Origin&) = default;
};

struct HistoryRecord {
  HistoryId id = 0;
  std::uint64_t cluster_id = 0;
  std::string reason{};  // `new`, `restore`, `force-new-cluster`, `asked`
  UnixMillis began_ms = 0;
  raft::Index first = 0;  // the first entry that the history may have
  std::optional<Origin> parent{};

  friend bool operator==(const HistoryRecord&, const HistoryRecord&) = default;
};

// The archive's writer was alive then, and everything up to the index was archived: so an interval
// without writes differs from a writer that died.
struct Mark {
  UnixMillis time_ms = 0;
  raft::Index index = 0;
  std::int64_t revision = 0;
  raft::Term term = 0;
  std::uint64_t member = 0;
  // The key of the newest log object then: a listing that begins there finds the later ones. Empty
  // while there is none.
  std::string last_object = {};

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct Gap {
  GapName name;
  UnixMillis found_ms = 0;
  std::string reason;

  friend bool operator==(const Gap&, const Gap&) = default;
};

// The state had this revision once the entry was applied, at this time of the leader's clock.
struct TimeMark {
  raft::Index index = 0;
  UnixMillis time_ms = 0;
  std::int64_t revision = 0;

  friend bool operator==(const TimeMark&, const TimeMark&) = default;
};

struct LogHeader {
  HistoryId history = 0;
  LogName name;
  raft::Term first_term = 0;
  raft::Term last_term = 0;
  std::string previous;  // the key of the object before it; empty in a history's first
  std::uint32_t previous_crc = 0;
  std::uint32_t end_crc = 0;
  std::uint64_t raw_bytes = 0;
  std::string sha256;  // of the content, in hexadecimal
  std::vector<TimeMark> times;

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

// Known at the end of an image.
struct ImageEnd {
  std::uint64_t size_bytes = 0;
  std::string sha256;
  raft::Term term = 0;  // of the last entry in it

  friend bool operator==(const ImageEnd&, const ImageEnd&) = default;
};

struct PartHeader {
  HistoryId history = 0;
  PartName name;
  std::uint64_t offset = 0;  // in the image
  std::uint64_t raw_bytes = 0;
  std::string sha256;
  std::optional<ImageEnd> end;  // in the last part

  friend bool operator==(const PartHeader&, const PartHeader&) = default;
};

struct ManifestPart {
  std::uint64_t raw_bytes = 0;
  std::string sha256;

  friend bool operator==(const ManifestPart&, const ManifestPart&) = default;
};

struct Manifest {
  HistoryId history = 0;
  BaseName base;
  ImageEnd end;
  std::vector<ManifestPart> parts;  // by number

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string ToJson(const HistoryRecord& record);
std::string ToJson(const Mark& mark);
std::string ToJson(const Gap& gap);
std::string ToJson(const LogHeader& header);
std::string ToJson(const PartHeader& header);
std::string ToJson(const Manifest& manifest);

Result<HistoryRecord> ParseHistoryRecord(std::string_view json);
Result<Mark> ParseMark(std::string_view json);
Result<Gap> ParseGap(std::string_view json);
Result<LogHeader> ParseLogHeader(std::string_view json);
Result<PartHeader> ParsePartHeader(std::string_view json);
Result<Manifest> ParseManifest(std::string_view json);

}  // namespace kvorum::archive
