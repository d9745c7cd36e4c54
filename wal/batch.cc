#include "wal/batch.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"

namespace kvorum::wal {
namespace {

// Data of at least this size goes to the kernel by reference; for smaller data a memcpy is cheaper
// than the two vector elements that a reference costs (bench/wal_bench.cc).
constexpr std::size_t kReferenceBytes = 1024;
// A buffer that a large batch has grown beyond this is freed.
constexpr std::size_t kKeptBufferBytes = std::size_t{4} << 20;

constexpr std::array<char, kFrameAlignment> kZeros = {};

// raftpb.Entry's type, explicitly written for a normal entry. Our codec leaves zeros out, as etcd
// 3.7 does, but etcd's dump tool expects it to be set: it crashes at the entries of 3.7's own logs.
constexpr std::string_view kNormalType("\x08\x00", 2);

}  // namespace

void Batch::Begin(Checksums checksums, std::size_t size_bytes) {
  checksums_ = checksums;
  if (buffer_.size() > kKeptBufferBytes && size_bytes <= kKeptBufferBytes) {
    buffer_ = std::vector<char>();
  }
  if (buffer_.size() < size_bytes) buffer_.resize(size_bytes);
  used_bytes_ = 0;
  run_begin_ = 0;
  size_bytes_ = 0;
  parts_.clear();
}

std::size_t Batch::Bound(const raft::Entry& entry) {
  return Bound(raft::EncodedSize(entry) + kNormalType.size());
}

void Batch::AddEntry(const raft::Entry& entry) {
  entry_head_.clear();
  if (entry.type == raft::EntryType::kNormal) entry_head_.append(kNormalType);
  raft::AppendHeaderTo(entry_head_, entry);
  AddFrame(RecordType::kEntry, entry_head_, entry.data.view());
}

void Batch::AddRecord(RecordType type, std::string_view data) { AddFrame(type, data, {}); }

void Batch::AddCrc() { AddFrame(RecordType::kCrc, {}, {}); }

void Batch::AddSeal(const Place& place) {
  const std::uint32_t rolling = checksums_.rolling;
  const Seal seal = {.frame_crc = checksums_.frames,
                     .offset = place.offset + size_bytes_,
                     .synced_offset = place.synced_offset,
                     .file_size_bytes = place.file_size_bytes};
  AddFrame(RecordType::kCrc, EncodeSeal(seal, place.sequence, rolling), {});
  checksums_.frames = 0;
}

void Batch::AddFrame(RecordType type, std::string_view head, std::string_view data) {
  const std::size_t data_bytes = head.size() + data.size();
  if (type != RecordType::kCrc) {
    checksums_.rolling = Crc32c(Crc32c(checksums_.rolling, head), data);
  }
  std::array<char, kFrameHeaderBytes + kMaxRecordOverheadBytes> front;
  char* const prefix = front.data() + kFrameHeaderBytes;
  const char* const end = WriteRecordPrefix(prefix, type, checksums_.rolling, data_bytes);
  const FrameSize size = FrameSizeOf(static_cast<std::uint64_t>(end - prefix) + data_bytes);
  const std::uint64_t length = EncodeLength(size);
  std::memcpy(front.data(), &length, sizeof(length));
  const std::string_view front_bytes(front.data(), static_cast<std::size_t>(end - front.data()));
  checksums_.frames = Crc32c(checksums_.frames, front_bytes);

  Copy(front_bytes);
  Copy(head);
  if (data.size() >= kReferenceBytes) {
    CloseRun();
    parts_.push_back(data);
  } else {
    Copy(data);
  }
  Copy({kZeros.data(), size.padding_bytes});
  size_bytes_ += kFrameHeaderBytes + size.body_bytes();
}

void Batch::Copy(std::string_view bytes) {
  KV_CHECK(bytes.size() <= buffer_.size() - used_bytes_, "a batch larger than announced");
  if (bytes.empty()) return;
  std::memcpy(buffer_.data() + used_bytes_, bytes.data(), bytes.size());
  used_bytes_ += bytes.size();
}

void Batch::CloseRun() {
  if (used_bytes_ == run_begin_) return;
  parts_.emplace_back(buffer_.data() + run_begin_, used_bytes_ - run_begin_);
  run_begin_ = used_bytes_;
}

std::span<const std::string_view> Batch::Parts() {
  CloseRun();
  return parts_;
}

}  // namespace kvorum::wal
