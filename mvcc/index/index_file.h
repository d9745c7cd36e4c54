// The saved key index, `db.index` beside the backend: what a start would otherwise compute by
// reading every record. Written while the store serves and at a clean stop. It is of one published
// state of the store: a start reads it, and of the backend only the records after its revision.
//
//   header   magic (16 bytes), length of the file, keys, revisions (8 each), the binding: mark
//            (16), revision, compacted revision (8 each); CRC-32C of all that (4)
//   blocks   payload size (4), CRC-32C (4) of the block's offset in the file (8), its size (4) and
//            its payload; the payload. A payload is whole keys
//   key      bytes shared with the key before (none in a block's first), number of other bytes,
//            these; revisions << 2 | attached << 1 | continued; if continued, the first revision's
//            creation and version; per revision main << 1 | tombstone (from the second on main is
//            the difference to the one before) and sub; if attached, the lease
//
// Numbers of the header and of blocks are little-endian, those of keys are base-128 varints. Keys
// ascend strictly, revisions ascend within a key. The lease of a key that has a record after the
// file's revision is not that of any one moment: the record tells it.
//
// It is written under a temporary name, its header last, synced, renamed over the one before, and
// the folder synced: a crash leaves one of the two, whole. The backend's meta bucket holds the
// marks of the last few, 16 random bytes each that are made anew for each file. A mark is committed
// after all that its file tells, and before the file gets its name. So a database that has a file's
// mark has everything up to the file's revision in its history: the file of a database that was
// replaced since, or an old copy of either, is not used.
//
// Compactions since the file are found by the database's newest compacted revision and by the
// number of its records (mvcc/store/restore.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::mvcc {

inline std::string IndexFilePath(const std::string& database_path) {
  return database_path + ".index";
}
inline std::string UnfinishedIndexFilePath(const std::string& database_path) {
  return IndexFilePath(database_path) + ".tmp";
}
// The one that is written while the store serves; a stop may write its own beside it.
inline std::string NextIndexFilePath(const std::string& database_path) {
  return IndexFilePath(database_path) + ".next";
}

// Removes the file and what attempts to write it have left; a missing one is fine. Durable when it
// returns. To be called before the database is replaced.
Result<void> RemoveIndexFile(FileSystem& files, const std::string& database_path);

// The state that a file is of.
struct IndexBinding {
  std::string mark;  // kMarkBytes
  std::int64_t revision = 0;
  std::int64_t compact_revision = -1;

  static constexpr std::size_t kMarkBytes = 16;
  static constexpr std::size_t kMostMarks = 3;  // in the meta bucket
  friend bool operator==(const IndexBinding&, const IndexBinding&) = default;
};

// The meta bucket's value with one mark more. The one before may be that of the file in effect, if
// this one's is not finished.
std::string AddIndexMark(std::string_view mark, std::string_view marks);
// Without the mark of a file that was not finished.
std::string DropIndexMark(std::string_view mark, std::string_view marks);
bool HasIndexMark(std::string_view marks, std::string_view mark);

namespace index_file {

inline constexpr std::string_view kMagic{"kvorum index 2\n\0", 16};
inline constexpr std::size_t kHeaderBytes = 76;
inline constexpr std::size_t kBlockHeaderBytes = 8;
// A block is closed once it has as much; one key with many revisions may make it larger.
inline constexpr std::size_t kBlockBytes = std::size_t{256} * 1024;

struct Header {
  std::uint64_t length_bytes = 0;
  std::uint64_t keys = 0;
  std::uint64_t revisions = 0;
  IndexBinding binding;
};
std::string EncodeHeader(const Header& header);
// kDataLoss for bytes that are not a header.
Result<Header> DecodeHeader(std::string_view bytes);

std::string EncodeBlockHeader(std::uint64_t offset, std::string_view payload);
std::uint32_t BlockSize(std::string_view block_header);
bool IsSound(std::uint64_t offset, std::string_view block_header, std::string_view payload);

}  // namespace index_file
}  // namespace kvorum::mvcc
