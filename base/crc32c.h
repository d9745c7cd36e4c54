// CRC-32C (Castagnoli, RFC 3720 appendix B.4) for WAL records, HashKV and stored records. Uses the
// CPU's instruction if it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvorum {

// Continues `crc` (0 to begin) over the bytes, as Go's crc32.Update does with the Castagnoli table.
std::uint32_t Crc32c(std::uint32_t crc, std::string_view bytes);

// The table-driven fallback, for tests to compare with.
std::uint32_t Crc32cPortable(std::uint32_t crc, std::string_view bytes);

}  // namespace kvorum
