#include "server/gateway/call_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/letter_case.h"
#include "base/text/go_number.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::string_view kMetadataPrefix = "grpc-metadata-";
constexpr std::string_view kBinarySuffix = "-bin";
// gRPC's own, which a client cannot set as metadata.
constexpr std::array<std::string_view, 9> kReserved{
    "content-type",  "user-agent",   "grpc-message-type",
    "grpc-encoding", "grpc-message", "grpc-status",
    "grpc-timeout",  "te",           "grpc-status-details-bin"};

// "grpc-metadata-x-bin" as "Grpc-Metadata-X-Bin".
std::string CanonicalName(std::string name) {
  bool capital = true;
  for (char& c : name) {
    if (capital) c = UpperCase(c);
    capital = c == '-';
  }
  return name;
}

bool IsMetadataName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

bool IsMetadataText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Result<Duration> ReadTimeout(std::string_view text) {
  const auto invalid = [text] {
    return Fail(Code::kInvalidArgument, fmt::format("invalid grpc-timeout: {}", text));
  };
  if (text.size() < 2) return invalid();
  std::int64_t unit_ns = 0;
  switch (text.back()) {
    case 'H':
      unit_ns = 3'600'000'000'000;
      break;
    case 'M':
      unit_ns = 60'000'000'000;
      break;
    case 'S':
      unit_ns = 1'000'000'000;
      break;
    case 'm':
      unit_ns = 1'000'000;
      break;
    case 'u':
      unit_ns = 1'000;
      break;
    case 'n':
      unit_ns = 1;
      break;
    default:  // a letter from the wire
      return invalid();
  }
  const auto count = ParseInt(text.substr(0, text.size() - 1), 10);
  if (!count.has_value()) return invalid();
  // A longer one is not a deadline that any client waits for.
  const std::int64_t most = std::chrono::nanoseconds(std::chrono::years(1)).count() / unit_ns;
  return std::chrono::nanoseconds(std::clamp(*count, -most, most) * unit_ns);
}

Result<void> AddMetadata(std::string_view header, std::string_view value,
                         rpc::MetadataPacker& metadata) {
  const std::string_view name = header.substr(kMetadataPrefix.size());
  if (!IsMetadataName(name) || std::ranges::find(kReserved, name) != kReserved.end()) return {};
  if (!name.ends_with(kBinarySuffix)) {
    if (IsMetadataText(value)) metadata.Add(name, value);
    return {};
  }
  const auto bytes =
      DecodeBase64(value.size() % 4 == 0 ? Base64::kStandard : Base64::kUnpadded, value);
  if (!bytes.has_value()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("invalid binary header {}: illegal base64 data at input byte {}",
                            CanonicalName(std::string(header)), bytes.error().offset));
  }
  metadata.Add(name, *bytes);
  return {};
}

}  // namespace

Result<void> ReadCallHeaders(const rpc::HttpRequest& request, rpc::CallContext& call) {
  if (const auto timeout = request.Header("grpc-timeout"); timeout && !timeout->empty()) {
    KV_TRY(const Duration limit, ReadTimeout(*timeout));
    if (limit != Duration::zero()) call.set_deadline(call.started() + limit);
  }
  rpc::MetadataPacker metadata;
  for (const rpc::HttpHeader& header : request.headers) {
    if (header.name == "authorization") {
      metadata.Add(header.name, header.value);
    } else if (header.name.starts_with(kMetadataPrefix)) {
      KV_RETURN_IF_ERROR(AddMetadata(header.name, header.value, metadata));
    }
  }
  call.set_metadata(metadata.Pack());
  return {};
}

}  // namespace kvorum::server::gateway
