// The identity of a span, and its way through a request's metadata: the W3C Trace Context headers
// `traceparent` and `tracestate` (https://www.w3.org/TR/trace-context-1), read as etcd's
// OpenTelemetry SDK reads them.
//
// Pure functions; the client chose the texts, so an invalid one is not used as a parent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server::tracing {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

inline constexpr std::uint8_t kSampledFlag = 1;
inline constexpr std::uint8_t kRandomFlag = 2;

struct SpanContext {
  TraceId trace_id{};  // never all zero, nor is span_id
  SpanId span_id{};
  std::uint8_t flags = 0;
  std::string state;  // the tracestate's valid form; may be empty

  bool is_sampled() const { return (flags & kSampledFlag) != 0; }
};

// Nothing without a valid traceparent. An invalid tracestate is left out.
std::optional<SpanContext> ParseParent(std::string_view traceparent, std::string_view tracestate);

// The list's members without the space around them; empty if any breaks the rules.
std::string ParseTraceState(std::string_view text);

}  // namespace kvorum::server::tracing
