// One kept-alive connection to a peer, for one request at a time: pipeline, probes and questions.
//
// A request is sent once at most, whatever happens to the connection: where that breaks before the
// answer is there, nobody knows whether the peer has done what was asked, and a proposal that goes
// again would be applied twice. So a connection is read while it idles, and given up as soon as the
// peer has closed it; whoever may ask again does so itself.
//
// Of the loop's thread. Destroyed, it drops the request under way without a callback.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "base/url.h"
#include "rpc/http1_parser.h"
#include "server/peer/peer_dialer.h"

namespace kvorum::server {

struct HttpReceived {
  rpc::HttpHead head;
  std::string body;
};

class HttpClient {
 public:
  using Done = std::move_only_function<void(Result<HttpReceived> response)>;

  // The body of an answer is an error past `max_body_bytes`.
  explicit HttpClient(PeerDialer& dialer, std::size_t max_body_bytes = std::size_t{64} << 10);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Sends the request, which is whole bytes of HTTP/1.1, on the connection that stands if it goes
  // to the same URL, else on a new one. An error leaves open whether the peer got the request, but
  // for one of connecting. `done` may ask again.
  void Ask(const Url& url, ByteChain request, Duration timeout, Done done);
  bool is_busy() const;

 private:
  class Exchange;

  std::shared_ptr<Exchange> exchange_;
};

}  // namespace kvorum::server
