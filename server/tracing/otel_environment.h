// The environment variables of OpenTelemetry's SDKs that etcd's SDK heeds beside etcd's own flags:
// OTEL_EXPORTER_OTLP_[TRACES_]HEADERS and _TIMEOUT, OTEL_BSP_*, OTEL_RESOURCE_ATTRIBUTES. Flags go
// before them. A value that cannot be read counts as absent, as there.
//
// Pure functions of what the environment says.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace kvorum::server::tracing {

// The value of a variable; empty if it is not set.
using Environment = std::function<std::string_view(const char* name)>;

// The defaults are the SDK's.
struct ExportSettings {
  std::size_t batch_spans = 512;
  std::size_t queue_spans = 2048;
  Duration batch_time = std::chrono::seconds(5);
  Duration export_time = std::chrono::seconds(10);
  std::vector<std::pair<std::string, std::string>> metadata;  // names in lower case
};

ExportSettings ReadExportSettings(const Environment& environment);
// By name; the last of two of a name.
std::map<std::string, std::string> ReadResourceAttributes(const Environment& environment);

}  // namespace kvorum::server::tracing
