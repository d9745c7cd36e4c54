// TLS on a connected socket: implements rpc::Socket for an encrypted connection.
//
// Belongs to one loop. One read takes as many records as are there, one write sends many; the
// buffers for both are the loop's, so that an idle connection owns none. The part of a write that
// the kernel does not take (at most kSealBytes and the framing) is kept here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/tls/tls_stream.h"

namespace kvorum::rpc {

// One loop's buffers. Empty until the first encrypted connection needs them.
struct TlsBuffers {
  std::vector<char> received;
  std::string sealed;
  std::string gathered;  // small pieces for one record
};

class TlsLink {
 public:
  // The most plain text that one write takes.
  static constexpr std::size_t kSealBytes = 256 * 1024;
  // Past it the other end only makes us answer key updates, and reads nothing: it is cut off.
  static constexpr std::size_t kMaxUnsentBytes = 2 * kSealBytes;

  TlsLink(SslPtr ssl, TlsBuffers& buffers);

  // Goes on with the handshake: with these bytes, or by reading from the socket if there are none.
  // kFailed: error() has the reason (empty: the other end has left), and the alert is sent. `plain`
  // gets the bytes after the handshake, *plain_size of them.
  TlsStream::Progress Handshake(int fd, std::string_view received, std::span<char> plain,
                                std::size_t* plain_size);

  // Like Socket's. Write takes nothing while has_unsent().
  std::ptrdiff_t Read(int fd, std::span<char> buffer);
  std::ptrdiff_t Write(int fd, std::span<const std::string_view> pieces);
  // Sends the unsent bytes: 1 if nothing is left, 0 if it would block, -1 if the connection is
  // broken.
  int Flush(int fd);
  void CloseWriting(int fd);
  bool has_unsent() const { return !unsent_.empty(); }
  std::size_t unsent_bytes() const { return unsent_.size(); }

  const ssl_st* ssl() const { return stream_.ssl(); }
  const std::string& error() const { return stream_.error(); }

 private:
  // Decrypts all of the bytes; -1 if the connection is broken.
  std::ptrdiff_t OpenAll(std::string_view received, std::span<char> plain);
  // Sends the sealed bytes, after unsent ones; false if the connection is broken.
  bool SendSealed(int fd);

  TlsBuffers& buffers_;
  TlsStream stream_;
  std::string unsent_;
};

}  // namespace kvorum::rpc
