#include "lease/lease_record.h"

#include <cstddef>

#include "proto/fields.h"

namespace kvorum::lease {
namespace {

using wire::Field;

constexpr auto kLease =
    wire::Describe<LeaseRecord, Field<1, &LeaseRecord::id>, Field<2, &LeaseRecord::ttl_s>,
                   Field<3, &LeaseRecord::remaining_s>>("leasepb.Lease",
                                                        wire::OtherTypes::kAreMalformed);
constexpr const wire::Table* kTables[] = {&kLease};

}  // namespace

std::span<const wire::Table* const> MessageTables() { return kTables; }

LeaseKey EncodeLeaseKey(LeaseId id) {
  LeaseKey key{};
  auto rest = static_cast<std::uint64_t>(id);
  for (std::size_t i = key.size(); i-- > 0; rest >>= 8) key[i] = static_cast<char>(rest & 0xff);
  return key;
}

std::string EncodeLease(const LeaseRecord& record) { return wire::Encode(kLease, record); }

Result<LeaseRecord> DecodeLease(std::string_view bytes) {
  LeaseRecord record;
  if (wire::Decode(kLease, bytes, record) != wire::Decoded::kOk || record.id == kNoLease)
    return Fail(Code::kDataLoss, "lease: a stored lease is malformed");
  return record;
}

}  // namespace kvorum::lease
