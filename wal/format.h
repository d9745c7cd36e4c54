// The bytes of a log: what reader and writer share. Compatible with etcd's WAL, both ways.
//
// SEGMENT = a file `<sequence>-<first index>.wal` (wal/segment_name.h), its space reserved when it
// is made; behind its records it reads as zeros. FRAME, at an offset divisible by 8:
//
//   8 bytes  little-endian: low 56 bits the record's size; top byte 0, or 0x80 | padding size
//   record   protobuf {type = 1, crc = 2, data = 3 (absent if empty)}, in this order
//   padding  0 to 7 zero bytes, up to a multiple of 8
//
// A length of 0 is the end of the segment's records. `crc` is the rolling CRC32C over the data of
// all records of the log up to and with this one. It covers no CRC record: those carry the running
// value and add nothing to it. Each segment begins with a HEAD of three records:
//
//   crc       the value at the end of the segment before, 0 in the first
//   metadata  whose log it is
//   state     the last hard state; in the first segment (sequence 0) an empty snapshot instead
//
// and a seal. After it come batches: entries and at most one state, or one snapshot (with a state
// behind it if a peer sent it; wal/log_view.h tells what that means), each closed by a SEAL. A seal
// is a CRC record that carries, as data, what the format lacks (other readers skip it):
//
//   4 bytes  "kvs1"
//   4 bytes  CRC32C over the bytes of all frames since the seal before (in the head's: since the
//            segment's begin) without data and padding: lengths, types, CRCs, which the rolling CRC
//            leaves out
//   8 bytes  the offset of the seal's frame in its segment
//   8 bytes  SYNCED: how much of the segment was known to be durable when the seal was written
//   8 bytes  the size of the file, which was durable before the seal was written
//   4 bytes  CRC32C over the segment's sequence number, the record's crc and the bytes above
//
// All integers little-endian. A batch and its seal are one write.
//
// CRASHES. What a disk may do to bytes that were not synced: each 512-byte sector holds what it
// held before, or any of the versions written since, independently of its neighbours; where nothing
// but zeros had been synced, it may hold anything. Synced sectors stay. A frame's length lies
// within one sector, so it is there or not. Names appear only when the folder was synced.
//
// - Making a segment: it is built under a temporary name, synced, renamed, the folder synced. So a
//   segment that has its name has its whole head; a head that is bad is damage. Temporary files are
//   removed at the next open.
// - Before a segment is named, all of its predecessor is synced. So in any segment but the last, a
//   bad frame is damage; and a tail lost as zeros does not fit the next segment's first crc.
// - In the last segment, the first frame that cannot be read (bad length, bad record, wrong crc, no
//   seal where one should be) or the first length of 0, at offset B, either is where an unsynced
//   write was torn, or synced data that was damaged later. The seals decide: if any seal behind B
//   says SYNCED > B, the frame at B was durable once, and this is damage. Else B lies behind every
//   SYNCED of which a trace is left, and the rest is cut off: the log ends at B. Lost sectors,
//   reordered ones and garbage (an absurd length among it) are all this case.
//   A seal behind B is found by its looks at every offset divisible by 8: magic, own offset, own
//   CRC. A value that a client stored cannot look like one but by knowing where it will land.
// - A last segment shorter than a seal in it says is damage: a copy that was cut off, for one. (The
//   others are cut to their records' end when the next one has its name.) So is one that ends
//   within its head.
// - A seal that contradicts the frames before it, which all fit the rolling CRC, is damage: their
//   sectors were all written, so nothing was torn.
// - After the cut, what lies behind B is made zero and synced before anything is appended, since
//   remains of the old write could otherwise be taken for a continuation of the new one.
// - What lies between the last SYNCED before B and B may be in the kernel's cache only, and beyond
//   the help of a sync where one has failed before. It is written once more and synced.
//
// So the PROMISE: whatever a Sync confirmed is there after a crash. What of it is found if a byte
// changes later goes by SYNC GROUPS, the batches from one Sync to the next:
// - Before the last group that has a batch in the log, a changed byte is always found, and the log
//   is refused: the last group's seals say SYNCED where it begins.
// - Within the last group it is found as well, in whichever batch, but no byte of the log says that
//   the group's own Sync returned, and its sectors may hold anything after a crash: it looks like a
//   torn write. The log ends before the bad record, with a warning, the group's later batches are
//   gone with it, whole or not.
// - But where somebody else knows that an entry there was durable, since it has been applied
//   (Options::durable_index), the log is refused there too, and not changed.
// The owner keeps a group to one batch (server/replica/log_writer.h syncs before it writes a second
// one), so that this is never more than the last write. After Writer::Close, which puts a last seal
// behind the sync, the last group holds nothing that could be lost. A valid record of a torn batch
// is kept: it is what a shorter batch would have left. The hard state stands last in its batch, so
// its commit index never points past the entries that are kept; its term may be below that of the
// last entry then, and the reader raises it.
//
// A segment that etcd wrote has no seals; read here, a bad frame in the last one is always taken
// for torn. Segments that we wrote are whole to etcd; its first three frames are as etcd writes
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::wal {

inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kFrameAlignment = 8;
// Of type, crc and the data's tag and length, at most.
inline constexpr std::size_t kMaxRecordOverheadBytes = 2 + 6 + 1 + 10;
// Of a frame besides its data, at most.
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
  // Without the length field.
  std::uint64_t body_bytes() const { return record_bytes + padding_bytes; }
};

FrameSize FrameSizeOf(std::uint64_t record_bytes);
std::uint64_t EncodeLength(const FrameSize& size);
// Nothing for a length that no writer makes. It may still be absurdly large: bound it by what is
// left of the file before using it.
std::optional<FrameSize> DecodeLength(std::uint64_t length);

// --- records -----------------------------------------------------------------------------------

struct Record {
  RecordType type = RecordType::kCrc;
  std::uint32_t crc = 0;
  std::string_view data;  // borrowed
};

// Writes what stands before the data, kMaxRecordOverheadBytes at most; returns its end.
char* WriteRecordPrefix(char* out, RecordType type, std::uint32_t crc, std::size_t data_bytes);
std::size_t RecordPrefixSize(std::uint32_t crc, std::size_t data_bytes);
// Nothing unless the bytes are one record, spelled as WriteRecordPrefix does, of a known type.
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
// The seal whose frame begins at this offset of the segment and at the begin of the bytes, if there
// is one.
std::optional<Seal> FindSealAt(std::string_view bytes, std::uint64_t offset,
                               std::uint64_t sequence);

}  // namespace kvorum::wal
