#include "server/messages/lease_messages.h"

#include <utility>

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {
namespace {

// LeaseGrantRequest
constexpr std::uint32_t kGrantTtl = 1;
constexpr std::uint32_t kGrantId = 2;
// LeaseRevokeRequest, LeaseKeepAliveRequest, LeaseTimeToLiveRequest, LeaseStatus
constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kKeys = 2;
// LeaseCheckpointRequest, LeaseCheckpoint
constexpr std::uint32_t kCheckpoints = 1;
constexpr std::uint32_t kRemainingTtl = 2;
// LeaseGrantResponse, LeaseKeepAliveResponse, LeaseTimeToLiveResponse
constexpr std::uint32_t kAnswerHeader = 1;
constexpr std::uint32_t kAnswerId = 2;
constexpr std::uint32_t kAnswerTtl = 3;
constexpr std::uint32_t kGrantedTtl = 4;
constexpr std::uint32_t kAttachedKeys = 5;
// LeaseLeasesResponse
constexpr std::uint32_t kLeases = 2;
// leasepb.LeaseInternalRequest, LeaseInternalResponse
constexpr std::uint32_t kTimeToLive = 1;

void AppendTimes(std::string& out, lease::LeaseId id, const LeaseTimes& times) {
  wire::AppendInt(out, kAnswerId, id);
  wire::AppendInt(out, kAnswerTtl, times.ttl_s);
  wire::AppendInt(out, kGrantedTtl, times.granted_s);
  for (const std::string& key : times.keys) wire::AppendBytesAlways(out, kAttachedKeys, key);
}

// The message in field 1, which is all that there is; empty if it is not there.
Result<std::string_view> Unwrap(std::string_view bytes) {
  std::string_view inner;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::BytesTag(kTimeToLive)) {
      inner = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return inner;
}

std::unexpected<Error> MalformedAnswer() {
  return Fail(Code::kUnavailable, "the leader's answer about a lease cannot be read");
}

SharedBytes EncodeIdAndTtl(const ResponseHeader& header, lease::LeaseId id, std::int64_t ttl_s) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendInt(out, kAnswerId, id);
  wire::AppendInt(out, kAnswerTtl, ttl_s);
  return SharedBytes::Own(std::move(out));
}

}  // namespace

Result<LeaseGrantRequest> DecodeLeaseGrant(std::string_view bytes) {
  LeaseGrantRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(kGrantTtl)) {
      request.ttl_s = reader.Int();
    } else if (reader.tag() == wire::VarintTag(kGrantId)) {
      request.id = reader.Int();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return request;
}

std::string EncodeLeaseGrant(const LeaseGrantRequest& request) {
  std::string out;
  wire::AppendInt(out, kGrantTtl, request.ttl_s);
  wire::AppendInt(out, kGrantId, request.id);
  return out;
}

Result<LeaseTimeToLiveRequest> DecodeLeaseTimeToLive(std::string_view bytes) {
  LeaseTimeToLiveRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(kId)) {
      request.id = reader.Int();
    } else if (reader.tag() == wire::VarintTag(kKeys)) {
      request.keys = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return request;
}

Result<lease::LeaseId> DecodeLeaseId(std::string_view bytes) {
  lease::LeaseId id = lease::kNoLease;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(kId)) {
      id = reader.Int();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return id;
}

std::string EncodeLeaseId(lease::LeaseId id) {
  std::string out;
  wire::AppendInt(out, kId, id);
  return out;
}

Result<std::vector<LeaseCheckpoint>> DecodeLeaseCheckpoints(std::string_view bytes) {
  std::vector<LeaseCheckpoint> checkpoints;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() != wire::BytesTag(kCheckpoints)) {
      reader.Skip();
      continue;
    }
    LeaseCheckpoint& checkpoint = checkpoints.emplace_back();
    wire::Reader inner(reader.Bytes());
    while (inner.Next()) {
      if (inner.tag() == wire::VarintTag(kId)) {
        checkpoint.id = inner.Int();
      } else if (inner.tag() == wire::VarintTag(kRemainingTtl)) {
        checkpoint.remaining_s = inner.Int();
      } else {
        inner.Skip();
      }
    }
    if (!inner.ok()) reader.Stop();
  }
  if (!reader.ok()) return MalformedRequest();
  return checkpoints;
}

std::string EncodeLeaseCheckpoints(std::span<const LeaseCheckpoint> checkpoints) {
  std::string out;
  for (const LeaseCheckpoint& checkpoint : checkpoints) {
    std::string inner;
    wire::AppendInt(inner, kId, checkpoint.id);
    wire::AppendInt(inner, kRemainingTtl, checkpoint.remaining_s);
    wire::AppendBytesAlways(out, kCheckpoints, inner);
  }
  return out;
}

SharedBytes EncodeLeaseGrantResponse(const ResponseHeader& header, lease::LeaseId id,
                                     std::int64_t ttl_s) {
  return EncodeIdAndTtl(header, id, ttl_s);
}

SharedBytes EncodeLeaseKeepAliveResponse(const ResponseHeader& header, lease::LeaseId id,
                                         std::int64_t ttl_s) {
  return EncodeIdAndTtl(header, id, ttl_s);
}

SharedBytes EncodeLeaseTimeToLiveResponse(const ResponseHeader& header, lease::LeaseId id,
                                          const LeaseTimes& times) {
  std::string out;
  AppendHeader(out, header);
  AppendTimes(out, id, times);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeLeaseLeasesResponse(const ResponseHeader& header,
                                      std::span<const lease::LeaseId> ids) {
  std::string out;
  AppendHeader(out, header);
  for (const lease::LeaseId id : ids) {
    wire::AppendLengthDelimitedHeader(out, kLeases, wire::IntFieldSize(kId, id));
    wire::AppendInt(out, kId, id);
  }
  return SharedBytes::Own(std::move(out));
}

std::string EncodeForwardedKeepAlive(lease::LeaseId id, std::int64_t ttl_s) {
  std::string out;
  wire::AppendInt(out, kAnswerId, id);
  wire::AppendInt(out, kAnswerTtl, ttl_s);
  return out;
}

Result<std::int64_t> DecodeForwardedKeepAlive(std::string_view bytes, lease::LeaseId id) {
  lease::LeaseId of = lease::kNoLease;
  std::int64_t ttl_s = 0;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(kAnswerId)) {
      of = reader.Int();
    } else if (reader.tag() == wire::VarintTag(kAnswerTtl)) {
      ttl_s = reader.Int();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok() || of != id) return MalformedAnswer();
  return ttl_s;
}

std::string EncodeInternalTimeToLive(const LeaseTimeToLiveRequest& request) {
  std::string inner;
  wire::AppendInt(inner, kId, request.id);
  wire::AppendBool(inner, kKeys, request.keys);
  std::string out;
  wire::AppendBytesAlways(out, kTimeToLive, inner);
  return out;
}

Result<LeaseTimeToLiveRequest> DecodeInternalTimeToLive(std::string_view bytes) {
  KV_TRY(const std::string_view inner, Unwrap(bytes));
  return DecodeLeaseTimeToLive(inner);
}

std::string EncodeInternalTimes(lease::LeaseId id, const LeaseTimes& times) {
  std::string inner;
  wire::AppendBytesAlways(inner, kAnswerHeader, {});
  AppendTimes(inner, id, times);
  std::string out;
  wire::AppendBytesAlways(out, kTimeToLive, inner);
  return out;
}

Result<LeaseTimes> DecodeInternalTimes(std::string_view bytes, lease::LeaseId id) {
  const auto inner = Unwrap(bytes);
  if (!inner.has_value()) return MalformedAnswer();
  LeaseTimes times{.ttl_s = 0, .granted_s = 0, .keys = {}};
  lease::LeaseId of = lease::kNoLease;
  wire::Reader reader(*inner);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(kAnswerId):
        of = reader.Int();
        break;
      case wire::VarintTag(kAnswerTtl):
        times.ttl_s = reader.Int();
        break;
      case wire::VarintTag(kGrantedTtl):
        times.granted_s = reader.Int();
        break;
      case wire::BytesTag(kAttachedKeys):
        times.keys.emplace_back(reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok() || of != id) return MalformedAnswer();
  return times;
}

}  // namespace kvorum::server
