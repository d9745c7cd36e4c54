#include "rpc/call/message_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace kvorum::rpc {
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

}  // namespace

Result<std::size_t> MessageReader::Feed(std::string_view bytes) {
  KV_CHECK(!complete_, "a message was not taken");
  if (bytes.empty()) return 0;
  std::size_t used = 0;
  if (prefix_bytes_ < kMessagePrefixBytes) {
    used = std::min(bytes.size(), kMessagePrefixBytes - prefix_bytes_);
    std::memcpy(prefix_.data() + prefix_bytes_, bytes.data(), used);
    prefix_bytes_ = static_cast<std::uint8_t>(prefix_bytes_ + used);
    if (prefix_bytes_ < kMessagePrefixBytes) return used;
    KV_RETURN_IF_ERROR(BeginBody());
  }
  const auto take = std::min<std::size_t>(bytes.size() - used, length_bytes_ - body_bytes_);
  AppendBody(bytes.substr(used, take));
  if (body_bytes_ == length_bytes_) KV_RETURN_IF_ERROR(FinishBody());
  return used + take;
}

Result<void> MessageReader::BeginBody() {
  const auto flags = static_cast<unsigned char>(prefix_.front());
  length_bytes_ = SizeIn(View(prefix_));
  body_bytes_ = 0;
  if (length_bytes_ > max_message_bytes_)
    return Fail(MessageSizeError(length_bytes_, max_message_bytes_));
  if (flags > 1) return Fail(PayloadFormatError(flags));
  compressed_ = flags == 1;
  if (compressed_ && encoding_ == Encoding::kIdentity) return Fail(CompressedFlagError());
  if (length_bytes_ > 0 && length_bytes_ <= kBlockBytes)
    block_ = SharedBytes::Allocate(length_bytes_, &block_data_);
  return {};
}

void MessageReader::AppendBody(std::string_view bytes) {
  if (bytes.empty()) return;
  if (length_bytes_ <= kBlockBytes) {
    std::memcpy(block_data_ + body_bytes_, bytes.data(), bytes.size());
  } else {
    if (large_ == nullptr) large_ = std::make_unique<std::string>();
    if (large_->capacity() - large_->size() < bytes.size())
      large_->reserve(std::min<std::size_t>(length_bytes_,
                                            2 * (large_->size() + bytes.size()) + kBlockBytes / 2));
    large_->append(bytes);
  }
  body_bytes_ += static_cast<std::uint32_t>(bytes.size());
}

Result<void> MessageReader::FinishBody() {
  if (large_ != nullptr) {
    // Own keeps the string's spare capacity too, which the last growth bounds by the length.
    block_ = SharedBytes::Own(std::move(*large_));
    large_ = nullptr;
  }
  if (compressed_) {
    KV_TRY(std::string unpacked, Gunzip(block_.view(), max_message_bytes_));
    block_ = SharedBytes::Own(std::move(unpacked));
  }
  complete_ = true;
  return {};
}

SharedBytes MessageReader::Take() {
  KV_CHECK(complete_, "no complete message to take");
  complete_ = false;
  prefix_bytes_ = 0;
  body_bytes_ = 0;
  length_bytes_ = 0;
  return std::exchange(block_, {});
}

}  // namespace kvorum::rpc
