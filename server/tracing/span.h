// A span that has ended or will: one operation of a trace, with what is known of it.
//
// A plain value; belongs to its holder. Texts that come from clients are cut (kMaxTextBytes),
// so that a batch fits into what collectors accept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/tracing/span_context.h"

namespace kvorum::server::tracing {

inline constexpr std::size_t kMaxTextBytes = 4096;

struct Attribute {
  std::string_view name;  // static storage
  std::variant<std::string, std::int64_t, bool> value;
};

// A client's bytes as a text: the beginning, with U+FFFD for what is not UTF-8.
std::string TextOf(std::string_view bytes);

struct SpanEvent {
  std::string_view name;  // static storage
  std::int64_t wall_ns = 0;
  std::vector<Attribute> attributes;
};

struct Span {
  // The numbers are OTLP's, as are the status's.
  enum class Kind : std::uint8_t { kInternal = 1, kServer = 2 };

  SpanContext context;
  SpanId parent_id{};  // all zero: the trace begins here
  bool parent_is_remote = false;
  std::string name;
  Kind kind = Kind::kInternal;
  std::int64_t start_ns = 0;  // since the Unix epoch
  std::int64_t end_ns = 0;
  std::vector<Attribute> attributes;
  std::vector<SpanEvent> events;
  bool is_error = false;
  std::string status_message;  // empty unless is_error

  std::size_t SizeBytes() const;

  Span* next = nullptr;  // for SpanQueue
};

}  // namespace kvorum::server::tracing
