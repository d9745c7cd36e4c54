#include "rpc/http/http_error.h"

#include <string>

namespace kvorum::rpc {

HttpResponse HttpError(unsigned status, std::string_view text) {
  HttpResponse response = HttpResponse::Text(status, std::string(text) + "\n");
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

HttpResponse WrongMethod(std::string_view allowed) {
  HttpResponse refusal = HttpError(405, "Method Not Allowed");
  refusal.headers.push_back({"Allow", std::string(allowed)});
  return refusal;
}

}  // namespace kvorum::rpc
