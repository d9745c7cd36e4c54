// The messages of the Lock and Election services. Views point into the given bytes; key-values are
// passed on in encoded form.
//
// Errors: MalformedRequest, like kv_decode.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/kv_encode.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "lease/lease_record.h"

namespace kvorum::server {

struct LockRequest {
  std::string_view name;
  lease::LeaseId lease = lease::kNoLease;
};
Result<LockRequest> DecodeLock(std::string_view bytes);

// UnlockRequest consists of a key, LeaderRequest of a name.
Result<std::string_view> DecodeOnlyBytes(std::string_view bytes);

struct CampaignRequest {
  std::string_view name;
  lease::LeaseId lease = lease::kNoLease;
  std::string_view value;
};
Result<CampaignRequest> DecodeCampaign(std::string_view bytes);

struct LeaderKey {
  std::string_view name;
  std::string_view key;
  std::int64_t created = 0;  // the creation revision
  lease::LeaseId lease = lease::kNoLease;
};

// ProclaimRequest, and ResignRequest, which has no value.
struct LeadershipRequest {
  std::optional<LeaderKey> leader;
  std::string_view value;
};
Result<LeadershipRequest> DecodeProclaim(std::string_view bytes);
Result<LeadershipRequest> DecodeResign(std::string_view bytes);

// UnlockResponse, ProclaimResponse and ResignResponse consist of a header.
SharedBytes EncodeLockResponse(const ResponseHeader& header, std::string_view key);
SharedBytes EncodeCampaignResponse(const ResponseHeader& header, const LeaderKey& leader);
// `kv` is a mvccpb.KeyValue.
SharedBytes EncodeLeaderResponse(const ResponseHeader& header, std::string_view kv);

}  // namespace kvorum::server
