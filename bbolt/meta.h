// A bbolt file's meta page: where everything begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bbolt/format.h"

namespace kvorum::bbolt {

struct Meta {
  std::uint32_t page_size = 4096;
  PageId root = 0;
  std::uint64_t sequence = 0;  // of the root bucket
  PageId freelist = kNoFreelist;
  PageId high_water = 0;
  std::uint64_t txid = 0;

  friend bool operator==(const Meta&, const Meta&) = default;
};

// The whole page. Its id is the transaction's parity, as bbolt wants it.
std::string EncodeMetaPage(const Meta& meta);

// From the first bytes of meta page `id`, 0 or 1. kDataLoss unless magic, version, checksum and
// page size are right and the page ids lie below the high water.
Result<Meta> DecodeMetaPage(PageId id, std::string_view bytes);

}  // namespace kvorum::bbolt
