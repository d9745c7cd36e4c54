// TLS on a connected socket: what rpc::Socket does for a connection that is encrypted.
//
// Belongs to one loop. One read takes as many records as are there, one write sends many; the
// buffers for both are the loop's, so that an idle connection owns none. What the kernel does not
// take of a write (at most kSealBytes and what framing adds) is kept here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/tls_stream.h"

namespace kvorum::rpc {

// Of one loop. Empty until the first encrypted connection needs them.
struct TlsBuffers {
  std::vector<char> received;
  std::string sealed;
  std::string gathered;  // small pieces, on their way into one record
};

class TlsLink {
 public:
  // Plain text that one write takes at most.
  static constexpr std::size_t kSealBytes = 256 * 1024;
  // Past it the other end only makes us answer key updates, and takes nothing: it is cut off.
  static constexpr std::size_t kMaxUnsentBytes = 2 * kSealBytes;

  TlsLink(SslPtr ssl, TlsBuffers& buffers);

  // Goes on with the handshake: with these bytes, or with what is there to be read if there are
  // none. kFailed: error() tells why (empty: the other end has left), and the alert is sent.
  // `plain` gets what came behind the handshake, *plain_size bytes.
  TlsStream::Progress Handshake(int fd, std::string_view received, std::span<char> plain,
                                std::size_t* plain_size);

  // As Socket's. Write takes nothing while has_unsent().
  std::ptrdiff_t Read(int fd, std::span<char> buffer);
  std::ptrdiff_t Write(int fd, std::span<const std::string_view> pieces);
  // Sends what is unsent: 1 if nothing is left, 0 if it would block, -1 if the connection is
  // broken.
  int Flush(int fd);
  void CloseWriting(int fd);
  bool has_unsent() const { return !unsent_.empty(); }
  std::size_t unsent_bytes() const { return unsent_.size(); }

  const ssl_st* ssl() const { return stream_.ssl(); }
  const std::string& error() const { return stream_.error(); }

 private:
  // Sends what was sealed, behind what is unsent; false if the connection is broken.
  bool SendSealed(int fd);

  TlsBuffers& buffers_;
  TlsStream stream_;
  std::string unsent_;
};

}  // namespace kvorum::rpc
