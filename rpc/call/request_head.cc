#include "rpc/call/request_head.h"

#include <utility>

#include "rpc/call/grpc_protocol.h"
#include "rpc/http/http2_rules.h"

namespace kvorum::rpc {
namespace {

// HPACK's overhead per header for SETTINGS_MAX_HEADER_LIST_SIZE (RFC 7540, section 6.5.2).
constexpr std::size_t kHeaderOverheadBytes = 32;
constexpr std::size_t kOrdinaryHeadBytes = 2048;

}  // namespace

bool RequestHead::Count(std::string_view name, std::string_view value, std::size_t max_list_bytes) {
  list_bytes += name.size() + value.size() + kHeaderOverheadBytes;
  if (list_bytes > max_list_bytes) too_large = true;
  return !too_large && !malformed;
}

void RequestHead::OnField(std::string_view name, std::string_view value, const Router& router,
                          MetadataPacker& metadata, std::size_t max_list_bytes) {
  if (!Count(name, value, max_list_bytes)) return;
  if (!IsValidHeaderValue(value)) {
    malformed = true;
  } else if (name.starts_with(':')) {
    OnPseudoField(name, value, router, metadata);
  } else {
    regular_seen = true;
    if (OnProtocolField(name, value)) return;
    if (!IsValidHeaderName(name)) {
      malformed = true;
    } else if (name.ends_with("-bin")) {
      if (auto decoded = DecodeBinaryMetadata(name, value)) {
        metadata.Add(name, *decoded);
      } else if (!error) {
        error = std::move(decoded).error();
      }
    } else {
      metadata.Add(name, value);
    }
  }
}

void RequestHead::OnTrailer(std::string_view name, std::string_view value,
                            std::size_t max_list_bytes) {
  (void)Count(name, value, max_list_bytes);
  // No pseudo header has a valid field name.
  malformed |= !IsValidHeaderName(name) || !IsValidHeaderValue(value) || IsConnectionField(name);
}

void RequestHead::OnPseudoField(std::string_view name, std::string_view value, const Router& router,
                                MetadataPacker& metadata) {
  malformed |= regular_seen;
  if (name == ":path") {
    malformed |= std::exchange(path_seen, true) || value.empty();
    entry = router.Find(value);
    if (entry == nullptr) unknown_path = value;
  } else if (name == ":method") {
    malformed |= method != HttpMethod::kNone;
    method = value == "POST" ? HttpMethod::kPost : HttpMethod::kOther;
    if (method == HttpMethod::kOther) wrong_http_method = value;
  } else if (name == ":authority") {
    ++authorities;
    metadata.Add(name, value);
  } else if (name == ":scheme") {
    malformed |= scheme != Scheme::kNone || !IsScheme(value);
    scheme = value == "https" ? Scheme::kHttps : Scheme::kOther;
  } else {
    malformed = true;
  }
}

bool RequestHead::OnProtocolField(std::string_view name, std::string_view value) {
  if (IsConnectionField(name)) {
    malformed = true;
    return true;
  }
  switch (name.size()) {
    case 2:
      if (name != "te") return false;
      malformed |= !IsAllowedTe(value);
      return true;
    case 4:
      if (name != "host") return false;
      ++hosts;
      return false;  // and it is metadata
    case 11:
      return name == "grpc-status";
    case 12:
      if (name == "content-type") {
        const auto subtype = ContentSubtype(value);
        if (subtype) {
          is_grpc = true;
          plus_proto = *subtype == "proto";
        } else {
          wrong_content_type = value;
        }
        return true;
      }
      if (name == "grpc-timeout") {
        if (auto parsed = ParseTimeout(value)) {
          timeout = *parsed;
        } else {
          error = std::move(parsed).error();
        }
        return true;
      }
      return name == "grpc-message";
    case 13:
      if (name != "grpc-encoding") return false;
      if (value == "gzip") {
        is_gzip = true;
      } else if (value != "identity" && !value.empty()) {
        unknown_encoding = value;
      }
      return true;
    case 14:
      if (name != "content-length") return false;
      malformed |= content_length.has_value();
      content_length = ParseContentLength(value);
      malformed |= !content_length.has_value();
      return false;  // and it is metadata
    case 17:
      return name == "grpc-message-type";
    case 20:
      return name == "grpc-accept-encoding";
    default:  // a length from the wire
      return false;
  }
}

bool RequestHead::IsMalformed(const CallContext& call) const {
  if (malformed || method == HttpMethod::kNone) return true;
  // CONNECT has none, and is refused for its method.
  const bool is_connect = wrong_http_method == "CONNECT";
  if (!is_connect && (scheme == Scheme::kNone || !path_seen)) return true;
  if (authorities == 0 || hosts == 0) return false;
  return !IsSameHost(call.Metadata("host").value_or(""), call.Metadata(":authority").value_or(""),
                     scheme == Scheme::kHttps);
}

std::size_t RequestHead::UnusualBytes() const {
  return list_bytes > kOrdinaryHeadBytes ? list_bytes : 0;
}

}  // namespace kvorum::rpc
