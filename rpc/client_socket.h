// The dialling side of a stream socket, in plain text or under TLS, for a thread that may wait: the
// rare calls that this process makes as a client.
//
// Used by one thread. Every wait ends at its deadline, except a name's look-up, which ends when the
// resolver says so. Errors: kUnavailable with the reason; the connection is of no more use then. A
// process that uses it ignores SIGPIPE.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/url.h"
#include "rpc/socket.h"
#include "rpc/tls_context.h"

namespace kvorum::rpc {

class ClientSocket {
 public:
  // Tries the addresses of the URL's host one after the other. `tls` is null for plain text,
  // whatever the URL's scheme is.
  static Result<ClientSocket> Dial(const Url& url, TlsContext* tls, TimePoint deadline);

  // Returns the number of bytes read, 0 if none came before the deadline.
  Result<std::size_t> Read(std::span<char> buffer, TimePoint deadline);
  // Writes all of them, or fails.
  Result<void> Write(std::string_view bytes, TimePoint deadline);

  bool is_tls() const { return ssl_ != nullptr; }

 private:
  explicit ClientSocket(FileDescriptor fd) : fd_(std::move(fd)) {}
  static Result<ClientSocket> DialFile(const std::string& path, TimePoint deadline);
  static Result<ClientSocket> DialHost(const Url& url, TimePoint deadline);
  Result<void> Connect(const void* address, unsigned address_bytes, TimePoint deadline);
  Result<void> StartTls(SslPtr ssl, TimePoint deadline);
  // Waits for what the last call of OpenSSL, which returned `outcome`, lacks.
  Result<void> WaitForTls(int outcome, TimePoint deadline);
  // False at the deadline.
  bool Wait(short events, TimePoint deadline) const;

  FileDescriptor fd_;
  SslPtr ssl_;  // null: plain text
};

}  // namespace kvorum::rpc
