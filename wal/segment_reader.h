// Reads the records of one segment, front to back, and checks everything that wal/format.h requires
// of them. Used by one thread. Memory: a window of 256 KiB, more only for a larger record that lies
// whole within the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "wal/batch.h"
#include "wal/format.h"
#include "wal/segment_name.h"

namespace kvorum::wal {

class SegmentReader {
 public:
  // rolling_crc: the value at the end of the previous segment; if that was not read, the value that
  // the segment begins with is used.
  static Result<SegmentReader> Open(FileSystem& fs, const std::string& path, SegmentName name,
                                    std::optional<std::uint32_t> rolling_crc);

  enum class Step : std::uint8_t {
    kRecord,  // record() is a metadata, entry, state or snapshot record
    kEnd,     // a length of 0, or the file's end
    kBad,     // bad_reason() tells why there is no valid frame at offset()
  };
  // An error means that the file cannot be read, or that a seal contradicts the frames before it.
  Result<Step> Next();

  // The next Next looks at the file anew: its writer has gone on since kEnd or kBad.
  Result<void> Refresh();

  // Valid until the next call.
  const Record& record() const { return record_; }
  std::uint64_t record_offset() const { return record_offset_; }
  const std::string& bad_reason() const { return bad_reason_; }
  // The end of the last good frame.
  std::uint64_t offset() const { return offset_; }
  const Checksums& checksums() const { return checksums_; }
  // The three records of the head were good.
  bool has_head() const { return records_ >= kHeadRecords; }
  bool has_more_than_head() const { return records_ > kHeadRecords; }
  // The last good frame is a seal that was written after everything before it was synced.
  bool sealed() const { return sealed_; }
  // The highest SYNCED of the seals so far: everything before it had been durable once.
  std::uint64_t synced_offset() const { return synced_offset_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  // The largest file size that a seal states.
  std::uint64_t told_size_bytes() const { return told_size_bytes_; }

  // The bytes after offset(), for the decision between a torn tail and damage.
  struct Tail {
    std::uint64_t end_offset = 0;     // after the last byte that is not zero; 0 if there is none
    std::uint64_t synced_offset = 0;  // the highest SYNCED of a seal there
    bool has_seal = false;
  };
  Result<Tail> InspectTail();
  // After kBad: etcd's rule for a log without seals. The frame at offset() goes past the file's
  // end, or what its record has in one sector is all zero.
  Result<bool> LooksTornWithoutSeals();

  const std::string& path() const { return file_->path(); }

 private:
  SegmentReader(std::unique_ptr<File> file, std::uint64_t size_bytes, SegmentName name,
                std::optional<std::uint32_t> rolling_crc);

  Result<std::string_view> Load(std::uint64_t offset, std::size_t size_bytes);
  Step Bad(std::string reason);
  Result<Step> Accept(std::string_view frame, const Record& record);
  Result<Step> AcceptCrc(std::string_view frame, const Record& record);
  bool FitsHead(RecordType type) const;
  void Consume(std::string_view frame, std::size_t data_bytes);

  std::unique_ptr<File> file_;
  std::uint64_t size_bytes_;
  SegmentName name_;
  std::optional<std::uint32_t> expected_crc_;
  std::string window_;
  std::uint64_t window_offset_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t record_offset_ = 0;
  std::size_t records_ = 0;
  Checksums checksums_;
  bool sealed_ = false;
  std::uint64_t synced_offset_ = 0;
  std::uint64_t told_size_bytes_ = 0;
  Record record_;
  std::string bad_reason_;
};

// The error for a damaged log: file, offset, the fault and the remedy.
std::unexpected<Error> FailDamaged(const std::string& path, std::uint64_t offset,
                                   const std::string& reason);

}  // namespace kvorum::wal
