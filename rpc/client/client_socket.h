// The dialling side of a stream socket, in plain text or under TLS, for a thread that may wait: the
// rare calls that this process makes as a client.
//
// Used by one thread. Every wait ends at its limit, except a name's look-up, which ends when the
// resolver says so. Errors: kUnavailable with the reason; the connection is of no more use then.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/io/dial_target.h"
#include "rpc/io/wait_limit.h"
#include "rpc/tls/socket.h"
#include "rpc/tls/tls_context.h"
#include "rpc/tls/tls_stream.h"

namespace kvorum::rpc {

class ClientSocket {
 public:
  // Tries the addresses of the host one after the other. `tls` is null for plain text.
  static Result<ClientSocket> Dial(const DialTarget& target, TlsContext* tls,
                                   const WaitLimit& limit);

  // Returns the number of bytes read, 0 if none came before the limit.
  Result<std::size_t> Read(std::span<char> buffer, const WaitLimit& limit);
  // Writes all of them, or fails.
  Result<void> Write(std::string_view bytes, const WaitLimit& limit);

  // Null: plain text.
  const ssl_st* ssl() const { return tls_ == nullptr ? nullptr : tls_->ssl(); }
  int fd() const { return fd_.get(); }

 private:
  explicit ClientSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  static Result<ClientSocket> DialFile(const std::string& path, const WaitLimit& limit);
  static Result<ClientSocket> DialHost(const DialTarget& target, const WaitLimit& limit);
  Result<void> Connect(const void* address, unsigned address_bytes, const WaitLimit& limit);
  Result<void> StartTls(SslPtr ssl, const WaitLimit& limit);
  // Those of the socket itself.
  Result<std::size_t> ReadBytes(std::span<char> buffer, const WaitLimit& limit);
  Result<void> WriteBytes(std::string_view bytes, const WaitLimit& limit);
  // False at the limit.
  bool Wait(short events, const WaitLimit& limit) const;

  FileDescriptor fd_;
  std::unique_ptr<TlsStream> tls_;  // null: plain text
  std::vector<char> received_;
  std::string_view arrived_;  // of them, and not decrypted yet
};

}  // namespace kvorum::rpc
