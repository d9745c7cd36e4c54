#include "server/tracing/span.h"

#include "base/utf8.h"

namespace kvorum::server::tracing {
namespace {

std::size_t SizeOf(const std::vector<Attribute>& attributes) {
  std::size_t size_bytes = attributes.size() * sizeof(Attribute);
  for (const Attribute& attribute : attributes) {
    if (const auto* text = std::get_if<std::string>(&attribute.value))
      size_bytes += text->capacity();
  }
  return size_bytes;
}

}  // namespace

std::string TextOf(std::string_view bytes) {
  bytes = bytes.substr(0, kMaxTextBytes);
  if (IsValidUtf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const Utf8Character next = ReadUtf8(bytes);
    AppendUtf8(next.code_point, text);
    bytes.remove_prefix(next.size_bytes);
  }
  return text;
}

std::size_t Span::SizeBytes() const {
  std::size_t size_bytes = sizeof(Span) + context.state.capacity() + name.capacity() +
                           status_message.capacity() + SizeOf(attributes);
  for (const SpanEvent& event : events) size_bytes += sizeof(event) + SizeOf(event.attributes);
  return size_bytes;
}

}  // namespace kvorum::server::tracing
