// One kept-alive connection to a peer, for one request at a time: pipeline, probes and single
// requests.
//
// A request is sent at most once, even if the connection fails: if it breaks before the answer
// arrives, it is unknown whether the peer has acted on the request, and a proposal that is sent
// again would be applied twice. So a connection is read while it is idle, and dropped as soon as
// the peer has closed it; callers that may repeat a request do so themselves.
//
// Used on the loop's thread. If destroyed, it drops the request in progress without a callback.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/net/url.h"
#include "base/shared_bytes.h"
#include "rpc/http/http1_parser.h"
#include "server/peer/io/peer_dialer.h"

namespace kvorum::server {

struct HttpReceived {
  rpc::HttpHead head;
  std::string body;
};

class HttpClient {
 public:
  using Done = std::move_only_function<void(Result<HttpReceived> response)>;

  // An answer's body of more than `max_body_bytes` is an error.
  explicit HttpClient(PeerDialer& dialer, std::size_t max_body_bytes = std::size_t{64} << 10);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends the request, which is complete HTTP/1.1, on the existing connection if that goes to the
  // same URL, else on a new one. After an error, except one of connecting, it is unknown whether
  // the peer got the request. `done` may call Ask again.
  void Ask(const Url& url, ByteChain request, Duration timeout, Done done);
  bool is_busy() const;

 private:
  class Exchange;

  std::shared_ptr<Exchange> exchange_;
};

}  // namespace kvorum::server
