#include "server/peer/codec/append_stream.h"

#include <utility>

namespace kvorum::server {
namespace {

constexpr char kLinkHeartbeat = 0;
constexpr char kContinued = 1;
constexpr char kAny = 2;
constexpr std::size_t kTypeBytes = 1;

}  // namespace

void AppendStreamEncoder::Encode(const raft::Message& message, ChainWriter& out) {
  const bool continues = message.index == position_.index && message.log_term == position_.term &&
                         message.term == message.log_term;
  if (!continues) {
    out.tail().push_back(kAny);
    EncodeMessageFrame(message, out);
    position_.MoveTo(message);
    return;
  }
  out.tail().push_back(kContinued);
  AppendBig64(out.tail(), message.entries.size());
  for (const raft::Entry& entry : message.entries) {
    AppendBig64(out.tail(), raft::EncodedSize(entry));
    raft::AppendHeaderTo(out.tail(), entry);
    out.Add(entry.data);
  }
  AppendBig64(out.tail(), message.commit.value());
  position_.index += message.entries.size();
}

void AppendStreamEncoder::EncodeLinkHeartbeat(ChainWriter& out) {
  out.tail().push_back(kLinkHeartbeat);
}

Result<std::size_t> AppendStreamDecoder::FindFrames(std::string_view bytes) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    const char type = bytes[end];
    if (type == kLinkHeartbeat) {
      end += kTypeBytes;
      continue;
    }
    if (type != kContinued && type != kAny) {
      return Fail(Code::kDataLoss, "a frame of type " +
                                       std::to_string(static_cast<unsigned char>(type)) +
                                       " in a msgapp stream");
    }
    const std::size_t number = end + kTypeBytes;
    if (bytes.size() - end < kTypeBytes + kLengthBytes) break;
    if (type == kAny) {
      const std::uint64_t length = ReadBig64(bytes.substr(number));
      if (length > max_frame_bytes_) return TooLong(length);
      if (bytes.size() - number - kLengthBytes < length) break;
      end = number + kLengthBytes + static_cast<std::size_t>(length);
      continue;
    }
    KV_TRY(const bool complete, ScanEntries(bytes, end, end));
    if (!complete) break;
  }
  // The rest is at the start of the buffer now.
  if (scanned_ != 0) scanned_ -= end;
  return end;
}

Result<bool> AppendStreamDecoder::ScanEntries(std::string_view bytes, std::size_t begin,
                                              std::size_t& end) {
  if (scanned_ == 0) {
    entries_left_ = ReadBig64(bytes.substr(begin + kTypeBytes));
    if (entries_left_ > raft::kMaxMessageEntries) return TooLong(entries_left_);
    scanned_ = begin + kTypeBytes + kLengthBytes;
  }
  for (; entries_left_ > 0; --entries_left_) {
    if (bytes.size() < scanned_ + kLengthBytes) return false;
    const std::uint64_t length = ReadBig64(bytes.substr(scanned_));
    const std::uint64_t frame = scanned_ - begin + kLengthBytes;
    if (length > max_frame_bytes_ || frame + length > max_frame_bytes_)
      return TooLong(length > max_frame_bytes_ ? length : frame + length);
    if (bytes.size() - scanned_ - kLengthBytes < length) return false;
    scanned_ += kLengthBytes + static_cast<std::size_t>(length);
  }
  if (bytes.size() < scanned_ + kLengthBytes) return false;
  end = std::exchange(scanned_, 0) + kLengthBytes;
  return true;
}

Result<void> AppendStreamDecoder::DecodeFrames(const SharedBytes& frames,
                                               std::vector<raft::Message>& out) {
  std::size_t position = 0;
  while (position < frames.size()) {
    const char type = frames.data()[position];
    position += kTypeBytes;
    if (type == kLinkHeartbeat) continue;
    raft::Message message;
    if (type == kContinued) {
      KV_TRY(position, DecodeContinued(frames, position, message));
    } else {
      const auto length = static_cast<std::size_t>(ReadBig64(frames.view().substr(position)));
      KV_TRY(message, raft::DecodeMessage(frames.Slice(position + kLengthBytes, length)));
      position += kLengthBytes + length;
      if (message.type != raft::MessageType::kApp) {
        return Fail(Code::kDataLoss,
                    "a " + std::string(raft::Name(message.type)) + " in a msgapp stream");
      }
      position_.MoveTo(message);
    }
    out.push_back(std::move(message));
  }
  return {};
}

Result<std::size_t> AppendStreamDecoder::DecodeContinued(const SharedBytes& frames,
                                                         std::size_t position,
                                                         raft::Message& message) {
  message.type = raft::MessageType::kApp;
  message.to = local_;
  message.from = remote_;
  message.term = position_.term;
  message.log_term = position_.term;
  message.index = position_.index;
  const auto count = static_cast<std::size_t>(ReadBig64(frames.view().substr(position)));
  position += kLengthBytes;
  message.entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::size_t>(ReadBig64(frames.view().substr(position)));
    KV_TRY(raft::Entry entry, raft::DecodeEntry(frames.Slice(position + kLengthBytes, length)));
    message.entries.push_back(std::move(entry));
    position += kLengthBytes + length;
  }
  message.commit = raft::Index{ReadBig64(frames.view().substr(position))};
  position_.index += count;
  return position + kLengthBytes;
}

}  // namespace kvorum::server
