#include "server/peer/io/peer_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "rpc/tls/socket.h"

namespace kvorum::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using StreamSocket = asio::generic::stream_protocol::socket;

constexpr Duration kPatience = std::chrono::seconds(5);
// The interval of probes to a silent end.
constexpr int kKeepaliveSeconds = 5;
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

std::unexpected<Error> Broken(const error_code& error) {
  if (error == asio::error::eof) return Fail(Code::kUnavailable, std::string(kEndOfStream));
  return Fail(Code::kUnavailable, error.message());
}

// Takes ownership of the descriptor; closes it if the loop cannot take it.
StreamSocket Adopt(PeerLoop& loop, int fd) {
  error_code error;
  StreamSocket socket(loop.context());
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  socket.assign(asio::generic::stream_protocol(name.ss_family, 0), fd, error);
  if (error) ::close(fd);
  return socket;
}

class AsioSocket final : public PeerSocket {
 public:
  AsioSocket(StreamSocket socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    // They fail on a unix socket, where none is needed.
    const int on = 1;
    setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &kKeepaliveSeconds,
               sizeof(kKeepaliveSeconds));
    setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_KEEPINTVL, &kKeepaliveSeconds,
               sizeof(kKeepaliveSeconds));
    SetPatience(kPatience);
  }

  // The kernel's time-out counts for an end that acknowledges, but has no room, as well.
  void SetPatience(Duration limit) override {
    const auto milliseconds = static_cast<unsigned>(limit / std::chrono::milliseconds(1));
    setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
               sizeof(milliseconds));
  }

  void Read(std::span<char> buffer, Done done) override {
    socket_.async_read_some(
        asio::buffer(buffer.data(), buffer.size()),
        [done = std::move(done)](const error_code& error, std::size_t bytes) mutable {
          if (error) return done(Broken(error));
          done(bytes);
        });
  }

  void Write(ByteChain chain, Done done) override {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(chain.size());
    for (const SharedBytes& piece : chain) buffers.emplace_back(piece.data(), piece.size());
    asio::async_write(socket_, buffers,
                      [chain = std::move(chain), done = std::move(done)](
                          const error_code& error, std::size_t bytes) mutable {
                        if (error) return done(Broken(error));
                        done(bytes);
                      });
  }

  void Close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  void CloseWriting() override {
    error_code ignored;
    socket_.shutdown(StreamSocket::shutdown_send, ignored);
  }
  std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) override {
    error_code error;
    const int fd = socket_.release(error);
    return std::make_unique<AsioSocket>(error ? StreamSocket(loop.context()) : Adopt(loop, fd),
                                        address_);
  }
  std::string PeerAddress() const override { return address_; }

 private:
  StreamSocket socket_;
  const std::string address_;
};

// One attempt: resolve, then connect to one address after the other.
class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  Dialer(PeerLoop& loop, Url url, std::string near_address, DialDone done)
      : socket_(loop.context()),
        resolver_(loop.context()),
        timeout_(loop),
        url_(std::move(url)),
        near_address_(std::move(near_address)),
        done_(std::move(done)) {}

  void Start(Duration timeout) {
    // The operation in progress keeps this alive. The timer, a member, does not.
    timeout_.Arm(timeout, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->GiveUp("connect: timed out");
    });
    if (const auto usable = url_.CheckAddress(); !usable.has_value())
      return GiveUp(usable.error().message);
    if (url_.unix_socket()) {
      if (url_.socket_path().size() >= sizeof(sockaddr_un::sun_path))
        return GiveUp("the socket's path is too long");
      endpoints_.emplace_back(asio::local::stream_protocol::endpoint(url_.socket_path()));
      return ConnectNext();
    }
    error_code not_an_address;
    const asio::ip::address address = asio::ip::make_address(url_.host(), not_an_address);
    if (!not_an_address) {
      endpoints_.emplace_back(asio::ip::tcp::endpoint(address, url_.dial_port()));
      return ConnectNext();
    }
    resolver_.async_resolve(
        url_.host(), std::to_string(url_.dial_port()),
        [self = shared_from_this()](const error_code& error,
                                    const asio::ip::tcp::resolver::results_type& results) {
          if (error) return self->GiveUp(error.message());
          for (const auto& result : results) self->endpoints_.emplace_back(result.endpoint());
          self->ConnectNext();
        });
  }

 private:
  void ConnectNext() {
    if (done_ == nullptr) return;
    if (next_ == endpoints_.size()) return GiveUp(last_error_.empty() ? "no address" : last_error_);
    error_code ignored;
    socket_.close(ignored);
    const auto& endpoint = endpoints_[next_++];
    if (const error_code error = BindNear(endpoint)) {
      last_error_ = "from " + near_address_ + ": " + error.message();
      return ConnectNext();
    }
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
      if (!error) return self->Succeed();
      self->last_error_ = error.message();
      self->ConnectNext();
    });
  }

  error_code BindNear(const asio::generic::stream_protocol::endpoint& to) {
    if (near_address_.empty() || url_.unix_socket()) return {};
    error_code error;
    const asio::ip::tcp::endpoint from(asio::ip::make_address(near_address_, error), 0);
    if (!error && from.protocol().family() != to.protocol().family())
      error = asio::error::address_family_not_supported;
    if (!error) socket_.open(to.protocol(), error);
    if (error) return error;
    // The port is chosen when it connects, among those that are free towards that address.
    constexpr int kOn = 1;
    setsockopt(socket_.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &kOn, sizeof(kOn));
    socket_.bind(from, error);
    return error;
  }

  void Succeed() {
    timeout_.Disarm();
    if (done_ == nullptr) return;
    std::exchange(done_, nullptr)(std::make_unique<AsioSocket>(std::move(socket_), url_.text()));
  }

  void GiveUp(std::string_view why) {
    const auto self = shared_from_this();
    timeout_.Disarm();
    if (done_ == nullptr) return;
    auto done = std::exchange(done_, nullptr);
    error_code ignored;
    socket_.close(ignored);
    resolver_.cancel();
    done(Fail(Code::kUnavailable, "dial " + url_.text() + ": " + std::string(why)));
  }

  StreamSocket socket_;
  asio::ip::tcp::resolver resolver_;
  PeerTimer timeout_;
  const Url url_;
  const std::string near_address_;
  DialDone done_;
  std::vector<asio::generic::stream_protocol::endpoint> endpoints_;
  std::size_t next_ = 0;
  std::string last_error_;
};

// rpc::ListenSocket makes the socket, so that both ports bind by the same rules.
class AsioListener final : public PeerListener {
 public:
  AsioListener(PeerLoop& loop, rpc::ListenSocket socket)
      : socket_(std::move(socket)), watch_(loop.context()), pause_(loop), loop_(loop) {
    watch_.assign(socket_.fd());
  }
  ~AsioListener() override { Close(); }

  Result<void> Listen() override { return socket_.Listen(); }
  void Start(Accepted accepted) override {
    accepted_ = std::move(accepted);
    Wait();
  }
  void Close() override {
    pause_.Disarm();
    if (watch_.is_open()) watch_.release();  // the socket closes it
    accepted_ = nullptr;
  }
  const std::string& address() const override { return socket_.address(); }

 private:
  void Wait() {
    watch_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
      if (error || accepted_ == nullptr) return;
      AcceptAll();
    });
  }

  void AcceptAll() {
    while (true) {
      auto accepted = socket_.Accept();
      if (!accepted.has_value()) {
        if (accepted.error() == rpc::AcceptFailure::kNothing) return Wait();
        return pause_.Arm(kAcceptPause, [this] { Wait(); });
      }
      StreamSocket socket = Adopt(loop_, accepted->fd.Release());
      if (!socket.is_open()) continue;
      accepted_(std::make_unique<AsioSocket>(std::move(socket), std::move(accepted->peer)));
      if (accepted_ == nullptr) return;
    }
  }

  rpc::ListenSocket socket_;
  asio::posix::stream_descriptor watch_;
  PeerTimer pause_;
  PeerLoop& loop_;
  Accepted accepted_;
};

}  // namespace

void ConnectPeer(PeerLoop& loop, const Url& url, const std::string& near_address, Duration timeout,
                 DialDone done) {
  std::make_shared<Dialer>(loop, url, near_address, std::move(done))->Start(timeout);
}

Result<std::unique_ptr<PeerListener>> PeerListener::Bind(PeerLoop& loop, const Url& url,
                                                         rpc::PortUse use) {
  KV_RETURN_IF_ERROR(url.CheckAddress());
  KV_TRY(rpc::ListenSocket socket, url.unix_socket()
                                       ? rpc::ListenSocket::Unix(url.socket_path())
                                       : rpc::ListenSocket::Tcp(url.host(), url.port(), use));
  return std::make_unique<AsioListener>(loop, std::move(socket));
}

}  // namespace kvorum::server
