// The Lease service's messages: requests and answers of clients, log entries, and requests between
// members on the peer port.
//
// Errors: MalformedRequest, like kv_decode.h's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kv_encode.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "lease/lease_record.h"

namespace kvorum::server {

struct LeaseGrantRequest {
  std::int64_t ttl_s = 0;
  lease::LeaseId id = lease::kNoLease;
};
Result<LeaseGrantRequest> DecodeLeaseGrant(std::string_view bytes);
std::string EncodeLeaseGrant(const LeaseGrantRequest& request);

// LeaseRevokeRequest and LeaseKeepAliveRequest consist of an id.
Result<lease::LeaseId> DecodeLeaseId(std::string_view bytes);
std::string EncodeLeaseId(lease::LeaseId id);

struct LeaseCheckpoint {
  lease::LeaseId id = lease::kNoLease;
  std::int64_t remaining_s = 0;
};
Result<std::vector<LeaseCheckpoint>> DecodeLeaseCheckpoints(std::string_view bytes);
std::string EncodeLeaseCheckpoints(std::span<const LeaseCheckpoint> checkpoints);

struct LeaseTimeToLiveRequest {
  lease::LeaseId id = lease::kNoLease;
  bool keys = false;
};
Result<LeaseTimeToLiveRequest> DecodeLeaseTimeToLive(std::string_view bytes);

struct LeaseTimes {
  std::int64_t ttl_s = -1;  // -1 with granted_s 0: there is no such lease
  std::int64_t granted_s = 0;
  std::vector<std::string> keys;
};

SharedBytes EncodeLeaseGrantResponse(const ResponseHeader& header, lease::LeaseId id,
                                     std::int64_t ttl_s);
// The id in a LeaseGrantResponse, which the server chooses if the request has none; 0 without one.
lease::LeaseId GrantedLease(std::string_view answer);
SharedBytes EncodeLeaseKeepAliveResponse(const ResponseHeader& header, lease::LeaseId id,
                                         std::int64_t ttl_s);
SharedBytes EncodeLeaseTimeToLiveResponse(const ResponseHeader& header, lease::LeaseId id,
                                          const LeaseTimes& times);
SharedBytes EncodeLeaseLeasesResponse(const ResponseHeader& header,
                                      std::span<const lease::LeaseId> ids);

// ---- between members (spec: leases on the peer port); answers have no header ----

std::string EncodeForwardedKeepAlive(lease::LeaseId id, std::int64_t ttl_s);
// The time to live in a leader's answer; an Error for an answer about another lease too.
Result<std::int64_t> DecodeForwardedKeepAlive(std::string_view bytes, lease::LeaseId id);
std::string EncodeInternalTimeToLive(const LeaseTimeToLiveRequest& request);
Result<LeaseTimeToLiveRequest> DecodeInternalTimeToLive(std::string_view bytes);
std::string EncodeInternalTimes(lease::LeaseId id, const LeaseTimes& times);
Result<LeaseTimes> DecodeInternalTimes(std::string_view bytes, lease::LeaseId id);

}  // namespace kvorum::server
