// A connection between two members under TLS, over any other socket. Written bytes are packed into
// full records, several of which go out in one write; the plain text is copied once into them.
//
// Implements PeerSocket; the handshake comes first, and alone. An end that the other side did not
// announce is an error like any other. Used on the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rpc/tls/tls_context.h"
#include "server/peer/io/peer_loop.h"
#include "server/peer/io/peer_socket.h"

namespace kvorum::server {

// The other side has left without announcing it.
inline constexpr std::string_view kEndUnannounced = "unexpected EOF";

class TlsSocket final : public PeerSocket {
 public:
  using Shaken = std::move_only_function<void(Result<void> outcome)>;
  using Answered = std::move_only_function<void()>;

  // `ssl` comes from a TlsContext and knows which side we are.
  TlsSocket(PeerLoop& loop, std::unique_ptr<PeerSocket> inner, rpc::SslPtr ssl);
  ~TlsSocket() override;

  // An error is reported after the alert that tells the other side was sent. On the accepting side
  // `answered` (may be null) reports a complete and good first message.
  void Handshake(Shaken done, Answered answered = nullptr);
  const ssl_st* ssl() const;

  void Read(std::span<char> buffer, Done done) override;
  void Write(ByteChain chain, Done done) override;
  void Close() override;
  void SetPatience(Duration limit) override;
  void CloseWriting() override;
  std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) override;
  std::string PeerAddress() const override;

 private:
  class Channel;

  explicit TlsSocket(std::shared_ptr<Channel> channel);

  std::shared_ptr<Channel> channel_;
};

}  // namespace kvorum::server
