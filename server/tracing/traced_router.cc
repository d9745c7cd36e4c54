#include "server/tracing/traced_router.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "rpc/call/grpc_protocol.h"
#include "server/tracing/live_call.h"
#include "server/tracing/traced_stream.h"

namespace kvorum::server::tracing {
namespace {

// Null if the call is not sampled.
std::shared_ptr<LiveCall> Begin(Tracer& tracer, const MethodSpans& spans, rpc::CallContext& call) {
  auto begun = tracer.Begin(call);
  if (!begun.has_value()) return nullptr;
  return std::make_shared<LiveCall>(tracer, *std::move(begun), spans, call);
}

void EndWhenCancelled(const std::shared_ptr<LiveCall>& live, rpc::CallContext& call) {
  call.OnCancel([live](const Error& reason) { live->End(reason); });
}

// The client gets its answer before the span is finished.
class TracedSink final : public rpc::UnarySink {
 public:
  TracedSink(std::shared_ptr<LiveCall> live, rpc::UnaryReply reply)
      : live_(std::move(live)), reply_(std::move(reply)) {}

  void Complete(Error status, SharedBytes first, ByteChain rest) override {
    if (status.code != Code::kOk) {
      reply_.Fail(status);
      return live_->End(status);
    }
    live_->OnAnswer(first.empty() && !rest.empty() ? rest.front().view() : first.view());
    if (rest.empty()) {
      reply_.Send(std::move(first));
    } else {
      if (!first.empty()) rest.insert(rest.begin(), std::move(first));
      reply_.Send(std::move(rest));
    }
    live_->End(status);
  }
  void NoteCount(std::int64_t count) override { reply_.NoteCount(count); }
  void NoteRows(std::vector<std::int64_t> rows) override { reply_.NoteRows(std::move(rows)); }
  void NoteBegun(TimePoint when) override { reply_.NoteBegun(when); }
  void NotePlace(std::uint64_t place) override { reply_.NotePlace(place); }
  void CompleteLarge(rpc::LargeAnswer answer) override {
    reply_.Send(std::move(answer));
    live_->End({Code::kOk, {}});
  }

 private:
  const std::shared_ptr<LiveCall> live_;
  rpc::UnaryReply reply_;
};

}  // namespace

rpc::Router Traced(rpc::Router plain, Tracer& tracer, SpanOfPath span_of) {
  const auto kept = std::make_shared<const rpc::Router>(std::move(plain));
  rpc::Router traced;
  for (const auto& method : kept->methods()) {
    const rpc::MethodInfo& info = method->info;
    const MethodSpans& spans = SpansOf(span_of(info.path));
    if (info.kind == rpc::MethodKind::kUnary) {
      traced.AddUnary(
          info.service, info.name,
          [kept, &tracer, &spans, &inner = method->unary](
              std::shared_ptr<rpc::CallContext> call, SharedBytes request, rpc::UnaryReply reply) {
            const auto live = Begin(tracer, spans, *call);
            if (live != nullptr) {
              live->OnRequest(request.view());
              EndWhenCancelled(live, *call);
              reply = rpc::UnaryReply(std::make_shared<TracedSink>(live, std::move(reply)));
            }
            inner(std::move(call), std::move(request), std::move(reply));
          });
      continue;
    }
    traced.AddStream(info.service, info.name, info.kind,
                     [kept, &tracer, &spans,
                      &inner = method->stream](std::shared_ptr<rpc::ServerStream> stream) {
                       const auto live = Begin(tracer, spans, stream->context());
                       if (live != nullptr) {
                         EndWhenCancelled(live, stream->context());
                         stream = std::make_shared<TracedStream>(live, std::move(stream));
                       }
                       inner(std::move(stream));
                     });
  }
  return traced;
}

}  // namespace kvorum::server::tracing
