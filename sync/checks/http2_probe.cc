#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <utility>

#include "sync/checks/connection.h"
#include "sync/checks/http2_dialogue.h"
#include "sync/checks/network_probe.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kHttp2ReadBytes = std::size_t{4} << 10U;

// The dialogue over a stream, which reads and writes at once.
template <class Stream>
class Http2Exchange : public std::enable_shared_from_this<Http2Exchange<Stream>> {
 public:
  Http2Exchange(std::shared_ptr<Connection> connection, std::shared_ptr<Stream> stream,
                const CheckDefinition& check)
      : connection_(std::move(connection)), stream_(std::move(stream)), dialogue_(check) {}

  void Begin() {
    Write();
    Read();
  }

 private:
  void Write() {
    if (is_writing_) return;
    output_ = dialogue_.TakeOutput();
    if (const auto& result = dialogue_.result()) return connection_->End(*result);
    if (output_.empty()) return;
    is_writing_ = true;
    asio::async_write(*stream_, asio::buffer(output_),
                      [self = this->shared_from_this()](const error_code& error, std::size_t) {
                        self->is_writing_ = false;
                        if (error) return self->Fail(error);
                        self->Write();
                      });
  }
  void Read() {
    stream_->async_read_some(asio::buffer(input_), [self = this->shared_from_this()](
                                                       const error_code& error, std::size_t got) {
      if (error) return self->Fail(error);
      self->dialogue_.Feed({self->input_.data(), got});
      if (const auto& result = self->dialogue_.result()) return self->connection_->End(*result);
      self->Write();
      self->Read();
    });
  }
  void Fail(const error_code& error) { connection_->End({.output = error.message()}); }

  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<Stream> stream_;
  Http2Dialogue dialogue_;
  std::array<char, kHttp2ReadBytes> input_{};
  std::string output_;
  bool is_writing_ = false;
};

}  // namespace

void BeginHttp2Probe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                     Prober::OnEnd on_end) {
  // A ping's failure says whether there was a connection.
  const auto at = std::make_shared<std::string>();
  if (check.kind == CheckKind::kH2Ping) *at = "Failed to dial to " + check.target + ": ";
  const bool is_ping = check.kind == CheckKind::kH2Ping;
  auto named = [at, on_end = std::move(on_end)](ProbeResult result) mutable {
    if (result.health != Health::kPassing) result.output = CleanOutput(*at + result.output);
    on_end(std::move(result));
  };
  const auto connection =
      std::make_shared<Connection>(io, lookups, check.timeout, std::move(named));
  const auto connected = [at, is_ping] {
    if (is_ping) *at = "HTTP2 ping failed: ";
  };
  const Address address = ParseAddress(GrpcAddressOf(check.target), "");
  if (check.uses_tls) {
    return ConnectUnderTls(
        connection, address, check.tls, /*is_http2=*/true,
        [connection, connected, check](const std::shared_ptr<TlsStream>& stream) {
          connected();
          std::make_shared<Http2Exchange<TlsStream>>(connection, stream, check)->Begin();
        });
  }
  connection->Connect(address, [connection, connected, check] {
    connected();
    const std::shared_ptr<tcp::socket> stream(connection, &connection->socket);
    std::make_shared<Http2Exchange<tcp::socket>>(connection, stream, check)->Begin();
  });
}

}  // namespace kvorum::sync
