// The bytes of a log, shared by reader and writer. Compatible with etcd's WAL, both ways.
//
// SEGMENT = a file `<sequence>-<first index>.wal` (wal/segment_name.h), its space reserved when it
// is made; after its records it reads as zeros. FRAME, at an offset divisible by 8:
//
//   8 bytes  little-endian: low 56 bits the record's size; top byte 0, or 0x80 | padding size
//   record   protobuf {type = 1, crc = 2, data = 3 (absent if empty)}, in this order
//   padding  0 to 7 zero bytes, up to a multiple of 8
//
// A length of 0 is the end of the segment's records. `crc` is the rolling CRC32C over the data of
// all records of the log up to and including this one. It covers no CRC record: those carry the
// running value and add nothing to it. Each segment begins with a HEAD of three records:
//
//   crc       the value at the end of the previous segment, 0 in the first
//   metadata  the member and cluster that the log belongs to
//   state     the last hard state; in the first segment (sequence 0) an empty snapshot instead
//
// and a seal. After it come batches: entries and at most one state, or one snapshot (followed by a
// state if a peer sent it; wal/log_view.h tells what that means), each closed by a SEAL. A seal is
// a CRC record whose data holds what the format lacks (other readers skip it):
//
//   4 bytes  "kvs1"
//   4 bytes  CRC32C over the bytes of all frames since the previous seal (in the head's: since the
//            segment's start) without data and padding: lengths, types, CRCs, which the rolling CRC
//            leaves out
//   8 bytes  the offset of the seal's frame in its segment
//   8 bytes  SYNCED: how much of the segment was known to be durable when the seal was written
//   8 bytes  the size of the file, which was durable before the seal was written
//   4 bytes  CRC32C over the segment's sequence number, the record's crc and the bytes above
//
// All integers little-endian. A batch and its seal are one write.
//
// EXAMPLE. The first batch of a log, at offset 136, right behind the head: two entries, a hard
// state and their seal. The bytes of a line in order, then their meaning; a test writes the same
// batch and compares every byte (tests/wal/format_test.cc).
//
//   17 00 00 00 00 00 00 81              a frame: a record of 23 bytes and 1 of padding
//   08 02  10 ae d7 9d a9 03  1a 0d      type 2 (entry), crc 0x35276bae, 13 bytes of data
//   08 00  10 01  18 01                  the entry: type 0 (normal), term 1, index 1
//   22 05  68 65 6c 6c 6f                its data: "hello"
//   00                                   padding: the next frame is at 136 + 32 = 168
//   10 00 00 00 00 00 00 00              a record of 16 bytes, no padding
//   08 02  10 cf a7 c5 ec 06  1a 06      an entry; the crc covers the data of both entries
//   08 00  10 01  18 02                  type 0, term 1, index 2; empty data is absent
//   10 00 00 00 00 00 00 00              at 192: a record of 16 bytes
//   08 03  10 90 af f2 93 09  1a 06      type 3 (state)
//   08 01  10 10  18 02                  term 1, vote for member 0x10, commit index 2
//   2e 00 00 00 00 00 00 82              at 216: a record of 46 bytes and 2 of padding
//   08 04  10 90 af f2 93 09  1a 24      type 4 (crc): the same crc, 36 bytes of data, the seal
//   6b 76 73 31                          "kvs1"
//   f4 4c ea b1                          the CRC32C of the frames since the seal of the head
//   d8 00 00 00 00 00 00 00              this frame is at 216
//   88 00 00 00 00 00 00 00              SYNCED: 136, the head; this batch was not durable yet
//   00 10 00 00 00 00 00 00              the file has 4096 bytes
//   c9 73 3d df                          the CRC32C of the seal itself
//   00 00                                padding
//
// CRASHES. A disk may do this to bytes that were not synced: each 512-byte sector holds its old
// content, or any of the versions written since, independently of its neighbours; where nothing but
// zeros had been synced, it may hold anything. Synced sectors stay. A frame's length lies within
// one sector, so it is there or not. Names appear only when the directory was synced.
//
// - Making a segment: it is built under a temporary name, synced, renamed, the directory synced. So
//   a segment that has its name has its whole head; a bad head is damage. Temporary files are
//   removed at the next open.
// - Before a segment is named, all of its predecessor is synced. So in any segment but the last, a
//   bad frame is damage; and a tail lost as zeros does not fit the next segment's first crc.
// - In the last segment, the first frame that cannot be read (bad length, bad record, wrong crc, no
//   seal where one should be) or the first length of 0, at offset B, is either where an unsynced
//   write was torn, or synced data that was damaged later. The seals decide: if any seal after B
//   says SYNCED > B, the frame at B was durable once, and this is damage. Otherwise B lies after
//   every SYNCED of which a trace is left, and the rest is cut off: the log ends at B. Lost
//   sectors, reordered ones and garbage (an absurd length among it) are all this case. A seal after
//   B is recognised at any offset divisible by 8 by its magic, its own offset and its own CRC. A
//   client's stored value can imitate one only by knowing where it will land.
// - A last segment shorter than a seal in it says is damage, for example an incomplete copy. (The
//   others are cut to their records' end when the next one has its name.) So is one that ends
//   within its head.
// - A seal that contradicts the frames before it, which all fit the rolling CRC, is damage: their
//   sectors were all written, so nothing was torn.
// - After the cut, the bytes after B are zeroed and synced before anything is appended, since
//   remains of the old write could otherwise be taken for a continuation of the new one.
// - The bytes between the last SYNCED before B and B may be in the kernel's cache only, and if a
//   sync has failed before, another sync does not help. They are rewritten and synced.
//
// So the PROMISE: everything that a Sync confirmed is there after a crash. Whether a byte of it
// that changes later is detected depends on SYNC GROUPS, the batches from one Sync to the next:
// - Before the last group that has a batch in the log, a changed byte is always detected, and the
//   log is refused: the last group's seals say SYNCED where it begins.
// - Within the last group it is detected as well, in whichever batch, but no byte of the log says
//   that the group's own Sync returned, and its sectors may hold anything after a crash: it looks
//   like a torn write. The log ends before the bad record, with a warning; the group's later
//   batches are gone with it, whole or not.
// - But if it is known from elsewhere that an entry there was durable, since it has been applied
//   (Options::durable_index), the log is refused there too, and not changed.
// The owner keeps a group to one batch (server/replica/drive/log_writer.h syncs before it writes a
// second one), so that this is never more than the last write. After Writer::Close, which puts a
// last seal after the sync, the last group holds nothing that could be lost. A valid record of a
// torn batch is kept: it is what a shorter batch would have left. The hard state is last in its
// batch, so its commit index never points past the entries that are kept; its term may then be
// below that of the last entry, and the reader raises it.
//
// A segment that etcd wrote has no seals. In the last one etcd's own rule decides: a bad frame is
// torn if it goes past the file's end, or if all that its record has in some sector is zero;
// otherwise it is damage. Segments that we wrote are whole to etcd; their first three frames are as
// etcd writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::wire {
struct Table;
}

namespace kvorum::wal {

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kFrameAlignment = 8;
// The maximum size of type, crc and the data's tag and length.
inline constexpr std::size_t kMaxRecordOverheadBytes = 2 + 6 + 1 + 10;
// The maximum size of a frame without its data.
inline constexpr std::size_t kMaxFrameOverheadBytes =
    kFrameHeaderBytes + kMaxRecordOverheadBytes + kFrameAlignment - 1;
inline constexpr std::size_t kHeadRecords = 3;

enum class RecordType : std::uint8_t {
  kMetadata = 1,
  kEntry = 2,
  kState = 3,
  kCrc = 4,
  kSnapshot = 5,
};

// --- frames ------------------------------------------------------------------------------------

struct FrameSize {
  std::uint64_t record_bytes = 0;
  std::uint64_t padding_bytes = 0;
  // The size without the length field.
  std::uint64_t body_bytes() const { return record_bytes + padding_bytes; }
};

FrameSize FrameSizeOf(std::uint64_t record_bytes);
std::uint64_t EncodeLength(const FrameSize& size);
// Nothing for a length that no writer makes. It may still be absurdly large: bound it by the rest
// of the file before using it.
std::optional<FrameSize> DecodeLength(std::uint64_t length);

// --- records -----------------------------------------------------------------------------------

struct Record {
  RecordType type = RecordType::kCrc;
  std::uint32_t crc = 0;
  std::string_view data;  // borrowed
};

// The record's fields; wal::MessageTables() lists the table.
extern const wire::Table kRecordTable;

// Writes the bytes before the data, kMaxRecordOverheadBytes at most; returns their end.
char* WriteRecordPrefix(char* out, RecordType type, std::uint32_t crc, std::size_t data_bytes);
std::size_t RecordPrefixSize(std::uint32_t crc, std::size_t data_bytes);
// Nothing unless the bytes are one record of a known type, encoded as WriteRecordPrefix does.
std::optional<Record> DecodeRecord(std::string_view bytes);

// --- seals -------------------------------------------------------------------------------------

inline constexpr std::size_t kSealBytes = 36;
inline constexpr std::size_t kMaxSealFrameBytes = kSealBytes + kMaxFrameOverheadBytes;

struct Seal {
  std::uint32_t frame_crc = 0;
  std::uint64_t offset = 0;
  std::uint64_t synced_offset = 0;
  std::uint64_t file_size_bytes = 0;

  friend bool operator==(const Seal&, const Seal&) = default;
};

std::string EncodeSeal(const Seal& seal, std::uint64_t sequence, std::uint32_t record_crc);
// Nothing unless the data is a seal that was written in this segment with this running value.
std::optional<Seal> DecodeSeal(std::string_view data, std::uint64_t sequence,
                               std::uint32_t record_crc);
// The seal whose frame starts at this offset of the segment and at the start of the bytes, if there
// is one.
std::optional<Seal> FindSealAt(std::string_view bytes, std::uint64_t offset,
                               std::uint64_t sequence);

}  // namespace kvorum::wal
