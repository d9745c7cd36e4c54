// Records for one write: their frames, one after another, with the data of large entries by
// reference. Used by one thread; its owner keeps it to reuse the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/raft_types.h"
#include "wal/format.h"

namespace kvorum::wal {

// The two checksums that run through a log (wal/format.h).
struct Checksums {
  std::uint32_t rolling = 0;
  std::uint32_t frames = 0;
};

class Batch {
 public:
  // Empties it. The frames that follow continue these checksums. The caller must not add more than
  // size_bytes of frames, as Bound counts them.
  void Begin(Checksums checksums, std::size_t size_bytes);

  // The entry's data must live until the batch is written.
  void AddEntry(const raft::Entry& entry);
  void AddRecord(RecordType type, std::string_view data);
  // A CRC record without data: the first of a segment.
  void AddCrc();
  // The batch's position, for its seal; a head goes to offset 0.
  struct Place {
    std::uint64_t sequence = 0;
    std::uint64_t offset = 0;  // of the batch's start
    std::uint64_t synced_offset = 0;
    std::uint64_t file_size_bytes = 0;
  };
  void AddSeal(const Place& place);

  // The parts to write, one after the other.
  std::span<const std::string_view> Parts();
  std::uint64_t size_bytes() const { return size_bytes_; }
  const Checksums& checksums() const { return checksums_; }

  // An upper bound of the frame's size.
  static std::size_t Bound(const raft::Entry& entry);
  static std::size_t Bound(std::size_t data_bytes) { return data_bytes + kMaxFrameOverheadBytes; }

 private:
  void AddFrame(RecordType type, std::string_view head, std::string_view data);
  void Copy(std::string_view bytes);
  void CloseRun();

  Checksums checksums_;
  std::vector<char> buffer_;    // frames, except data held by reference; never grows while in use
  std::size_t used_bytes_ = 0;  // of buffer_
  std::size_t run_begin_ = 0;   // start of the bytes of buffer_ that are in no part yet
  std::uint64_t size_bytes_ = 0;
  std::vector<std::string_view> parts_;
  std::string entry_head_;
};

}  // namespace kvorum::wal
