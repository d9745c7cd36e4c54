// A router whose methods are those of another, with the spans of each call around them. Calls that
// are not sampled go straight on; without tracing there is no such router, and calls cost nothing.
#pragma once

#include <string_view>

#include "api/call_span.h"
#include "rpc/call/service.h"
#include "server/tracing/tracer.h"

namespace kvorum::server::tracing {

// The kind of spans of the method at a path.
using SpanOfPath = CallSpan (*)(std::string_view path);

// Keeps `plain`. Methods keep their order and so their indexes; hooks are not taken over. The
// tracer outlives the router's calls.
rpc::Router Traced(rpc::Router plain, Tracer& tracer, SpanOfPath span_of);

}  // namespace kvorum::server::tracing
