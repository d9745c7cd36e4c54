#include "server/tracing/traced_stream.h"

#include <algorithm>
#include <optional>

#include "rpc/call/grpc_protocol.h"

namespace kvorum::server::tracing {

TracedStream::~TracedStream() { live_->End(rpc::NoAnswerError()); }

void TracedStream::Read(ReadCallback callback) {
  stream_->Read([live = live_, callback = std::move(callback)](
                    Result<std::optional<SharedBytes>> message) mutable {
    if (message.has_value() && message->has_value()) live->OnRequest((*message)->view());
    callback(std::move(message));
  });
}

void TracedStream::Write(ByteChain message, WriteCallback callback) {
  if (live_->looks_at_answers() && !message.empty()) live_->OnAnswer(message.front().view());
  stream_->Write(std::move(message), std::move(callback));
}

void TracedStream::WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) {
  if (live_->looks_at_answers())
    ForEachFramed(frames, [this](std::string_view beginning) { live_->OnAnswer(beginning); });
  stream_->WriteFrames(std::move(frames), messages, std::move(callback));
}

void TracedStream::Finish(Error status) {
  stream_->Finish(status);
  live_->End(status);
}

void ForEachFramed(const ByteChain& frames,
                   std::move_only_function<void(std::string_view beginning)> visit) {
  constexpr std::size_t kFlagBytes = 1;
  std::size_t prefix_read = 0;   // bytes of the current message's prefix
  std::size_t size_bytes = 0;    // of the current message, read so far
  std::size_t left_to_skip = 0;  // bytes of the current message
  for (const SharedBytes& frame : frames) {
    std::string_view slice = frame.view();
    while (!slice.empty()) {
      if (left_to_skip > 0) {
        const std::size_t skipped = std::min(left_to_skip, slice.size());
        slice.remove_prefix(skipped);
        left_to_skip -= skipped;
        continue;
      }
      const auto byte = static_cast<unsigned char>(slice.front());
      slice.remove_prefix(1);
      if (prefix_read >= kFlagBytes) size_bytes = size_bytes << 8 | byte;
      if (++prefix_read < rpc::kMessagePrefixBytes) continue;
      visit(slice.substr(0, size_bytes));
      prefix_read = 0;
      left_to_skip = std::exchange(size_bytes, 0);
    }
  }
}

}  // namespace kvorum::server::tracing
