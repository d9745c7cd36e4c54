#include "lease/lease_record.h"

#include <cstddef>

#include "proto/wire.h"

namespace kvorum::lease {
namespace {

constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kTtl = 2;
constexpr std::uint32_t kRemainingTtl = 3;

}  // namespace

LeaseKey EncodeLeaseKey(LeaseId id) {
  LeaseKey key{};
  auto rest = static_cast<std::uint64_t>(id);
  for (std::size_t i = key.size(); i-- > 0; rest >>= 8) key[i] = static_cast<char>(rest & 0xff);
  return key;
}

std::string EncodeLease(const LeaseRecord& record) {
  std::string out;
  wire::AppendInt(out, kId, record.id);
  wire::AppendInt(out, kTtl, record.ttl_s);
  wire::AppendInt(out, kRemainingTtl, record.remaining_s);
  return out;
}

Result<LeaseRecord> DecodeLease(std::string_view bytes) {
  LeaseRecord record;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kId:
        record.id = reader.Int();
        break;
      case kTtl:
        record.ttl_s = reader.Int();
        break;
      case kRemainingTtl:
        record.remaining_s = reader.Int();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok() || record.id == kNoLease)
    return Fail(Code::kDataLoss, "lease: a stored lease is malformed");
  return record;
}

}  // namespace kvorum::lease
