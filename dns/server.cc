#include "dns/server.h"

#include <array>
#include <bit>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "base/rng.h"
#include "base/text/parse_number.h"
#include "dns/counts.h"
#include "dns/rate_bound.h"
#include "dns/responder.h"
#include "dns/wire.h"

namespace kvorum::dns {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;

constexpr int kTriesOfPorts = 16;
constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address: one host has a whole network

// One question after the other, each behind two bytes of its length.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Lives as long as one of its handlers waits; `place` is given up with it.
  Connection(tcp::socket socket, Responder& responder, const ServerLimits& limits,
             std::shared_ptr<void> place)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        responder_(responder),
        limits_(limits),
        place_(std::move(place)) {}

  void ReadQuestion() {
    if (++questions_ > limits_.questions) return Close();
    timer_.expires_after(limits_.patience);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->Close();
    });
    asio::async_read(socket_, asio::buffer(length_),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->Close();
                       self->ReadBody();
                     });
  }

 private:
  void ReadBody() {
    const auto size = static_cast<std::size_t>(length_[0] << 8U | length_[1]);
    if (size > kMaxQueryBytes) return Close();
    text_.resize(size);
    asio::async_read(socket_, asio::buffer(text_),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->Close();
                       self->WriteAnswer();
                     });
  }
  void WriteAnswer() {
    text_ = responder_.Answer(text_, Transport::kTcp);
    if (text_.empty()) return Close();
    length_ = {static_cast<std::uint8_t>(text_.size() >> 8U),
               static_cast<std::uint8_t>(text_.size())};
    const std::array<asio::const_buffer, 2> both = {asio::buffer(length_), asio::buffer(text_)};
    asio::async_write(socket_, both,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->Close();
                        self->ReadQuestion();
                      });
  }
  void Close() {
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  Responder& responder_;
  const ServerLimits& limits_;
  const std::shared_ptr<void> place_;
  int questions_ = 0;
  std::array<std::uint8_t, 2> length_{};
  std::string text_;
};

std::string BytesOf(const asio::ip::address& address) {
  const auto text = [](const auto& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  return address.is_v4() ? text(address.to_v4().to_bytes()) : text(address.to_v6().to_bytes());
}

Cookies::Secret NewSecret() {
  return std::bit_cast<Cookies::Secret>(std::array{EntropySeed(), EntropySeed()});
}

// The part of an address that one host has.
std::string_view HostOf(std::string_view address) {
  return address.size() > kNetworkBytes ? address.substr(0, kNetworkBytes) : address;
}

// The connections that there are, together and of each host.
class Places {
 public:
  explicit Places(const ServerLimits& limits) : limits_(limits) {}

  // Null: there is none for this host. What is returned gives the place up at its end.
  std::shared_ptr<void> Take(const tcp::socket& socket) {
    error_code gone;
    const auto endpoint = socket.remote_endpoint(gone);
    if (gone || taken_ >= limits_.connections) return nullptr;
    const std::string host(HostOf(BytesOf(endpoint.address())));
    int& of_host = by_host_[host];
    if (of_host >= limits_.connections_per_host) return nullptr;
    ++of_host;
    ++taken_;
    return {this, [host](void* places) { static_cast<Places*>(places)->GiveUp(host); }};
  }

 private:
  void GiveUp(const std::string& host) {
    --taken_;
    const auto of_host = by_host_.find(host);
    if (--of_host->second == 0) by_host_.erase(of_host);
  }

  const ServerLimits& limits_;
  int taken_ = 0;
  std::map<std::string, int> by_host_;  // none is zero
};

Result<tcp::endpoint> ParseAddress(const std::string& text) {
  const auto refuse = [&] {
    return Fail(Code::kInvalidArgument,
                "the DNS address \"" + text + "\" is not ADDRESS:PORT with an IP address");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return refuse();
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = ParseNumber<std::uint16_t>(std::string_view(text).substr(colon + 1));
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error || !port) return refuse();
  return tcp::endpoint(address, *port);
}

}  // namespace

class Server::Sockets {
 public:
  Sockets(const Directory& directory, const ServerLimits& limits, sync::Metrics* metrics,
          std::optional<ConsulZone> consul)
      : limits_(limits),
        counts_(metrics),
        responder_(directory, EntropySeed(), &counts_, NewSecret(), std::move(consul)),
        rate_(limits.questions_per_second, EntropySeed()),
        places_(limits_),
        tcp_(io_),
        udp_(io_),
        pause_(io_) {}
  ~Sockets() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  // With port 0, TCP's free port may be taken for UDP: then another one.
  error_code Bind(const tcp::endpoint& wanted) {
    error_code error;
    for (int tries = 0; tries < kTriesOfPorts; ++tries) {
      error = BindOnce(wanted);
      if (!error || wanted.port() != 0) return error;
    }
    return error;
  }

  void Start() {
    Receive();
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  tcp::endpoint address() const { return tcp_.local_endpoint(); }

 private:
  error_code BindOnce(const tcp::endpoint& wanted) {
    error_code error;
    tcp_.close(error);
    udp_.close(error);
    tcp_.open(wanted.protocol(), error);
    if (!error) tcp_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) tcp_.bind(wanted, error);
    if (!error) tcp_.listen(limits_.connections, error);
    if (error) return error;
    const udp::endpoint same(wanted.address(), tcp_.local_endpoint().port());
    udp_.open(same.protocol(), error);
    if (!error) udp_.non_blocking(true, error);
    if (!error) udp_.bind(same, error);
    return error;
  }

  void Receive() {
    udp_.async_receive_from(asio::buffer(packet_), sender_,
                            [this](const error_code& error, std::size_t size) {
                              if (error == asio::error::operation_aborted) return;
                              if (!error) AnswerPacket({packet_.data(), size});
                              Receive();
                            });
  }
  void AnswerPacket(std::string_view packet) {
    const std::string address = BytesOf(sender_.address());
    if (!rate_.Take(HostOf(address), SystemClock().Now())) return counts_.DroppedForRate();
    const bool is_local = limits_.knows_this_machine && sender_.address().is_loopback();
    const std::string answer =
        responder_.Answer(packet, Transport::kUdp,
                          {.address = address,
                           .is_local = is_local,
                           .unix_s = static_cast<std::uint32_t>(SystemClock().WallSeconds())});
    if (answer.empty()) return;
    error_code lost;
    udp_.send_to(asio::buffer(answer), sender_, 0, lost);
  }

  void Accept() {
    tcp_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return AcceptLater();
      if (auto place = places_.Take(socket)) {
        std::make_shared<Connection>(std::move(socket), responder_, limits_, std::move(place))
            ->ReadQuestion();
      } else {
        counts_.DroppedForConnections();
      }
      Accept();
    });
  }
  // Without descriptors every accept fails at once.
  void AcceptLater() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this](const error_code& error) {
      if (!error) Accept();
    });
  }

  const ServerLimits limits_;
  Counts counts_;
  Responder responder_;
  RateBound rate_;
  Places places_;
  asio::io_context io_;
  tcp::acceptor tcp_;
  udp::socket udp_;
  asio::steady_timer pause_;
  udp::endpoint sender_;
  std::array<char, kMaxQueryBytes + 1> packet_{};  // a longer one is cut, and still too long
  std::thread thread_;
};

Server::Server(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Open(const std::string& address, const Directory& directory,
                                             const ServerLimits& limits, sync::Metrics* metrics,
                                             std::optional<ConsulZone> consul) {
  KV_TRY(const tcp::endpoint wanted, ParseAddress(address));
  auto sockets = std::make_unique<Sockets>(directory, limits, metrics, std::move(consul));
  if (const error_code error = sockets->Bind(wanted))
    return Fail(Code::kUnavailable, "DNS cannot listen on " + address + ": " + error.message());
  sockets->Start();
  return std::unique_ptr<Server>(new Server(std::move(sockets)));
}

std::string Server::address() const {
  std::ostringstream text;
  text << sockets_->address();
  return text.str();
}

}  // namespace kvorum::dns
