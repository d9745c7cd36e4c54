// The stream in which a backend's content travels between members, shared by its writer
// (snapshot_source.cc) and its reader (snapshot_decoder.cc). It depends on the content alone, not
// on the kind of backend: equal states make equal streams.
//
//   STREAM   HEADER, any number of CHUNKs, TRAILER, and nothing after it
//
//   HEADER   8 bytes  "kvorumsn"
//            4 bytes  version of the format, 1
//            4 bytes  CRC
//   CHUNK    4 bytes  size of the body; not 0
//            4 bytes  CRC
//            body     whole RECORDs of one bucket: up to 1 MiB, or a single one that is larger
//   TRAILER  4 bytes  0
//            4 bytes  CRC
//            8 bytes  number of records
//            8 bytes  size of all bodies
//            4 bytes  CRC-32C over all bodies
//   RECORD   1 byte   the bucket's tag
//            2 bytes  size of the key, 1 to 510
//            4 bytes  size of the value
//            key, value
//
// Numbers are little-endian. A CRC is the CRC-32C of the bytes between the previous CRC and it, and
// of the bytes after it up to the next part, continued from the previous CRC: so it covers the
// whole stream so far, and a part that is lost, repeated or moved is detected like a flipped bit.
// Records ascend by tag, then by key, so that the receiver can append them. A stream that is cut
// off lacks its trailer. Records are passed on only from a chunk whose CRC matched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "mvcc/records/bucket.h"

namespace kvorum::mvcc::snapshot_format {

inline constexpr std::string_view kMagic = "kvorumsn";
inline constexpr std::uint32_t kVersion = 1;

// The buckets by tag, from 1 on; they never change. The revisions come last, as in LMDB's tree.
inline constexpr std::array<Bucket, 10> kTags = {Bucket::kMeta,      Bucket::kLease,
                                                 Bucket::kAlarm,     Bucket::kCluster,
                                                 Bucket::kMembers,   Bucket::kMembersRemoved,
                                                 Bucket::kAuth,      Bucket::kAuthUsers,
                                                 Bucket::kAuthRoles, Bucket::kKey};

inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kChunkHeadBytes = 8;
inline constexpr std::size_t kTrailerBodyBytes = 20;
inline constexpr std::size_t kRecordHeadBytes = 7;
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// No value comes near this; a larger size in a chunk's head is refused before memory is spent on
// it.
inline constexpr std::size_t kMaxBodyBytes = std::size_t{1} << 30;

// The content of the stream in numbers, for its trailer.
struct Totals {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;

  void AddBody(std::string_view body, std::uint64_t records_in_it) {
    records += records_in_it;
    bytes += body.size();
    crc = Crc32c(crc, body);
  }
  friend bool operator==(const Totals&, const Totals&) = default;
};

template <class T>
void AppendNumber(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i));
}
template <class T>
T LoadNumber(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(T{static_cast<unsigned char>(bytes[at + i])} << (8 * i));
  return value;
}

// The CRC of a part, from that of the previous part.
inline std::uint32_t PartCrc(std::uint32_t previous, std::string_view size_field,
                             std::string_view body) {
  return Crc32c(Crc32c(previous, size_field), body);
}

inline void AppendRecord(std::string& out, std::uint8_t tag, std::string_view key,
                         std::string_view value) {
  AppendNumber(out, tag);
  AppendNumber(out, static_cast<std::uint16_t>(key.size()));
  AppendNumber(out, static_cast<std::uint32_t>(value.size()));
  out.append(key);
  out.append(value);
}

}  // namespace kvorum::mvcc::snapshot_format
