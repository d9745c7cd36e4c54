#include "server/peer/io/http_client.h"

#include <array>
#include <utility>

#include "server/peer/io/http_answer.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kAnswerReadBytes = std::size_t{16} << 10;

}  // namespace

// The connection, with the request in progress, if any.
class HttpClient::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(PeerDialer& dialer, std::size_t max_body_bytes)
      : dialer_(dialer),
        max_body_bytes_(max_body_bytes),
        timer_(dialer.loop()),
        buffer_(kAnswerReadBytes) {}

  void Ask(const Url& url, ByteChain request, Duration timeout, Done done) {
    request_ = std::move(request);
    timeout_ = timeout;
    done_ = std::move(done);
    const bool stands = socket_ != nullptr && url_.has_value() && url_->text() == url.text();
    url_ = url;
    timer_.Arm(timeout, [this] { End(Fail(Code::kUnavailable, "no answer in time")); });
    if (stands) return Write();
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
    dialer_.Dial(
        *url_, timeout_,
        [weak = weak_from_this(), number = number_](Result<std::unique_ptr<PeerSocket>> socket) {
          const auto self = weak.lock();
          if (self == nullptr || self->number_ != number || self->done_ == nullptr) return;
          if (!socket.has_value()) return self->End(std::unexpected(socket.error()));
          self->socket_ = *std::move(socket);
          self->Read();
          self->Write();
        });
  }

  void Disconnect() {
    ++number_;
    if (socket_ != nullptr) socket_->Close();
    socket_.reset();
    is_writing_ = false;
  }

  // The only place that sends a request: each gets here at most once.
  void Write() {
    parser_ =
        std::make_unique<rpc::Http1Parser>(rpc::Http1Parser::Kind::kResponse, kMaxAnswerHeadBytes);
    body_.clear();
    is_writing_ = true;
    socket_->Write(std::exchange(request_, {}),
                   [self = shared_from_this(), number = number_](const Result<std::size_t>& sent) {
                     if (self->number_ != number) return;
                     self->is_writing_ = false;
                     if (!sent.has_value()) self->End(std::unexpected(sent.error()));
                   });
  }

  // Reads as long as there is a connection, so that its end is noticed at once.
  void Read() {
    socket_->Read(buffer_,
                  [self = shared_from_this(), number = number_](const Result<std::size_t>& bytes) {
                    if (self->number_ == number) self->OnRead(bytes);
                  });
  }

  void OnRead(const Result<std::size_t>& bytes) {
    if (done_ == nullptr) return Disconnect();  // closed while it was idle, or an answer to nothing
    if (!bytes.has_value()) {
      // An answer without a length ends with the connection, if that ends cleanly.
      if (!parser_->head_done() || !IsEndOfStream(bytes.error()))
        return End(std::unexpected(bytes.error()));
      const Result<void> ended = parser_->PutEnd();
      if (!ended.has_value()) return End(std::unexpected(ended.error()));
      return End(HttpReceived{.head = parser_->head(), .body = std::move(body_)});
    }
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

  void End(Result<HttpReceived> response) {
    const auto self = shared_from_this();
    timer_.Disarm();
    request_.clear();
    const bool stays = response.has_value() && response->head.keep_alive && input_.empty() &&
                       !is_writing_ && socket_ != nullptr;
    input_.clear();
    if (stays) {
      Read();
    } else {
      Disconnect();
    }
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
  ByteChain request_;         // until it is written
  bool is_writing_ = false;
  Duration timeout_{};
  Done done_;
  std::unique_ptr<rpc::Http1Parser> parser_;
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
