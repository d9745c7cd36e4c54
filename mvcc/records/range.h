// The answer of a range: rows, streamed to a sink so that a service can encode them directly into
// its answer, or collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mvcc/records/key_value.h"

namespace kvorum::mvcc {

// One key-value pair of an answer. Everything in it points into memory of the view that it comes
// from; `encoded` is valid during RowSink::Add only.
struct Row {
  std::string_view key;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  // The whole pair as a mvccpb.KeyValue. Empty for a keys_only row, which never had its bytes read:
  // it is encoded from the fields above, without value and lease.
  std::string_view encoded;

  std::size_t EncodedSize() const {
    return encoded.empty() ? mvcc::EncodedSize(Fields()) : encoded.size();
  }
  // Writes exactly EncodedSize() bytes and returns the end.
  char* EncodeTo(char* out) const;

 private:
  KeyValue Fields() const {
    return {.key = key,
            .create_revision = create_revision,
            .mod_revision = mod_revision,
            .version = version,
            .value = {},
            .lease = 0};
  }
};

// Takes the rows of an answer in the order of the answer.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // An error ends the range with that error.
  virtual Result<void> Add(const Row& row) = 0;
  // A range that must be sorted takes a block of memory, before its first row; a larger one takes
  // the place of the first. An error ends the range as well, before the block is allocated.
  virtual Result<void> BeginBlock(std::size_t /*bytes*/) { return {}; }
  // The oldest of them is not needed any more.
  virtual void EndBlock(std::size_t /*bytes*/) {}
};

// Encoded rows in blocks, which grow up to a size and are never moved: one copy per row, amortized
// no allocation, and little more memory than the rows' bytes. Used by one thread at a time.
class RowBuffer final : public RowSink {
 public:
  static constexpr std::size_t kBytesBesideRow = sizeof(std::string_view);

  RowBuffer() = default;
  RowBuffer(RowBuffer&&) noexcept = default;
  RowBuffer& operator=(RowBuffer&&) noexcept = default;
  ~RowBuffer() override = default;

  Result<void> Add(const Row& row) override;

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  // The i-th row as a mvccpb.KeyValue.
  std::string_view operator[](std::size_t i) const { return rows_[i]; }

 private:
  // Blocks are strings that never grow past what they reserved, on the heap at any size.
  std::string block_;
  std::vector<std::string> full_blocks_;
  std::vector<std::string_view> rows_;
};

// The parts of an answer other than its rows.
struct RangeSummary {
  std::int64_t count = 0;     // keys in the range at that revision, without limit and filters
  bool more = false;          // the limit has cut rows off
  std::int64_t revision = 0;  // the store's (for the header), not the requested one
};

struct RangeResult : RangeSummary {
  RowBuffer rows;
};

}  // namespace kvorum::mvcc
