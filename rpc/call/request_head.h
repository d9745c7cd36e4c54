// The header block of a request over HTTP/2: takes its fields as they come, keeps those with a
// meaning in HTTP or gRPC, and hands the others on as metadata. Then says whether it is a request
// at all; an HTTP/2 peer may also send one block of trailers, which mean nothing in gRPC.
//
// Used by one thread. One block of a connection is open at a time, so one object is enough; Clear
// begins the next. The strings are set only for requests that will be refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "rpc/call/call_context.h"
#include "rpc/call/packed_metadata.h"
#include "rpc/call/service.h"

namespace kvorum::rpc {

struct RequestHead {
  enum class HttpMethod : std::uint8_t { kNone, kPost, kOther };
  enum class Scheme : std::uint8_t { kNone, kHttps, kOther };

  // Keeps no string's memory, which an assignment would.
  void Clear() {
    std::destroy_at(this);
    std::construct_at(this);
  }
  // `max_list_bytes`: of the whole block.
  void OnField(std::string_view name, std::string_view value, const Router& router,
               MetadataPacker& metadata, std::size_t max_list_bytes);
  void OnTrailer(std::string_view name, std::string_view value, std::size_t max_list_bytes);
  // True if the complete block, whose metadata the call has by now, is not a request of HTTP/2.
  bool IsMalformed(const CallContext& call) const;
  // Metadata's memory counts as part of the call up to an ordinary size; 0 then.
  std::size_t UnusualBytes() const;

  const Router::Method* entry = nullptr;  // null: unknown_path
  std::optional<std::uint64_t> content_length;
  std::optional<Error> error;  // the first header that cannot be understood
  std::optional<Duration> timeout;
  std::string unknown_path;
  std::string wrong_http_method;
  std::string wrong_content_type;
  std::string unknown_encoding;
  std::size_t list_bytes = 0;
  std::uint32_t authorities = 0;
  std::uint32_t hosts = 0;
  HttpMethod method = HttpMethod::kNone;
  Scheme scheme = Scheme::kNone;
  bool malformed = false;     // not HTTP/2: the stream is reset
  bool too_large = false;     // also not HTTP/2
  bool regular_seen = false;  // pseudo headers may not follow
  bool path_seen = false;
  bool is_grpc = false;
  bool plus_proto = false;  // "application/grpc+proto"
  bool is_gzip = false;     // its messages may be compressed

 private:
  bool Count(std::string_view name, std::string_view value, std::size_t max_list_bytes);
  void OnPseudoField(std::string_view name, std::string_view value, const Router& router,
                     MetadataPacker& metadata);
  // Handles a header with a meaning in gRPC or HTTP; false if it is metadata.
  bool OnProtocolField(std::string_view name, std::string_view value);
};

}  // namespace kvorum::rpc
