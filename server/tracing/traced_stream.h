// A stream whose messages and end its call's spans learn of; everything else is the stream's own.
//
// Thread-safe, as a stream is.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "rpc/call/service.h"
#include "server/tracing/live_call.h"

namespace kvorum::server::tracing {

class TracedStream final : public rpc::ServerStream {
 public:
  TracedStream(std::shared_ptr<LiveCall> live, std::shared_ptr<rpc::ServerStream> stream)
      : live_(std::move(live)), stream_(std::move(stream)) {}
  ~TracedStream() override;
  TracedStream(const TracedStream&) = delete;
  TracedStream& operator=(const TracedStream&) = delete;

  rpc::CallContext& context() override { return stream_->context(); }
  void Read(ReadCallback callback) override;
  void Write(ByteChain message, WriteCallback callback) override;
  void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) override;
  std::size_t buffered_bytes() const override { return stream_->buffered_bytes(); }
  void Finish(Error status) override;
  // The call's cancellation tells the spans.
  void Cut(Error reason) override { stream_->Cut(std::move(reason)); }

 private:
  const std::shared_ptr<LiveCall> live_;
  const std::shared_ptr<rpc::ServerStream> stream_;
};

// Calls `visit` with each message's beginning: what lies in one slice with the end of its prefix.
void ForEachFramed(const ByteChain& frames,
                   std::move_only_function<void(std::string_view beginning)> visit);

}  // namespace kvorum::server::tracing
