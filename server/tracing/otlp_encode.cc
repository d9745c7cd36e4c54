#include "server/tracing/otlp_encode.h"

#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

#include "proto/wire.h"

namespace kvorum::server::tracing {
namespace {

// Field numbers, by message.
constexpr std::uint32_t kRequestResourceSpans = 1;
constexpr std::uint32_t kResourceSpansResource = 1;
constexpr std::uint32_t kResourceSpansScopeSpans = 2;
constexpr std::uint32_t kResourceAttributes = 1;
constexpr std::uint32_t kScopeSpansScope = 1;
constexpr std::uint32_t kScopeSpansSpans = 2;
constexpr std::uint32_t kScopeName = 1;
constexpr std::uint32_t kScopeVersion = 2;
constexpr std::uint32_t kSpanTraceId = 1;
constexpr std::uint32_t kSpanSpanId = 2;
constexpr std::uint32_t kSpanTraceState = 3;
constexpr std::uint32_t kSpanParentSpanId = 4;
constexpr std::uint32_t kSpanName = 5;
constexpr std::uint32_t kSpanKind = 6;
constexpr std::uint32_t kSpanStart = 7;
constexpr std::uint32_t kSpanEnd = 8;
constexpr std::uint32_t kSpanAttributes = 9;
constexpr std::uint32_t kSpanEvents = 11;
constexpr std::uint32_t kSpanStatus = 15;
constexpr std::uint32_t kSpanFlags = 16;
constexpr std::uint32_t kEventTime = 1;
constexpr std::uint32_t kEventName = 2;
constexpr std::uint32_t kEventAttributes = 3;
constexpr std::uint32_t kStatusMessage = 2;
constexpr std::uint32_t kStatusCode = 3;
constexpr std::uint32_t kPairKey = 1;
constexpr std::uint32_t kPairValue = 2;
constexpr std::uint32_t kValueText = 1;
constexpr std::uint32_t kValueBool = 2;
constexpr std::uint32_t kValueInteger = 3;
constexpr std::uint32_t kAnswerPartialSuccess = 1;
constexpr std::uint32_t kPartialRejectedSpans = 1;
constexpr std::uint32_t kPartialErrorMessage = 2;

constexpr std::uint64_t kStatusError = 2;
// Beside the trace's own flags: it is known, and true, that the parent is another process's.
constexpr std::uint32_t kHasIsRemote = 0x100;
constexpr std::uint32_t kIsRemote = 0x200;

constexpr std::string_view kServerScope =
    "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc";
constexpr std::string_view kServerScopeVersion = "0.68.0";
constexpr std::string_view kInnerScope = "go.etcd.io/etcd";

template <class Number>
void AppendFixed(std::string& out, std::uint32_t field, Number value) {
  if (value == 0) return;
  constexpr auto kType = sizeof(Number) == 8 ? wire::Type::kFixed64 : wire::Type::kFixed32;
  wire::AppendVarint(out, wire::MakeTag(field, kType));
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

template <std::size_t kSize>
std::string_view ViewOf(const std::array<std::uint8_t, kSize>& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

std::string Encode(const Attribute& attribute) {
  // A value of a oneof is written even if it is empty.
  std::string value;
  std::visit(
      [&value](const auto& of) {
        using Value = std::remove_cvref_t<decltype(of)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          wire::AppendBytesAlways(value, kValueText, of);
        } else if constexpr (std::is_same_v<Value, bool>) {
          wire::AppendUintAlways(value, kValueBool, of ? 1 : 0);
        } else {
          wire::AppendUintAlways(value, kValueInteger, static_cast<std::uint64_t>(of));
        }
      },
      attribute.value);
  std::string pair;
  wire::AppendBytes(pair, kPairKey, attribute.name);
  wire::AppendBytesAlways(pair, kPairValue, value);
  return pair;
}

void AppendAttributes(std::string& out, std::uint32_t field,
                      const std::vector<Attribute>& attributes) {
  for (const Attribute& attribute : attributes)
    wire::AppendBytesAlways(out, field, Encode(attribute));
}

std::string Encode(const SpanEvent& event) {
  std::string out;
  AppendFixed(out, kEventTime, static_cast<std::uint64_t>(event.wall_ns));
  wire::AppendBytes(out, kEventName, event.name);
  AppendAttributes(out, kEventAttributes, event.attributes);
  return out;
}

std::string Encode(const Span& span) {
  std::string out;
  wire::AppendBytes(out, kSpanTraceId, ViewOf(span.context.trace_id));
  wire::AppendBytes(out, kSpanSpanId, ViewOf(span.context.span_id));
  wire::AppendBytes(out, kSpanTraceState, span.context.state);
  if (span.parent_id != SpanId{}) wire::AppendBytes(out, kSpanParentSpanId, ViewOf(span.parent_id));
  wire::AppendBytes(out, kSpanName, span.name);
  wire::AppendUint(out, kSpanKind, static_cast<std::uint64_t>(span.kind));
  AppendFixed(out, kSpanStart, static_cast<std::uint64_t>(span.start_ns));
  AppendFixed(out, kSpanEnd, static_cast<std::uint64_t>(span.end_ns));
  AppendAttributes(out, kSpanAttributes, span.attributes);
  for (const SpanEvent& event : span.events)
    wire::AppendBytesAlways(out, kSpanEvents, Encode(event));
  std::string status;
  if (span.is_error) {
    wire::AppendBytes(status, kStatusMessage, span.status_message);
    wire::AppendUint(status, kStatusCode, kStatusError);
  }
  wire::AppendBytesAlways(out, kSpanStatus, status);
  const std::uint32_t remote = span.parent_is_remote ? kIsRemote : 0;
  AppendFixed(out, kSpanFlags, span.context.flags | kHasIsRemote | remote);
  return out;
}

std::string Encode(const Resource& resource) {
  std::map<std::string, std::string> attributes = resource.attributes;
  if (!resource.instance_id.empty()) attributes["service.instance.id"] = resource.instance_id;
  attributes["service.name"] = resource.service_name;
  std::string out;
  for (const auto& [name, value] : attributes)
    wire::AppendBytesAlways(out, kResourceAttributes, Encode(Attribute{name, value}));
  return out;
}

void AppendScope(std::string& out, Span::Kind kind, std::span<const std::unique_ptr<Span>> spans) {
  std::string scope;
  wire::AppendBytes(scope, kScopeName, kind == Span::Kind::kServer ? kServerScope : kInnerScope);
  if (kind == Span::Kind::kServer) wire::AppendBytes(scope, kScopeVersion, kServerScopeVersion);
  std::string of_scope;
  wire::AppendBytesAlways(of_scope, kScopeSpansScope, scope);
  const std::size_t empty_bytes = of_scope.size();
  for (const auto& span : spans) {
    if (span->kind == kind) wire::AppendBytesAlways(of_scope, kScopeSpansSpans, Encode(*span));
  }
  if (of_scope.size() > empty_bytes)
    wire::AppendBytesAlways(out, kResourceSpansScopeSpans, of_scope);
}

}  // namespace

std::string EncodeExport(const Resource& resource, std::span<const std::unique_ptr<Span>> spans) {
  std::string of_resource;
  wire::AppendBytesAlways(of_resource, kResourceSpansResource, Encode(resource));
  AppendScope(of_resource, Span::Kind::kServer, spans);
  AppendScope(of_resource, Span::Kind::kInternal, spans);
  std::string out;
  wire::AppendBytesAlways(out, kRequestResourceSpans, of_resource);
  return out;
}

Rejection DecodeExportAnswer(std::string_view bytes) {
  Rejection rejection;
  wire::Reader answer(bytes);
  while (answer.Next()) {
    if (answer.tag() != wire::BytesTag(kAnswerPartialSuccess)) {
      answer.Skip();
      continue;
    }
    wire::Reader partial(answer.Bytes());
    while (partial.Next()) {
      switch (partial.tag()) {
        case wire::VarintTag(kPartialRejectedSpans):
          rejection.spans = partial.Int();
          break;
        case wire::BytesTag(kPartialErrorMessage):
          rejection.reason = TextOf(partial.Bytes());
          break;
        default:
          partial.Skip();
      }
    }
  }
  return rejection;
}

}  // namespace kvorum::server::tracing
