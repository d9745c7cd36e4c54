#include "server/peer/codec/stream_codec.h"

#include <array>
#include <utility>

#include "server/peer/codec/append_stream.h"
#include "server/peer/codec/message_stream.h"

namespace kvorum::server {
namespace {

// Blocks up to this size are copied out of the buffer, so that they take no more memory than their
// content.
constexpr std::size_t kCopyUpToBytes = std::size_t{256} << 10;

}  // namespace

std::string_view PathName(StreamKind kind) {
  switch (kind) {
    case StreamKind::kMessage:
      return "message";
    case StreamKind::kAppend:
      return "msgapp";
  }
  return "";
}

std::unique_ptr<StreamEncoder> StreamEncoder::Create(StreamKind kind) {
  switch (kind) {
    case StreamKind::kMessage:
      return std::make_unique<MessageStreamEncoder>();
    case StreamKind::kAppend:
      return std::make_unique<AppendStreamEncoder>();
  }
  return nullptr;
}

std::unique_ptr<StreamDecoder> StreamDecoder::Create(StreamKind kind, raft::MemberId local,
                                                     raft::MemberId remote,
                                                     std::size_t max_frame_bytes) {
  switch (kind) {
    case StreamKind::kMessage:
      return std::make_unique<MessageStreamDecoder>(max_frame_bytes);
    case StreamKind::kAppend:
      return std::make_unique<AppendStreamDecoder>(local, remote, max_frame_bytes);
  }
  return nullptr;
}

Result<void> StreamDecoder::Feed(std::string_view bytes, std::vector<raft::Message>& out) {
  pending_.append(bytes);
  KV_TRY(const std::size_t whole, FindFrames(pending_));
  if (whole == 0) return {};
  SharedBytes frames;
  if (whole <= kCopyUpToBytes) {
    frames = SharedBytes::Copy(std::string_view(pending_).substr(0, whole));
    pending_.erase(0, whole);
  } else {
    std::string rest = pending_.substr(whole);
    pending_.resize(whole);
    frames = SharedBytes::Own(std::exchange(pending_, std::move(rest)));
  }
  return DecodeFrames(frames, out);
}

std::unexpected<Error> StreamDecoder::TooLong(std::uint64_t length) const {
  return Fail(Code::kDataLoss, "a frame of " + std::to_string(length) + " bytes is longer than " +
                                   std::to_string(max_frame_bytes_));
}

void AppendBig64(std::string& out, std::uint64_t value) {
  std::array<char, kLengthBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(value >> (8 * (kLengthBytes - 1 - i)));
  out.append(bytes.data(), bytes.size());
}

std::uint64_t ReadBig64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void EncodeMessageFrame(const raft::Message& message, ChainWriter& out) {
  AppendBig64(out.tail(), raft::EncodedSize(message));
  if (message.entries.empty() && message.snapshot == nullptr) {
    raft::AppendTo(out.tail(), message);
    return;
  }
  for (const SharedBytes& piece : raft::EncodeChain(message)) out.Add(piece);
}

}  // namespace kvorum::server
