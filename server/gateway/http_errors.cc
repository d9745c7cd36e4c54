#include "server/gateway/http_errors.h"

#include "server/gateway/json_answer.h"

namespace kvorum::server::gateway {

unsigned HttpStatusOf(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kCanceled:
      return 499;
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      return 500;
  }
  return 500;
}

rpc::HttpResponse ErrorResponse(const Error& error) {
  rpc::HttpResponse response = rpc::HttpResponse::Json(HttpStatusOf(error.code), JsonStatus(error));
  if (error.code == Code::kUnauthenticated)
    response.headers.push_back({"WWW-Authenticate", error.message});
  return response;
}

}  // namespace kvorum::server::gateway
