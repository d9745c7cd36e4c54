#include "server/call/call_counters.h"
#include "server/call/client_versions.h"
#include "server/call/slow_writes.h"
#include "server/metrics/sources.h"

namespace kvorum::server {
namespace {

using enum MetricType;

std::string TypeOf(const rpc::MethodInfo& method) {
  switch (method.kind) {
    case rpc::MethodKind::kUnary:
      return "unary";
    case rpc::MethodKind::kClientStream:
      return "client_stream";
    case rpc::MethodKind::kServerStream:
      return "server_stream";
    case rpc::MethodKind::kBidiStream:
      return "bidi_stream";
  }
  return {};
}

// etcd has these at 0 from the start, those of Lock and Election from their first call.
bool IsShownBefore(const rpc::MethodInfo& method) {
  return method.service.starts_with("etcdserverpb.") || method.service == "grpc.health.v1.Health";
}

void MethodFamily(MetricsRegistry& registry, const MetricSources& of, std::string_view name,
                  std::string_view help, auto read) {
  registry.Family(name, kCounter, {"grpc_method", "grpc_service", "grpc_type"}, help,
                  [&of, read](Samples& out) {
                    for (const rpc::MethodInfo& method : of.methods) {
                      if (!IsShownBefore(method) && of.calls->started(method.index) == 0) continue;
                      out.Add({method.name, method.service, TypeOf(method)},
                              static_cast<double>(read(*of.calls, method)));
                    }
                  });
}

void AddEnds(const CallCounters& calls, const rpc::MethodInfo& method, Samples& out) {
  for (std::size_t i = 0; i < CallCounters::kCodes; ++i) {
    const auto code = static_cast<Code>(i);
    const std::uint64_t ended = calls.ended(method.index, code);
    if (ended == 0 && !IsShownBefore(method)) continue;
    out.Add({std::string(CodeName(code)), method.name, method.service, TypeOf(method)},
            static_cast<double>(ended));
  }
}

constexpr std::pair<SlowWrites::Kind, const char*> kKindsOfWrites[] = {
    {SlowWrites::Kind::kSampled, "sampled"}, {SlowWrites::Kind::kSlow, "slow"}};

void AddSlowWriteRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Family("kvorum_write_parts_writes_total", kCounter, {"kind"},
                  "Writes whose time was charged to the parts of their way: a sample of all, and "
                  "those that took more than three times the mean.",
                  [&of](Samples& out) {
                    for (const auto& [kind, name] : kKindsOfWrites)
                      out.Add({name}, static_cast<double>(of.slow_writes->writes(kind)));
                  });
  registry.Family("kvorum_write_parts_seconds_total", kCounter, {"kind", "part"},
                  "The time of these writes by the part of their way.", [&of](Samples& out) {
                    for (const auto& [kind, name] : kKindsOfWrites) {
                      for (std::size_t i = 0; i < SlowWrites::kParts; ++i) {
                        const auto part = static_cast<SlowWrites::Part>(i);
                        out.Add({name, std::string(SlowWrites::NameOf(part))},
                                static_cast<double>(of.slow_writes->nanos(kind, part)) * 1e-9);
                      }
                    }
                  });
}

}  // namespace

void AddCallMetrics(MetricsRegistry& registry, const MetricSources& of) {
  MethodFamily(registry, of, "grpc_server_started_total", "Calls that began.",
               [](const CallCounters& calls, const rpc::MethodInfo& method) {
                 return calls.started(method.index);
               });
  registry.Family("grpc_server_handled_total", kCounter,
                  {"grpc_code", "grpc_method", "grpc_service", "grpc_type"}, "Calls that ended.",
                  [&of](Samples& out) {
                    for (const rpc::MethodInfo& method : of.methods)
                      AddEnds(*of.calls, method, out);
                  });
  // A unary call has one request, and one response if it succeeds.
  MethodFamily(registry, of, "grpc_server_msg_received_total", "Messages received.",
               [](const CallCounters& calls, const rpc::MethodInfo& method) {
                 const bool is_unary = method.kind == rpc::MethodKind::kUnary;
                 return is_unary ? calls.started(method.index) : calls.received(method.index);
               });
  MethodFamily(registry, of, "grpc_server_msg_sent_total", "Messages sent.",
               [](const CallCounters& calls, const rpc::MethodInfo& method) {
                 const bool is_unary = method.kind == rpc::MethodKind::kUnary;
                 return is_unary ? calls.ended(method.index, Code::kOk) : calls.sent(method.index);
               });
  if (of.times_calls) {
    registry.Family("grpc_server_handling_seconds", kHistogram,
                    {"grpc_method", "grpc_service", "grpc_type"}, "Time of a call.",
                    [&of](Samples& out) {
                      for (const rpc::MethodInfo& method : of.methods) {
                        if (!IsShownBefore(method) && of.calls->started(method.index) == 0)
                          continue;
                        out.Add({method.name, method.service, TypeOf(method)},
                                of.calls->times(method.index)->values());
                      }
                    });
  }
  registry.Family(
      "etcd_server_client_requests_total", kCounter, {"client_api_version", "type"},
      "Calls by the version that their clients say they have.", [&of](Samples& out) {
        of.versions->ForEach([&](std::string_view version, bool is_stream, std::uint64_t calls) {
          out.Add({std::string(version), is_stream ? "stream" : "unary"},
                  static_cast<double>(calls));
        });
      });
  registry.Family("etcd_server_request_duration_seconds", kHistogram, {"success", "type"},
                  "Time of a request, from its arrival to its answer.", [&of](Samples& out) {
                    for (const auto& request : of.calls->requests()) {
                      if (request == nullptr) continue;
                      for (const bool succeeded : {false, true}) {
                        const HistogramValues values = request->times[succeeded ? 1 : 0].values();
                        if (values.sum > 0)
                          out.Add({succeeded ? "true" : "false", request->type}, values);
                      }
                    }
                  });
  AddSlowWriteRows(registry, of);
  registry.Family("etcd_server_range_duration_seconds", kHistogram, {"success"},
                  "Time of a Range, from its request to its answer.", [&of](Samples& out) {
                    const auto add = [&](const char* success, const Histogram& times) {
                      const HistogramValues values = times.values();
                      if (values.sum > 0) out.Add({success}, values);
                    };
                    add("true", of.calls->ranges());
                    add("false", of.calls->failed_ranges());
                  });
}

}  // namespace kvorum::server
