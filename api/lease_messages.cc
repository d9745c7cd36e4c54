#include "api/lease_messages.h"

#include <optional>
#include <utility>

#include "api/tables.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr auto kGrantRequest =
    Describe<LeaseGrantRequest, Field<1, &LeaseGrantRequest::ttl_s, "TTL">,
             Field<2, &LeaseGrantRequest::id, "ID">>("etcdserverpb.LeaseGrantRequest");

constexpr auto kLeaseId = Describe<lease::LeaseId, Only<1, lease::LeaseId, "ID">>(
    "etcdserverpb.LeaseRevokeRequest etcdserverpb.LeaseKeepAliveRequest etcdserverpb.LeaseStatus");

constexpr auto kCheckpoint =
    Describe<LeaseCheckpoint, Field<1, &LeaseCheckpoint::id, "ID", kShown>,
             Field<2, &LeaseCheckpoint::remaining_s, "remaining_TTL", kShown>>(
        "etcdserverpb.LeaseCheckpoint");
struct Checkpoints {
  std::vector<LeaseCheckpoint> checkpoints;
};
constexpr auto kCheckpoints =
    Describe<Checkpoints, Nested<1, &Checkpoints::checkpoints, kCheckpoint, "checkpoints", kShown>>(
        "etcdserverpb.LeaseCheckpointRequest");

constexpr auto kTimesRequest =
    Describe<LeaseTimeToLiveRequest, Field<1, &LeaseTimeToLiveRequest::id, "ID">,
             Field<2, &LeaseTimeToLiveRequest::keys, "keys">>(
        "etcdserverpb.LeaseTimeToLiveRequest");

struct IdAndTtl {
  std::optional<ResponseHeader> header;  // not between members
  lease::LeaseId id = lease::kNoLease;
  std::int64_t ttl_s = 0;
  std::string_view error = {};  // never set
};
constexpr auto kIdAndTtl =
    Describe<IdAndTtl, Nested<1, &IdAndTtl::header, kResponseHeader, "header">,
             Field<2, &IdAndTtl::id, "ID">, Field<3, &IdAndTtl::ttl_s, "TTL">>(
        "etcdserverpb.LeaseKeepAliveResponse");
constexpr auto kGranted =
    Describe<IdAndTtl, Nested<1, &IdAndTtl::header, kResponseHeader, "header">,
             Field<2, &IdAndTtl::id, "ID">, Field<3, &IdAndTtl::ttl_s, "TTL">,
             Text<4, &IdAndTtl::error, "error">>("etcdserverpb.LeaseGrantResponse");

struct TimesAnswer {
  ResponseHeader header;
  lease::LeaseId id = lease::kNoLease;
  std::int64_t ttl_s = 0;
  std::int64_t granted_s = 0;
  std::vector<std::string_view> keys;
};
constexpr auto kTimesAnswer =
    Describe<TimesAnswer, Nested<1, &TimesAnswer::header, kResponseHeader, "header">,
             Field<2, &TimesAnswer::id, "ID">, Field<3, &TimesAnswer::ttl_s, "TTL">,
             Field<4, &TimesAnswer::granted_s, "grantedTTL">, Field<5, &TimesAnswer::keys, "keys">>(
        "etcdserverpb.LeaseTimeToLiveResponse");

struct LeasesAnswer {
  ResponseHeader header;
  std::vector<lease::LeaseId> ids;
};
constexpr auto kLeasesAnswer =
    Describe<LeasesAnswer, Nested<1, &LeasesAnswer::header, kResponseHeader, "header">,
             Nested<2, &LeasesAnswer::ids, kLeaseId, "leases">>("etcdserverpb.LeaseLeasesResponse");

// On the peer port the message is wrapped.
struct WrappedRequest {
  LeaseTimeToLiveRequest times;
};
constexpr auto kWrappedRequest =
    Describe<WrappedRequest,
             Nested<1, &WrappedRequest::times, kTimesRequest, "LeaseTimeToLiveRequest">>(
        "leasepb.LeaseInternalRequest");
struct WrappedAnswer {
  TimesAnswer times;
};
constexpr auto kWrappedAnswer =
    Describe<WrappedAnswer,
             Nested<1, &WrappedAnswer::times, kTimesAnswer, "LeaseTimeToLiveResponse">>(
        "leasepb.LeaseInternalResponse");

constexpr const wire::Table* kLeaseTables[] = {
    &kGrantRequest, &kLeaseId,     &kCheckpoint,   &kCheckpoints,    &kTimesRequest, &kIdAndTtl,
    &kGranted,      &kTimesAnswer, &kLeasesAnswer, &kWrappedRequest, &kWrappedAnswer};

std::unexpected<Error> MalformedAnswer() {
  return Fail(Code::kUnavailable, "the leader's answer about a lease cannot be read");
}

TimesAnswer AnswerOf(const ResponseHeader& header, lease::LeaseId id, const LeaseTimes& times) {
  return {.header = header,
          .id = id,
          .ttl_s = times.ttl_s,
          .granted_s = times.granted_s,
          .keys = {times.keys.begin(), times.keys.end()}};
}

}  // namespace

MessageTables LeaseTables() { return kLeaseTables; }

Result<LeaseGrantRequest> DecodeLeaseGrant(std::string_view bytes) {
  return wire::DecodeRequest(kGrantRequest, bytes);
}

std::string EncodeLeaseGrant(const LeaseGrantRequest& request) {
  return wire::Encode(kGrantRequest, request);
}

Result<LeaseTimeToLiveRequest> DecodeLeaseTimeToLive(std::string_view bytes) {
  return wire::DecodeRequest(kTimesRequest, bytes);
}

Result<lease::LeaseId> DecodeLeaseId(std::string_view bytes) {
  return wire::DecodeRequest(kLeaseId, bytes);
}

std::string EncodeLeaseId(lease::LeaseId id) { return wire::Encode(kLeaseId, id); }

Result<std::vector<LeaseCheckpoint>> DecodeLeaseCheckpoints(std::string_view bytes) {
  KV_TRY(Checkpoints request, wire::DecodeRequest(kCheckpoints, bytes));
  return std::move(request.checkpoints);
}

std::string EncodeLeaseCheckpoints(std::span<const LeaseCheckpoint> checkpoints) {
  return wire::Encode(kCheckpoints, {.checkpoints = {checkpoints.begin(), checkpoints.end()}});
}

SharedBytes EncodeLeaseGrantResponse(const ResponseHeader& header, lease::LeaseId id,
                                     std::int64_t ttl_s) {
  return wire::EncodeShared(kIdAndTtl, {.header = header, .id = id, .ttl_s = ttl_s});
}

lease::LeaseId GrantedLease(std::string_view answer) {
  constexpr std::uint32_t kId = wire::NumberOf(kGranted.rows, "ID");
  wire::Reader reader(answer);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(kId)) return reader.Int();
    reader.Skip();
  }
  return lease::kNoLease;
}

SharedBytes EncodeLeaseKeepAliveResponse(const ResponseHeader& header, lease::LeaseId id,
                                         std::int64_t ttl_s) {
  return EncodeLeaseGrantResponse(header, id, ttl_s);
}

SharedBytes EncodeLeaseTimeToLiveResponse(const ResponseHeader& header, lease::LeaseId id,
                                          const LeaseTimes& times) {
  return wire::EncodeShared(kTimesAnswer, AnswerOf(header, id, times));
}

SharedBytes EncodeLeaseLeasesResponse(const ResponseHeader& header,
                                      std::span<const lease::LeaseId> ids) {
  return wire::EncodeShared(kLeasesAnswer, {.header = header, .ids = {ids.begin(), ids.end()}});
}

std::string EncodeForwardedKeepAlive(lease::LeaseId id, std::int64_t ttl_s) {
  return wire::Encode(kIdAndTtl, {.header = std::nullopt, .id = id, .ttl_s = ttl_s});
}

Result<std::int64_t> DecodeForwardedKeepAlive(std::string_view bytes, lease::LeaseId id) {
  IdAndTtl answer;
  if (wire::Decode(kIdAndTtl, bytes, answer) != wire::Decoded::kOk || answer.id != id)
    return MalformedAnswer();
  return answer.ttl_s;
}

std::string EncodeInternalTimeToLive(const LeaseTimeToLiveRequest& request) {
  return wire::Encode(kWrappedRequest, {.times = request});
}

Result<LeaseTimeToLiveRequest> DecodeInternalTimeToLive(std::string_view bytes) {
  KV_TRY(const WrappedRequest request, wire::DecodeRequest(kWrappedRequest, bytes));
  return request.times;
}

std::string EncodeInternalTimes(lease::LeaseId id, const LeaseTimes& times) {
  return wire::Encode(kWrappedAnswer, {.times = AnswerOf({}, id, times)});
}

Result<LeaseTimes> DecodeInternalTimes(std::string_view bytes, lease::LeaseId id) {
  WrappedAnswer answer;
  const TimesAnswer& times = answer.times;
  if (wire::Decode(kWrappedAnswer, bytes, answer) != wire::Decoded::kOk || times.id != id)
    return MalformedAnswer();
  return LeaseTimes{.ttl_s = times.ttl_s,
                    .granted_s = times.granted_s,
                    .keys = {times.keys.begin(), times.keys.end()}};
}

}  // namespace kvorum::server
