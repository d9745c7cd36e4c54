// One end of a TLS connection as a transformation of bytes: received bytes go in, bytes to send
// come out. No sockets, so that it fits any I/O.
//
// Belongs to one thread. Output is appended to the caller's `out`, also when a call fails: an alert
// that tells the other end why should still be sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "rpc/tls/tls_context.h"

namespace kvorum::rpc {

class TlsStream {
 public:
  enum class Progress : std::uint8_t { kDone, kMore, kFailed };
  // The plain text of one record.
  static constexpr std::size_t kRecordBytes = 16 * 1024;
  // The most that Open may be given if its plain text is to fit into 64 KiB together with
  // the rest of an earlier record.
  static constexpr std::size_t kMaxOpenBytes = 47 * 1024;

  // `ssl` as TlsContext makes it.
  explicit TlsStream(SslPtr ssl);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Goes on with the handshake. Bytes after it stay in `received`, for Open. A dialling end begins
  // with nothing received.
  Progress Handshake(std::string_view* received, std::string* out);
  // Decrypts received bytes until none are left or `plain` is full. Returns the bytes of plain
  // text; fewer than fit if more must come, the other end has ended, or the connection is broken.
  std::size_t Open(std::string_view* received, std::span<char> plain, std::string* out);
  // Decrypted text waits for the next Open.
  bool has_pending() const;
  bool handshake_done() const;
  // Encrypts the text, in records of at most kRecordBytes. False if the connection is broken.
  bool Seal(std::string_view plain, std::string* out);
  // Tells the other end that nothing more comes.
  void SealEnd(std::string* out);
  // True if the other end has said that it sends no more.
  bool ended() const { return ended_; }
  bool broken() const { return broken_; }
  // The reason why a call failed.
  const std::string& error() const { return error_; }
  const ssl_st* ssl() const { return ssl_.get(); }

 private:
  friend struct MemoryBio;  // OpenSSL's access to our bytes

  void Fail();

  SslPtr ssl_;
  std::string_view input_;         // during a call
  std::string* output_ = nullptr;  // during a call
  std::string error_;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace kvorum::rpc
