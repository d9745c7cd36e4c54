// Parses HTTP/1.1 messages as they arrive: the head, then the body piece by piece, in any framing
// (length, chunks, until the connection ends). The only code that knows Beast.
//
// Used by one thread at a time. A malformed message, one whose head is too large, or one with an
// unknown encoding is an error (kInvalidArgument, kResourceExhausted, kUnimplemented), after which
// the connection must be closed. The head is bounded, and what stands around the data of a chunked
// body (chunked_body.h); its trailers are dropped. The data has no bound here: the caller checks
// its length.
//
// A request's target in absolute form is read as if it had come in origin form, its host in the
// Host field: no owner sees the difference (http1_rules.h).
//
// Interim answers (1xx, RFC 9110, section 15.2) are skipped: the head is that of the final answer.
// They are few, and count in the bound of the head. No request of ours asks for another protocol,
// so 101 is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "rpc/http/http.h"
#include "rpc/http/http1_rules.h"

namespace kvorum::rpc {

class ChunkedBody;

struct HttpHead {
  std::string method;   // requests only
  std::string target;   // requests only
  unsigned status = 0;  // responses only
  bool is_http_1_0 = false;
  std::vector<HttpHeader> headers;  // names in lower case
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = false;

  std::string_view Path() const { return std::string_view(target).substr(0, target.find('?')); }
  // The first value under a lower-case name; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

class Http1Parser {
 public:
  enum class Kind : std::uint8_t { kRequest, kResponse };

  Http1Parser(Kind kind, std::size_t max_head_bytes);
  ~Http1Parser();
  Http1Parser(const Http1Parser&) = delete;
  Http1Parser& operator=(const Http1Parser&) = delete;

  // Consumes bytes; appends those of the body to `body`. Returns the number consumed: all except
  // those after the message's end, and those of a line of the head that is not complete. It stops
  // once after the head.
  Result<std::size_t> Put(std::string_view bytes, std::string& body);
  // The connection has ended: an error if this leaves the message incomplete.
  Result<void> PutEnd();
  bool head_done() const;
  bool done() const { return stage_ == Stage::kDone; }
  // The memory of the head, of which its fields are the most.
  std::size_t held_bytes() const { return head_bytes_ + head_.headers.size() * sizeof(HttpHeader); }
  const HttpHead& head() const { return head_; }
  HttpHead TakeHead() { return std::move(head_); }
  // The body is not read: nothing can follow the message on its connection.
  void GiveUpBody() { head_.keep_alive = false; }
  // The rule of http1_rules.h that a request's head breaks, if that caused the error of Put.
  const std::optional<Http1Head::Refusal>& refusal() const { return refusal_; }

 private:
  struct Impl;
  template <bool is_request>
  struct Parser;
  enum class Stage : std::uint8_t { kHead, kLength, kChunks, kUntilEnd, kDone };

  Result<std::size_t> PutHead(std::string_view bytes);
  // The head that is complete is not the answer's.
  bool is_interim() const { return head_.status >= 100 && head_.status < 200; }
  Result<void> SkipInterim();
  void BeginBody();
  Result<std::size_t> PutBody(std::string_view bytes, std::string& body);

  const std::size_t max_head_bytes_;
  HttpHead head_;
  std::optional<Http1Head::Refusal> refusal_;
  std::unique_ptr<Impl> impl_;
  std::size_t head_bytes_ = 0;  // consumed
  int interim_answers_ = 0;
  Stage stage_ = Stage::kHead;
  std::uint64_t left_bytes_ = 0;         // of a body with a length
  std::unique_ptr<ChunkedBody> chunks_;  // of one in chunks
};

// The reason phrase of a status, for an answer's first line.
std::string_view ReasonOf(unsigned status);

}  // namespace kvorum::rpc
