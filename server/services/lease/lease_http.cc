#include "server/services/lease/lease_http.h"

#include <string>
#include <utility>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "rpc/http/http_error.h"

namespace kvorum::server {
namespace {

// An id and a flag need no more.
constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 10;

rpc::HttpResponse RefusalOf(const Error& error) {
  if (error == kErrLeaseNotFound) return rpc::HttpError(404, kLeaseNotFoundText);
  if (error == kErrNotPrimary.ToError()) return rpc::HttpError(400, error.message);
  return rpc::HttpError(500, error.message);
}

rpc::HttpResponse Message(std::string bytes) {
  rpc::HttpResponse response{
      .status = 200, .content_type = "application/protobuf", .headers = {}, .body = {}};
  response.body.push_back(SharedBytes::Own(std::move(bytes)));
  return response;
}

bool IsRefused(const rpc::HttpRequest& request, rpc::HttpReply& reply) {
  if (request.method != "POST") {
    reply.Send(rpc::HttpError(405, "Method Not Allowed"));
    return true;
  }
  if (request.body.size() > kMaxBodyBytes) {
    reply.Send(rpc::HttpError(413, "request body too large"));
    return true;
  }
  return false;
}

void ServeRenewal(LeaseAccess& access, const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (IsRefused(request, reply)) return;
  const auto id = DecodeLeaseId(request.body.view());
  if (!id.has_value()) return reply.Send(rpc::HttpError(400, "error unmarshalling request"));
  access.RenewForMember(
      *id, [id = *id, reply = std::move(reply)](const Result<std::int64_t>& ttl_s) mutable {
        reply.Send(ttl_s.has_value() ? Message(EncodeForwardedKeepAlive(id, *ttl_s))
                                     : RefusalOf(ttl_s.error()));
      });
}

void ServeTimeToLive(LeaseAccess& access, const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (IsRefused(request, reply)) return;
  const auto asked = DecodeInternalTimeToLive(request.body.view());
  if (!asked.has_value()) return reply.Send(rpc::HttpError(400, "error unmarshalling request"));
  access.TimeToLiveForMember(
      *asked, [id = asked->id, reply = std::move(reply)](const Result<LeaseTimes>& times) mutable {
        reply.Send(times.has_value() ? Message(EncodeInternalTimes(id, *times))
                                     : RefusalOf(times.error()));
      });
}

}  // namespace

void HandleLeases(rpc::HttpMux& mux, LeaseAccess& access) {
  mux.Handle(std::string(kLeasesPath),
             [&access](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               ServeRenewal(access, request, std::move(reply));
             });
  mux.Handle(std::string(kLeasesInternalPath),
             [&access](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               ServeTimeToLive(access, request, std::move(reply));
             });
}

}  // namespace kvorum::server
