#include "server/peer/codec/message_stream.h"

#include <utility>

namespace kvorum::server {

void MessageStreamEncoder::Encode(const raft::Message& message, ChainWriter& out) {
  EncodeMessageFrame(message, out);
}

void MessageStreamEncoder::EncodeLinkHeartbeat(ChainWriter& out) {
  EncodeMessageFrame({.type = raft::MessageType::kHeartbeat}, out);
}

Result<std::size_t> MessageStreamDecoder::FindFrames(std::string_view bytes) {
  std::size_t end = 0;
  while (bytes.size() - end >= kLengthBytes) {
    const std::uint64_t length = ReadBig64(bytes.substr(end));
    if (length > max_frame_bytes_) return TooLong(length);
    if (bytes.size() - end - kLengthBytes < length) break;
    end += kLengthBytes + static_cast<std::size_t>(length);
  }
  return end;
}

Result<void> MessageStreamDecoder::DecodeFrames(const SharedBytes& frames,
                                                std::vector<raft::Message>& out) {
  std::size_t position = 0;
  while (position < frames.size()) {
    const auto length = static_cast<std::size_t>(ReadBig64(frames.view().substr(position)));
    KV_TRY(raft::Message message,
           raft::DecodeMessage(frames.Slice(position + kLengthBytes, length)));
    position += kLengthBytes + length;
    const bool is_link_heartbeat = message.type == raft::MessageType::kHeartbeat &&
                                   message.from == raft::kNone && message.to == raft::kNone;
    if (!is_link_heartbeat) out.push_back(std::move(message));
  }
  return {};
}

}  // namespace kvorum::server
