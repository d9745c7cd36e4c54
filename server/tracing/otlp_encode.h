// The messages of OTLP, the protocol of OpenTelemetry's collectors, that exporting spans takes
// (opentelemetry/proto/collector/trace/v1/trace_service.proto). The only place that knows their
// field numbers; a golden test compares the bytes with those of OpenTelemetry's own encoder.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/tracing/span.h"

namespace kvorum::server::tracing {

inline constexpr std::string_view kExportPath =
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

// The source of all spans of a process. An empty instance id is left out. Both go before an
// attribute of their name.
struct Resource {
  std::string service_name;
  std::string instance_id;
  std::map<std::string, std::string> attributes = {};
};

// An ExportTraceServiceRequest. Server spans and those below them are of two scopes, which have the
// names that etcd's have.
std::string EncodeExport(const Resource& resource, std::span<const std::unique_ptr<Span>> spans);

// From an ExportTraceServiceResponse: what the collector did not take of what it accepted.
struct Rejection {
  std::int64_t spans = 0;
  std::string reason;
};
Rejection DecodeExportAnswer(std::string_view bytes);

}  // namespace kvorum::server::tracing
