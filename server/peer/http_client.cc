#include "server/peer/http_client.h"

#include <array>
#include <utility>

namespace kvorum::server {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr std::size_t kMaxHeadBytes = std::size_t{64} << 10;

}  // namespace

// The connection, with the request under way, if any.
class HttpClient::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(PeerDialer& dialer, std::size_t max_body_bytes)
      : dialer_(dialer),
        max_body_bytes_(max_body_bytes),
        timer_(dialer.loop()),
        buffer_(kReadBytes) {}

  void Ask(const Url& url, ByteChain request, Duration timeout, Done done) {
    request_ = std::move(request);
    timeout_ = timeout;
    done_ = std::move(done);
    const bool is_same = socket_ != nullptr && url_.has_value() && url_->text() == url.text();
    url_ = url;
    timer_.Arm(timeout, [this] { End(Fail(Code::kUnavailable, "no answer in time")); });
    is_reused_ = is_same;
    if (is_same) return Write();
    Connect();
  }
  bool is_busy() const { return done_ != nullptr; }
  void Abandon() {
    timer_.Disarm();
    done_ = nullptr;
    Disconnect();
  }

 private:
  void Connect() {
    Disconnect();
    is_reused_ = false;
    dialer_.Dial(
        *url_, timeout_,
        [weak = weak_from_this(), number = number_](Result<std::unique_ptr<PeerSocket>> socket) {
          const auto self = weak.lock();
          if (self == nullptr || self->number_ != number || self->done_ == nullptr) return;
          if (!socket.has_value()) return self->End(std::unexpected(socket.error()));
          self->socket_ = *std::move(socket);
          self->Write();
        });
  }

  void Disconnect() {
    ++number_;
    if (socket_ != nullptr) socket_->Close();
    socket_.reset();
  }

  void Write() {
    parser_ = std::make_unique<HttpParser>(HttpParser::Kind::kResponse, kMaxHeadBytes);
    input_.clear();
    body_.clear();
    socket_->Write(request_,
                   [self = shared_from_this(), number = number_](const Result<std::size_t>& sent) {
                     if (self->number_ != number || self->done_ == nullptr) return;
                     if (!sent.has_value()) self->OnBroken(sent.error());
                   });
    Read();
  }

  void Read() {
    socket_->Read(buffer_,
                  [self = shared_from_this(), number = number_](const Result<std::size_t>& bytes) {
                    if (self->number_ != number || self->done_ == nullptr) return;
                    self->OnRead(bytes);
                  });
  }

  void OnRead(const Result<std::size_t>& bytes) {
    if (!bytes.has_value()) {
      // An answer without a length ends with the connection, if that ends in order.
      if (!parser_->head_done()) return OnBroken(bytes.error());
      if (!IsEndOfStream(bytes.error())) return End(std::unexpected(bytes.error()));
      const Result<void> ended = parser_->PutEnd();
      if (!ended.has_value()) return End(std::unexpected(ended.error()));
      return End(HttpReceived{.head = parser_->head(), .body = std::move(body_)});
    }
    is_reused_ = false;
    input_.append(buffer_.data(), *bytes);
    while (true) {
      const Result<std::size_t> used = parser_->Put(input_, body_);
      if (!used.has_value()) return End(std::unexpected(used.error()));
      input_.erase(0, *used);
      if (body_.size() > max_body_bytes_)
        return End(Fail(Code::kResourceExhausted, "the answer is too long"));
      if (parser_->done())
        return End(HttpReceived{.head = parser_->head(), .body = std::move(body_)});
      if (*used == 0) return Read();
    }
  }

  void OnBroken(const Error& error) {
    if (is_reused_) return Connect();
    End(std::unexpected(error));
  }

  void End(Result<HttpReceived> response) {
    const auto self = shared_from_this();
    timer_.Disarm();
    request_.clear();
    if (!response.has_value() || !response->head.keep_alive) Disconnect();
    auto done = std::exchange(done_, nullptr);
    if (done != nullptr) done(std::move(response));
  }

  PeerDialer& dialer_;
  const std::size_t max_body_bytes_;
  PeerTimer timer_;
  std::vector<char> buffer_;
  std::optional<Url> url_;
  std::unique_ptr<PeerSocket> socket_;
  std::uint64_t number_ = 0;  // of the connection: callbacks of an earlier one are dropped
  bool is_reused_ = false;    // and nothing of the answer has come
  ByteChain request_;
  Duration timeout_{};
  Done done_;
  std::unique_ptr<HttpParser> parser_;
  std::string input_;
  std::string body_;
};

HttpClient::HttpClient(PeerDialer& dialer, std::size_t max_body_bytes)
    : exchange_(std::make_shared<Exchange>(dialer, max_body_bytes)) {}

HttpClient::~HttpClient() { exchange_->Abandon(); }

void HttpClient::Ask(const Url& url, ByteChain request, Duration timeout, Done done) {
  exchange_->Ask(url, std::move(request), timeout, std::move(done));
}

bool HttpClient::is_busy() const { return exchange_->is_busy(); }

}  // namespace kvorum::server
