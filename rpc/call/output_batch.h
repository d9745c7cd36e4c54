// The output of one connection that is sent at once: small pieces copied side by side into one
// buffer, large ones by reference, written with one vectored call.
//
// Used by one loop's thread, for one connection at a time; the buffer is the loop's, so an idle
// connection owns none.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/shared_bytes.h"

namespace kvorum::rpc {

class Socket;

class OutputBatch {
 public:
  // Slices from this size on are sent without copying; for smaller ones copying is cheaper than
  // another piece for the kernel to gather.
  static constexpr std::size_t kShareBytes = 4096;
  // A batch of this size should be written before more is added.
  static constexpr std::size_t kFullBytes = 128 * 1024;

  OutputBatch();

  void Append(std::string_view bytes);
  void Append(const SharedBytes& bytes);
  bool empty() const { return size_bytes_ == 0; }
  bool full() const { return size_bytes_ >= kFullBytes; }
  std::size_t size_bytes() const { return size_bytes_; }
  void Clear();

  // Writes as much as the socket takes and leaves the batch empty. The rest is appended to `rest`,
  // with copies of bytes in the batch's own buffer. Returns the bytes written, or -1 if the
  // connection is broken.
  std::ptrdiff_t WriteTo(Socket& socket, std::vector<SharedBytes>* rest);

 private:
  struct Piece {
    std::string_view bytes;
    SharedBytes owner;  // empty when the bytes lie in buffer_
  };

  std::unique_ptr<char[]> buffer_;
  std::size_t buffer_used_bytes_ = 0;
  std::size_t size_bytes_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace kvorum::rpc
