// The saved key index, `db.index` beside the backend: what a start would otherwise compute by
// reading every record. Written at a clean stop, and in effect until the first write after the
// next start.
//
//   header   magic (16 bytes), length of the file, keys, revisions (8 each), the binding: mark
//   (16),
//            commit number, consistent index, term, revision, compacted revision, records of the
//            backend (8 each); CRC-32C of all that (4)
//   blocks   payload size (4), CRC-32C (4) of the block's offset in the file (8), its size (4) and
//            its payload; the payload. A payload is whole keys
//   key      bytes shared with the key before (none in a block's first), number of other bytes,
//            these; revisions << 2 | attached << 1 | continued; if continued, the first revision's
//            creation and version; per revision main << 1 | tombstone (from the second on main is
//            the difference to the one before) and sub; if attached, the lease
//
// Numbers of the header and of blocks are little-endian, those of keys are base-128 varints. Keys
// ascend strictly, revisions ascend within a key.
//
// It is written under a temporary name, its header last, synced, renamed, and the folder synced: a
// crash leaves no file of its name. The backend's meta bucket holds the mark, 16 random bytes that
// are made anew for each file, in the last commit before the file: no other database has it, and
// the same one has another commit number after any write. So a file left behind by a crash between
// the first write and its removal, one beside a replaced database, or an old copy, is never used.
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

// Removes the file and what an attempt to write it has left; a missing one is fine. Durable when it
// returns. To be called before the database is changed or replaced.
Result<void> RemoveIndexFile(FileSystem& files, const std::string& database_path);

// The state of a backend that a file belongs to.
struct IndexBinding {
  std::string mark;  // kMarkBytes
  std::uint64_t commit_number = 0;
  std::uint64_t consistent_index = 0;
  std::uint64_t term = 0;
  std::int64_t revision = 0;
  std::int64_t compact_revision = -1;
  std::uint64_t records = 0;

  static constexpr std::size_t kMarkBytes = 16;
  friend bool operator==(const IndexBinding&, const IndexBinding&) = default;
};

namespace index_file {

inline constexpr std::string_view kMagic{"kvorum index 1\n\0", 16};
inline constexpr std::size_t kHeaderBytes = 108;
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
