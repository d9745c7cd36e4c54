#include "rpc/call/answer_body.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "rpc/call/output_batch.h"

namespace kvorum::rpc {

void AnswerBody::Begin(SharedBytes first, ByteChain rest, std::size_t to_come_bytes) {
  const std::size_t held_bytes = first.size() + SizeBytes(rest);
  const std::size_t size_bytes = held_bytes + to_come_bytes;
  prefix_ = PrefixOf(size_bytes);
  prefix_sent_bytes_ = 0;
  first_ = std::move(first);
  rest_ = std::move(rest);
  part_ = 0;
  part_sent_bytes_ = 0;
  passing_ = true;
  ++messages_;
  message_bytes_ += size_bytes;
  unsent_bytes_.store(prefix_.size() + held_bytes, std::memory_order_relaxed);
}

void AnswerBody::BeginFramed(ByteChain frames, std::size_t messages) {
  const std::size_t size_bytes = SizeBytes(frames);
  prefix_sent_bytes_ = kMessagePrefixBytes;  // the frames have their own
  first_ = {};
  rest_ = std::move(frames);
  part_ = 1;  // the first of rest_
  part_sent_bytes_ = 0;
  passing_ = true;
  messages_ += messages;
  message_bytes_ += size_bytes - messages * kMessagePrefixBytes;
  unsent_bytes_.store(size_bytes, std::memory_order_relaxed);
}

void AnswerBody::Add(ByteChain bytes) {
  const std::size_t unsent = unsent_bytes();
  const std::size_t size_bytes = SizeBytes(bytes);
  if (unsent == 0) {
    rest_ = std::move(bytes);
    part_ = 1;  // the first of rest_
    part_sent_bytes_ = 0;
  } else {
    std::ranges::move(bytes, std::back_inserter(rest_));
  }
  unsent_bytes_.store(unsent + size_bytes, std::memory_order_relaxed);
}

void AnswerBody::MoveTo(OutputBatch& batch, std::size_t size_bytes) {
  unsent_bytes_.store(unsent_bytes() - size_bytes, std::memory_order_relaxed);
  if (prefix_sent_bytes_ < prefix_.size() && size_bytes > 0) {
    const std::size_t take = std::min(size_bytes, prefix_.size() - prefix_sent_bytes_);
    batch.Append(std::string_view(prefix_.data() + prefix_sent_bytes_, take));
    prefix_sent_bytes_ = static_cast<std::uint8_t>(prefix_sent_bytes_ + take);
    size_bytes -= take;
  }
  while (size_bytes > 0) {
    SharedBytes& part = Part();
    const std::size_t take = std::min(size_bytes, part.size() - part_sent_bytes_);
    if (take < OutputBatch::kShareBytes) {
      batch.Append(part.view().substr(part_sent_bytes_, take));
    } else {
      batch.Append(part.Slice(part_sent_bytes_, take));
    }
    size_bytes -= take;
    part_sent_bytes_ += take;
    if (part_sent_bytes_ == part.size()) {
      part = {};
      ++part_;
      part_sent_bytes_ = 0;
    }
  }
}

void AnswerBody::End() {
  passing_ = false;
  first_ = {};
  rest_ = ByteChain();  // `= {}` would keep the memory
}

}  // namespace kvorum::rpc
