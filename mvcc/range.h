// The answer of a range: rows, streamed to a sink so that a service can encode them straight into
// its answer, or collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mvcc/key_value.h"

namespace kvorum::mvcc {

// One key-value pair of an answer. Everything in it points into memory of the view that it comes
// from; `encoded` is good during RowSink::Add only.
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
  // An error says that it takes no more, and ends the range with that error.
  virtual Result<void> Add(const Row& row) = 0;
};

// Encoded rows in one block of their own: one copy a row, amortized no allocation.
class RowBuffer final : public RowSink {
 public:
  Result<void> Add(const Row& row) override;
  void Clear();

  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  // The i-th row as a mvccpb.KeyValue.
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  std::size_t size_bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

// What an answer says beside its rows.
struct RangeSummary {
  std::int64_t count = 0;     // keys in the range at that revision, whatever limit and filters
  bool more = false;          // the limit has cut something off
  std::int64_t revision = 0;  // of the store (the header's), not the one that was asked for
};

struct RangeResult : RangeSummary {
  RowBuffer rows;
};

}  // namespace kvorum::mvcc
