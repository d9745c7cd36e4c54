#include "rpc/call/output_batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rpc/tls/socket.h"

namespace kvorum::rpc {
namespace {

// Room for a full batch of copied bytes and the frame that filled it.
constexpr std::size_t kBufferBytes = OutputBatch::kFullBytes + 32 * 1024;

}  // namespace

OutputBatch::OutputBatch() : buffer_(std::make_unique<char[]>(kBufferBytes)) {}

void OutputBatch::Append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (bytes.size() > kBufferBytes - buffer_used_bytes_) {
    SharedBytes copy = SharedBytes::Copy(bytes);
    size_bytes_ += copy.size();
    pieces_.push_back({copy.view(), copy});
    return;
  }
  char* copy = buffer_.get() + buffer_used_bytes_;
  std::memcpy(copy, bytes.data(), bytes.size());
  buffer_used_bytes_ += bytes.size();
  size_bytes_ += bytes.size();
  if (!pieces_.empty() && pieces_.back().bytes.data() + pieces_.back().bytes.size() == copy) {
    std::string_view& last = pieces_.back().bytes;
    last = {last.data(), last.size() + bytes.size()};
  } else {
    pieces_.push_back({{copy, bytes.size()}, {}});
  }
}

void OutputBatch::Append(const SharedBytes& bytes) {
  if (bytes.size() < kShareBytes) return Append(bytes.view());
  size_bytes_ += bytes.size();
  pieces_.push_back({bytes.view(), bytes});
}

void OutputBatch::Clear() {
  pieces_.clear();
  buffer_used_bytes_ = 0;
  size_bytes_ = 0;
}

std::ptrdiff_t OutputBatch::WriteTo(Socket& socket, std::vector<SharedBytes>* rest) {
  std::ptrdiff_t total = 0;
  std::size_t next = 0;  // the piece to go on with, and how much of it has gone
  std::size_t gone = 0;
  bool blocked = false;
  while (next < pieces_.size() && !blocked) {
    Socket::Pieces pieces;
    std::size_t offered = 0;
    for (std::size_t i = next; i < pieces_.size() && !pieces.full(); ++i) {
      const std::string_view bytes = pieces_[i].bytes.substr(i == next ? gone : 0);
      pieces.Add(bytes);
      offered += bytes.size();
    }
    const std::ptrdiff_t written = socket.Write(pieces);
    if (written < 0) {
      Clear();
      return -1;
    }
    total += written;
    blocked = static_cast<std::size_t>(written) < offered;
    gone += static_cast<std::size_t>(written);
    while (next < pieces_.size() && gone >= pieces_[next].bytes.size())
      gone -= pieces_[next++].bytes.size();
  }
  for (; next < pieces_.size(); ++next, gone = 0) {
    const Piece& piece = pieces_[next];
    if (piece.owner.empty()) {
      rest->push_back(SharedBytes::Copy(piece.bytes.substr(gone)));
    } else {
      rest->push_back(piece.owner.Slice(gone, piece.owner.size() - gone));
    }
  }
  Clear();
  return total;
}

}  // namespace kvorum::rpc
