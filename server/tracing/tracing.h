// Distributed tracing of a process: the tracer and its exporter. It exists only with
// --enable-distributed-tracing.
#pragma once

#include <string>
#include <utility>

#include "server/tracing/exporter.h"
#include "server/tracing/tracer.h"

namespace kvorum::server::tracing {

struct TracingOptions {
  std::string address;  // of the collector
  Resource resource;
  TracerOptions tracer;
  ExportSettings settings = {};
};

struct Tracing {
  explicit Tracing(TracingOptions options)
      : exporter(std::move(options.address), std::move(options.resource),
                 std::move(options.settings)),
        tracer(options.tracer, exporter) {}

  Exporter exporter;
  Tracer tracer;
};

}  // namespace kvorum::server::tracing
