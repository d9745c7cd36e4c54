#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sync/checks/connection.h"
#include "sync/checks/network_probe.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;

// A datagram, and the wait for what comes of it.
class Datagram : public std::enable_shared_from_this<Datagram> {
 public:
  Datagram(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
           Prober::OnEnd on_end)
      : socket_(io),
        timer_(io),
        lookups_(lookups),
        address_(ParseAddress(check.target, "")),
        timeout_(check.timeout),
        success_("UDP connect " + check.target + ": Success"),
        on_end_(std::move(on_end)) {}

  void Begin() {
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->TimedOut();
    });
    if (const auto endpoint = EndpointOf(address_)) return Send(*endpoint);
    lookup_ = lookups_.Begin(
        address_, [self = shared_from_this()](const error_code& error, const auto& found) {
          if (error) return self->Fail(error);
          self->Send(found.begin()->endpoint());
        });
  }

 private:
  void Send(const tcp::endpoint& to) {
    const udp::endpoint endpoint(to.address(), to.port());
    error_code error;
    socket_.open(endpoint.protocol(), error);
    if (!error) socket_.connect(endpoint, error);
    if (!error) socket_.send(asio::buffer(answer_.data(), 0), 0, error);
    if (error) return Fail(error);
    is_sent_ = true;
    socket_.async_receive(asio::buffer(answer_),
                          [self = shared_from_this()](const error_code& failed, std::size_t) {
                            if (failed) return self->Fail(failed);
                            self->Succeed();
                          });
  }
  // Silence is the rule: nothing answers a datagram that means nothing.
  void TimedOut() {
    if (is_sent_) return Succeed();
    End({.output = NoAnswerText(timeout_)});
  }
  void Succeed() { End({.health = Health::kPassing, .output = CleanOutput(success_)}); }
  void Fail(const error_code& error) { End({.output = error.message()}); }
  // The first end counts.
  void End(ProbeResult result) {
    if (!on_end_) return;
    timer_.cancel();
    if (lookup_) lookups_.Cancel(address_, *lookup_);
    error_code ignored;
    socket_.close(ignored);
    std::exchange(on_end_, nullptr)(std::move(result));
  }

  udp::socket socket_;
  asio::steady_timer timer_;
  NameLookups& lookups_;
  const Address address_;
  const Duration timeout_;
  const std::string success_;
  Prober::OnEnd on_end_;
  std::optional<std::uint64_t> lookup_;
  bool is_sent_ = false;
  std::array<char, 1> answer_{};
};

}  // namespace

void BeginTcpProbe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                   Prober::OnEnd on_end) {
  const auto connection =
      std::make_shared<Connection>(io, lookups, check.timeout, std::move(on_end));
  const std::string kind = check.uses_tls ? "TCP+TLS connect " : "TCP connect ";
  const std::string output =
      check.details.empty() ? "connected to " + check.target : kind + check.target + ": Success";
  const auto pass = [output](const std::shared_ptr<Connection>& connected) {
    connected->End({.health = Health::kPassing, .output = CleanOutput(output)});
  };
  const Address address = ParseAddress(check.target, "");
  if (check.uses_tls) {
    return ConnectUnderTls(
        connection, address, check.tls, /*is_http2=*/false,
        [connection, pass](const std::shared_ptr<TlsStream>&) { pass(connection); });
  }
  connection->Connect(address, [connection, pass] { pass(connection); });
}

void BeginUdpProbe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                   Prober::OnEnd on_end) {
  std::make_shared<Datagram>(io, lookups, check, std::move(on_end))->Begin();
}

}  // namespace kvorum::sync
