#include "server/tracing/otel_environment.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/text/parse_number.h"
#include "base/text/percent.h"
#include "base/words.h"

namespace kvorum::server::tracing {
namespace {

constexpr std::size_t kMostSpans = std::size_t{1} << 20;
constexpr Duration kBatchExportTime = std::chrono::seconds(30);
constexpr Duration kShortest = std::chrono::milliseconds(1);
constexpr std::int64_t kMostMillis = std::int64_t{24} * 3600 * 1000;

std::optional<std::int64_t> Number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseNumber<std::int64_t>(text);
}

// Escapes of URLs; nullopt if one is malformed.
std::optional<std::string> Unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto escaped = PercentEscapeAt(text);
    if (!escaped && text.front() == '%') return std::nullopt;
    plain += escaped.value_or(text.front());
    text.remove_prefix(escaped ? kPercentEscapeBytes : 1);
  }
  return plain;
}

// Calls visit(name, value) for each `name=value` of a list with commas; what has no "=" is passed
// over.
template <class Visitor>
void ForEachPair(std::string_view list, Visitor visit) {
  while (!list.empty()) {
    const std::string_view pair = list.substr(0, list.find(','));
    list.remove_prefix(std::min(pair.size() + 1, list.size()));
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos)
      visit(Trim(pair.substr(0, equals)), pair.substr(equals + 1));
  }
}

// A name that a caller may send: of a header's characters, none of gRPC's or HTTP/2's own.
bool IsMetadataName(std::string_view name) {
  constexpr std::array<std::string_view, 9> kReserved{
      "content-type",     "user-agent",       "te", "host", "connection", "keep-alive", "upgrade",
      "proxy-connection", "transfer-encoding"};
  const auto is_token = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").contains(c);
  };
  return !name.empty() && std::ranges::all_of(name, is_token) && !name.starts_with("grpc-") &&
         !name.ends_with("-bin") && std::ranges::find(kReserved, name) == kReserved.end();
}

std::vector<std::pair<std::string, std::string>> ReadMetadata(std::string_view list) {
  std::map<std::string, std::string> metadata;
  ForEachPair(list, [&](std::string_view name, std::string_view escaped) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto value = Unescape(escaped);
    if (!value.has_value() || !IsMetadataName(lower)) return;
    const std::string_view text = Trim(*value);
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (std::ranges::all_of(text, is_printable)) metadata.insert_or_assign(lower, text);
  });
  return {metadata.begin(), metadata.end()};
}

std::size_t Spans(std::string_view text, std::size_t otherwise) {
  const auto value = Number(text);
  if (!value.has_value()) return otherwise;
  return static_cast<std::size_t>(
      std::clamp(*value, std::int64_t{1}, static_cast<std::int64_t>(kMostSpans)));
}

Duration Millis(std::string_view text, Duration otherwise) {
  const auto value = Number(text);
  if (!value.has_value()) return otherwise;
  return std::chrono::milliseconds(std::clamp(*value, -kMostMillis, kMostMillis));
}

}  // namespace

ExportSettings ReadExportSettings(const Environment& environment) {
  ExportSettings settings;
  settings.queue_spans = Spans(environment("OTEL_BSP_MAX_QUEUE_SIZE"), settings.queue_spans);
  const std::size_t usual_batch_spans = settings.batch_spans;
  settings.batch_spans = Spans(environment("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), usual_batch_spans);
  if (settings.batch_spans > settings.queue_spans)
    settings.batch_spans = std::min(usual_batch_spans, settings.queue_spans);
  settings.batch_time =
      std::max(Millis(environment("OTEL_BSP_SCHEDULE_DELAY"), settings.batch_time), kShortest);
  for (const char* name : {"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"})
    settings.export_time = Millis(Trim(environment(name)), settings.export_time);
  // A time of 0 means no limit: then the batch's own limit applies.
  const Duration of_batch = Millis(environment("OTEL_BSP_EXPORT_TIMEOUT"), kBatchExportTime);
  if (settings.export_time <= Duration::zero()) settings.export_time = kBatchExportTime;
  if (of_batch > Duration::zero()) settings.export_time = std::min(settings.export_time, of_batch);
  // That of traces replaces the other.
  for (const char* name : {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}) {
    if (const auto list = Trim(environment(name)); !list.empty())
      settings.metadata = ReadMetadata(list);
  }
  return settings;
}

std::map<std::string, std::string> ReadResourceAttributes(const Environment& environment) {
  std::map<std::string, std::string> attributes;
  ForEachPair(Trim(environment("OTEL_RESOURCE_ATTRIBUTES")),
              [&](std::string_view name, std::string_view escaped) {
                if (name.empty()) return;
                attributes.insert_or_assign(std::string(name),
                                            Unescape(Trim(escaped)).value_or(std::string(escaped)));
              });
  return attributes;
}

}  // namespace kvorum::server::tracing
