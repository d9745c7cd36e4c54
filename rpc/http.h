// HTTP/1.1 requests on the server's port: health, version, metrics, the JSON gateway.
//
// Handlers are called on the thread of the connection's loop and must not block there; the answer
// may come from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::rpc {

class Loop;

struct HttpHeader {
  std::string name;  // lower case in requests
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path and query
  std::vector<HttpHeader> headers;
  SharedBytes body;
  SharedBytes peer;
  Loop* loop = nullptr;

  std::string_view Path() const;   // the target up to '?'
  std::string_view Query() const;  // what follows '?'
  // The first value under a lower-case name.
  std::optional<std::string_view> Header(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<HttpHeader> headers;  // beside content-type, content-length, date, connection
  ByteChain body;

  static HttpResponse Text(unsigned status, std::string body);
  static HttpResponse Json(unsigned status, std::string body);
};

// Receives the answer. Implemented by the transport; called once.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  virtual void Complete(HttpResponse response) = 0;
};

// The right to answer one request, once, from any thread. If it is dropped without an answer, it
// answers 500.
class HttpReply {
 public:
  explicit HttpReply(std::shared_ptr<HttpSink> sink) : sink_(std::move(sink)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&& other) noexcept;
  ~HttpReply();
  void Send(HttpResponse response);

 private:
  std::shared_ptr<HttpSink> sink_;
};

using HttpHandler = std::move_only_function<void(HttpRequest request, HttpReply reply) const>;

// Handlers by exact path, with escapes decoded; any other path is answered "404 page not found". A
// path with empty segments, "." or ".." is answered with a redirect (307) to itself without them.
// All as in Go's mux. Filled by one thread, then used as an HttpHandler: `mux.ToHandler()`.
class HttpMux {
 public:
  void Handle(std::string path, HttpHandler handler);
  // For every path that begins with the prefix (which ends in '/') and has no exact handler; the
  // longest prefix wins.
  void HandlePrefix(std::string prefix, HttpHandler handler);
  void Serve(HttpRequest request, HttpReply reply) const;
  static HttpHandler ToHandler(HttpMux mux);

 private:
  std::unordered_map<std::string, HttpHandler> exact_;
  std::vector<std::pair<std::string, HttpHandler>> prefixes_;
};

}  // namespace kvorum::rpc
