// Stream sockets: a connection's, in plain text or under TLS, and the listening ones. The only code
// that makes network system calls.
//
// Used by one thread at a time. Non-blocking throughout.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "rpc/tls/listen_options.h"
#include "rpc/tls/tls_link.h"

namespace kvorum::rpc {

// One accepted connection. TLS support costs plain text one test of a pointer.
class Socket {
 public:
  // Parts of one vectored write.
  class Pieces {
   public:
    static constexpr std::size_t kMax = 64;
    void Add(std::string_view bytes) { parts_[count_++] = bytes; }
    bool full() const { return count_ == kMax; }
    std::span<const std::string_view> parts() const { return {parts_.data(), count_}; }

   private:
    std::array<std::string_view, kMax> parts_;
    std::size_t count_ = 0;
  };
  static constexpr std::ptrdiff_t kWouldBlock = -2;

  explicit Socket(FileDescriptor fd) : fd_(std::move(fd)) {}

  // Returns the bytes read; 0 at the end; kWouldBlock; -1 if the connection is broken.
  std::ptrdiff_t Read(std::span<char> buffer);
  // Returns the bytes written, 0 if it would block; -1 if the connection is broken. Under TLS the
  // written bytes may still be here (has_unsent), and nothing more is taken until Flush has sent
  // them.
  std::ptrdiff_t Write(const Pieces& pieces);
  bool has_unsent() const { return tls_ != nullptr && tls_->has_unsent(); }
  std::size_t unsent_bytes() const { return tls_ == nullptr ? 0 : tls_->unsent_bytes(); }
  // Returns 1 if nothing is left, 0 if it would block, -1 if the connection is broken.
  int Flush() { return tls_ == nullptr ? 1 : tls_->Flush(fd()); }

  // Encrypts everything from here on, after a handshake (TlsLink::Handshake).
  void StartTls(SslPtr ssl, TlsBuffers& buffers) {
    tls_ = std::make_unique<TlsLink>(std::move(ssl), buffers);
  }
  TlsLink* tls() { return tls_.get(); }

  // Breaks the connection when data stays unacknowledged this long; no effect on a unix socket.
  void SetUserTimeout(std::chrono::milliseconds limit);
  // Lets the kernel keep about this much that is not on its way to the peer yet. By itself it takes
  // megabytes for a peer that never reads. No effect on a unix socket.
  void LimitUnsent(std::size_t bytes);
  // Tells the peer that nothing more comes; its own bytes can still be read.
  void CloseWriting();
  void Close() { fd_.Close(); }
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
  std::unique_ptr<TlsLink> tls_;  // null: plain text
};

// The system calls, for callers that only have a descriptor. Like Read and Write of Socket.
std::ptrdiff_t ReceiveBytes(int fd, std::span<char> buffer);
std::ptrdiff_t SendBytes(int fd, std::string_view bytes);
// The socket's own address: "127.0.0.1:2379", "[::1]:2379", a unix socket's path.
std::string LocalAddress(int fd);

struct Accepted {
  FileDescriptor fd;
  std::string peer;  // "127.0.0.1:5123", "[::1]:5123", "@"
};

enum class AcceptFailure : std::uint8_t {
  kNothing,    // no connection waits
  kExhausted,  // no descriptors or memory: try again later
};

// A bound socket, and from Listen on a listening one; removes a unix socket's path at the end.
class ListenSocket {
 public:
  static Result<ListenSocket> Tcp(const std::string& host, std::uint16_t port,
                                  PortUse use = PortUse::kAlone);
  // The users who may connect, by the file's mode: as the umask says, or its owner alone regardless
  // of the umask. At no moment may others connect.
  enum class UnixUse : std::uint8_t { kByUmask, kOwnerAlone };
  static Result<ListenSocket> Unix(const std::string& path, UnixUse use = UnixUse::kByUmask);
  ListenSocket(ListenSocket&&) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();

  // Connections are refused before this call. An error if another socket bound to the same port was
  // faster.
  Result<void> Listen() const;
  // The next connection. One that was aborted before it was accepted is skipped.
  std::expected<Accepted, AcceptFailure> Accept();
  int fd() const { return fd_.get(); }
  const std::string& address() const { return address_; }

 private:
  ListenSocket(FileDescriptor fd, std::string address, std::string unix_path)
      : fd_(std::move(fd)), address_(std::move(address)), unix_path_(std::move(unix_path)) {}

  FileDescriptor fd_;
  std::string address_;
  std::string unix_path_;
};

}  // namespace kvorum::rpc
