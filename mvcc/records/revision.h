// A revision names one change of the keyspace: `main` counts the transactions that changed
// something, `sub` the changes within one transaction. The empty store is at main revision 1, the
// first write makes 2. Both types are values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace kvorum::mvcc {

struct Revision {
  std::int64_t main = 0;
  std::int64_t sub = 0;
  friend auto operator<=>(const Revision&, const Revision&) = default;
};

// A database with larger ones is refused where it comes in: its revisions would run out, and what
// is added to them elsewhere would overflow.
inline constexpr std::int64_t kLargestRevision = std::int64_t{1} << 62;

// The key of a revision in the `key` bucket: main as 8 bytes big-endian, '_', sub as 8 bytes
// big-endian, and 't' when the record is a tombstone. Sorted bytewise it is in revision order.
class RevisionKey {
 public:
  static constexpr std::size_t kSizeBytes = 17;
  static constexpr std::size_t kTombstoneSizeBytes = 18;

  explicit RevisionKey(Revision revision, bool tombstone = false);
  std::string_view view() const { return {bytes_.data(), size_}; }

  struct Decoded {
    Revision revision;
    bool tombstone = false;
  };
  // kDataLoss for bytes that are not a revision key.
  static Result<Decoded> Decode(std::string_view bytes);

 private:
  std::array<char, kTombstoneSizeBytes> bytes_;
  std::size_t size_;
};

}  // namespace kvorum::mvcc
