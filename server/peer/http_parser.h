// HTTP/1.1 messages as they come in: the head, then the body piece by piece, whatever its framing
// (length, chunks, until the connection ends). Parsed by Beast.
//
// Used by one thread at a time. A message that is malformed, whose head is too large, or that is
// encoded in a way that nobody here knows, is an error (kInvalidArgument, kResourceExhausted,
// kUnimplemented), after which the connection is to be closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/http.h"

namespace kvorum::server {

struct HttpHead {
  std::string method;                    // of a request
  std::string target;                    // of a request
  unsigned status = 0;                   // of a response
  std::vector<rpc::HttpHeader> headers;  // names in lower case
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = false;

  std::string_view Path() const { return std::string_view(target).substr(0, target.find('?')); }
  // The first value under a lower-case name; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

class HttpParser {
 public:
  enum class Kind : std::uint8_t { kRequest, kResponse };

  HttpParser(Kind kind, std::size_t max_head_bytes);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // Takes bytes off the front; appends those of the body to `body`. Returns how many it took: all
  // but what lies behind the message's end, and what it needs more of to go on. It stops once after
  // the head.
  Result<std::size_t> Put(std::string_view bytes, std::string& body);
  // The connection has ended: an error if the message is not complete by that.
  Result<void> PutEnd();
  bool head_done() const;
  bool done() const;
  const HttpHead& head() const { return head_; }

 private:
  struct Impl;
  template <bool is_request>
  struct Parser;

  HttpHead head_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::server
