// HTTP/1.1 requests on the server's port: health, version, metrics, the JSON gateway.
//
// Handlers are called on the thread of the connection's loop and must not block there; the answer
// may come from any thread.
#pragma once

#include <cstddef>
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

class HttpInput;
class Loop;

struct HttpHeader {
  std::string name;  // lower case in requests
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string target;  // as sent, but for an absolute form's host: path and query
  std::vector<HttpHeader> headers;
  SharedBytes body;
  SharedBytes peer;
  // The common name in the client's verified certificate; nullopt if none was requested.
  std::optional<SharedBytes> certificate_name = {};
  Loop* loop = nullptr;
  bool is_secure = false;  // came under TLS
  // The body as it comes, instead of `body` (Options::reads_open_body); null: it is whole.
  std::shared_ptr<HttpInput> input = {};

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

// The body of an answer that is sent while it is made: in chunks over HTTP/1.1, as DATA over
// HTTP/2. Belongs to the connection's loop.
class HttpBody {
 public:
  using Written = std::move_only_function<void(Result<void>)>;

  virtual ~HttpBody() = default;
  // One Write may be outstanding. `written` runs in a later wake-up, when the connection has taken
  // the bytes: a client that does not read delays it. It gets an error if the client has left.
  virtual void Write(ByteChain bytes, Written written) = 0;
  // Ends the body, when no Write is outstanding. Nothing may follow.
  virtual void End() = 0;
};

class HttpReply;

// A connection that has become a WebSocket (RFC 6455) for one request.
struct HttpUpgrade {
  std::shared_ptr<HttpInput> input;  // the client's messages, each with a line's end
  // Each line of the answer's body is sent as a message of text; its head is not sent. After it the
  // connection is closed.
  std::unique_ptr<HttpReply> reply;
};

// Receives the answer. Implemented by the transport; one of Complete and Begin is called, once.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  virtual void Complete(HttpResponse response) = 0;
  // Sends the head alone (its body is ignored). Null: the client has left, or this transport sends
  // whole answers only.
  virtual std::shared_ptr<HttpBody> Begin(HttpResponse /*head*/) { return nullptr; }
  // Sends the head of an answer 101 alone. Nullopt: the client has left, or this transport cannot.
  virtual std::optional<HttpUpgrade> Upgrade(HttpResponse head);
  // Runs once if the client leaves, or closes its side, before the answer is complete.
  virtual void OnGone(std::move_only_function<void()> /*callback*/) {}
  // On the connection's loop: the handler keeps so many bytes of the request. They count as the
  // connection's until the answer is complete.
  virtual void Hold(std::size_t /*bytes*/) {}
};

// The right to answer one request, once, from any thread. If it is dropped without an answer, it
// answers 500.
class HttpReply {
 public:
  explicit HttpReply(std::shared_ptr<HttpSink> sink) : sink_(std::move(sink)) {}
  HttpReply(HttpReply&&) noexcept = default;
  HttpReply& operator=(HttpReply&& other) noexcept;
  ~HttpReply();
  // For any kind of answer.
  void AddHeaders(std::vector<HttpHeader> headers);
  void Send(HttpResponse response);
  // Instead of Send, on the connection's loop: the body follows. Null: the answer has no waiter.
  std::shared_ptr<HttpBody> Begin(HttpResponse head);
  // Instead of Send, on the connection's loop: it speaks WebSocket from here on.
  std::optional<HttpUpgrade> Upgrade(HttpResponse head);
  // On the connection's loop, before the answer. The callback runs there; it must not answer
  // within.
  void OnGone(std::move_only_function<void()> callback) { sink_->OnGone(std::move(callback)); }
  // For HttpSink::Hold, before the answer and after it has begun.
  std::weak_ptr<HttpSink> sink() const { return sink_; }

 private:
  std::shared_ptr<HttpSink> sink_;
  std::vector<HttpHeader> headers_;
};

using HttpHandler = std::move_only_function<void(HttpRequest request, HttpReply reply) const>;

// Handlers by exact path, with escapes decoded; any other path is answered "404 page not found". A
// path with empty segments, "." or ".." is answered with a redirect (307) to itself without them.
// All as in Go's mux. Filled by one thread, then used as an HttpHandler: `mux.ToHandler()`.
class HttpMux {
 public:
  void Handle(std::string path, HttpHandler handler);
  // For every path that begins with the prefix (which ends in '/') and has no exact handler; the
  // longest prefix wins. The prefix without its slash is redirected.
  void HandlePrefix(std::string prefix, HttpHandler handler);
  void Serve(HttpRequest request, HttpReply reply) const;
  // Sorted; a prefix ends in '/' and a star.
  std::vector<std::string> Paths() const;
  static HttpHandler ToHandler(HttpMux mux);

 private:
  std::unordered_map<std::string, HttpHandler> exact_;
  std::vector<std::pair<std::string, HttpHandler>> prefixes_;
};

}  // namespace kvorum::rpc
