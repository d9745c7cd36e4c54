#include "server/tracing/tracer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/rng.h"

namespace kvorum::server::tracing {
namespace {

// Not secret: an id has only to differ from the others.
template <std::size_t kSize>
std::array<std::uint8_t, kSize> RandomId() {
  thread_local Rng rng(EntropySeed());
  std::array<std::uint8_t, kSize> id{};
  while (id == std::array<std::uint8_t, kSize>{}) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      if (i % 8 == 0) bits = rng();
      id[i] = static_cast<std::uint8_t>(bits >> (i % 8 * 8));
    }
  }
  return id;
}

}  // namespace

Tracer::Tracer(const TracerOptions& options, SpanSink& sink)
    : sampler_(options.samples_per_million), max_txn_ops_(options.max_txn_ops), sink_(sink) {}

std::optional<Tracer::Begun> Tracer::Begin(const rpc::CallContext& call) const {
  if (const auto header = call.Metadata("traceparent"); header.has_value()) {
    auto parent = ParseParent(*header, call.Metadata("tracestate").value_or(std::string_view()));
    if (parent.has_value()) {
      if (!parent->is_sampled()) return std::nullopt;
      Begun begun{.context = *std::move(parent), .parent_id = {}};
      begun.parent_id = std::exchange(begun.context.span_id, NewSpanId());
      return begun;
    }
  }
  if (!sampler_.begins_traces()) return std::nullopt;
  const auto trace_id = RandomId<std::tuple_size_v<TraceId>>();
  if (!sampler_.Takes(trace_id)) return std::nullopt;
  return Begun{
      .context = {.trace_id = trace_id, .span_id = NewSpanId(), .flags = kSampledFlag, .state = {}},
      .parent_id = {}};
}

SpanId Tracer::NewSpanId() { return RandomId<std::tuple_size_v<SpanId>>(); }

}  // namespace kvorum::server::tracing
