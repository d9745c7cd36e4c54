// A blocking TLS client over a RawSocket: sends the given bytes, as slowly as requested.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rpc/tls/tls_stream.h"
#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {

class TlsClient {
 public:
  // Connects and says nothing yet.
  TlsClient(std::uint16_t port, TlsContext& context)
      : socket_(port), stream_(context.NewClient("localhost")) {}

  // The handshake's first flight, unsent.
  std::string Hello();
  // Sends its flights in pieces of this size. False if it was refused. With TLS 1.3 a refusal of
  // our certificate comes only later, when something is read.
  bool Handshake(std::size_t piece_bytes = SIZE_MAX);
  bool Send(std::string_view plain);
  // Plain text up to this end mark, or all that comes before the connection ends.
  std::string ReceiveUntil(std::string_view end);
  std::string ReceiveAtLeast(std::size_t size_bytes);
  std::string ReceiveAll() { return ReceiveUntil({}); }
  RawSocket& socket() { return socket_; }
  TlsStream& stream() { return stream_; }
  const ssl_st* ssl() const { return stream_.ssl(); }
  const std::string& error() const { return stream_.error(); }

 private:
  bool SendPieces(std::string_view bytes, std::size_t piece_bytes);
  bool Take(std::string_view received);

  RawSocket socket_;
  TlsStream stream_;
  std::string plain_;
};

}  // namespace kvorum::rpc
