// Collects encoded bytes for one write: small pieces side by side in blocks, large ones by
// reference, so that the log and all peers' streams share an entry's data.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/shared_bytes.h"

namespace kvorum::server {

class ChainWriter {
 public:
  // For smaller data a slice and its reference count cost more than a copy.
  static constexpr std::size_t kShareFromBytes = 1024;

  // The block to which small pieces are appended.
  std::string& tail() { return tail_; }
  void Add(const SharedBytes& bytes) {
    if (bytes.size() < kShareFromBytes) {
      tail_.append(bytes.view());
      return;
    }
    CutTail();
    chain_size_bytes_ += bytes.size();
    chain_.push_back(bytes);
  }
  std::size_t size_bytes() const { return chain_size_bytes_ + tail_.size(); }
  ByteChain Take() {
    CutTail();
    chain_size_bytes_ = 0;
    return std::exchange(chain_, {});
  }

 private:
  void CutTail() {
    if (tail_.empty()) return;
    chain_size_bytes_ += tail_.size();
    chain_.push_back(SharedBytes::Own(std::exchange(tail_, {})));
  }

  ByteChain chain_;
  std::string tail_;
  std::size_t chain_size_bytes_ = 0;
};

}  // namespace kvorum::server
