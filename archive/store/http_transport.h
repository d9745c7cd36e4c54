// One HTTP request after another, by libcurl, over connections that are kept. Only http and https;
// redirects are not followed; certificates are always verified. Blocks for at most the given times,
// and ends about a second after the stop. A proxy is taken from the environment (https_proxy,
// no_proxy), as curl does. Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/store/stop_signal.h"
#include "archive/store/store_error.h"

namespace kvorum::archive {

enum class HttpMethod : std::uint8_t { kGet, kHead, kPut, kPost };
std::string_view HttpMethodName(HttpMethod method);

struct TransportOptions {
  std::string ca_file = {};  // the certificates that are trusted; empty: the system's
  std::chrono::milliseconds connect_timeout{5000};
  // Less than a byte a second for so long ends a request.
  std::chrono::seconds stall_timeout{30};
  std::chrono::milliseconds whole_timeout = std::chrono::minutes(10);
};

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string_view body = {};  // of kPut and kPost
  // The answer's body may have so many bytes, if it is kept.
  std::size_t limit_bytes = std::size_t{1} << 20;
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};                            // without what went to the sink

  std::string_view Header(const std::string& name) const;
};

// Gets the body of an answer with a 2xx status, in pieces of at most kMaxPieceBytes. The answer has
// its status and headers.
using BodySink = std::function<StoreResult<void>(const HttpAnswer& answer, std::string_view piece)>;

class HttpTransport {
 public:
  HttpTransport(TransportOptions options, const StopSignal& stop);
  ~HttpTransport();
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  // An answer of any status. kUnavailable if there was none, or not a whole one; kInvalid for a
  // certificate that is not trusted; kDamaged past limit_bytes; the sink's error. Texts name the
  // host at most.
  StoreResult<HttpAnswer> Do(const HttpRequest& request, const BodySink* sink);
  // The next request opens a connection.
  void Renew() { renew_ = true; }

 private:
  struct Call;

  const TransportOptions options_;
  const StopSignal& stop_;
  void* easy_;
  bool renew_ = false;
};

// Seconds since 1970 of an HTTP date, "Fri, 24 May 2013 00:00:00 GMT"; 0 if it is not one.
std::int64_t UnixSecondsOfHttpDate(const std::string& text);

}  // namespace kvorum::archive
