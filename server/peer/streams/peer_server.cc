#include "server/peer/streams/peer_server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log/logging.h"
#include "server/peer/io/http_answer.h"
#include "server/peer/io/request_checks.h"
#include "server/peer/io/tls_listener.h"

namespace kvorum::server {
namespace {

// The bytes read at once: of a connection about which nothing is known, and of a member's.
constexpr std::size_t kFirstReadBytes = std::size_t{8} << 10;
constexpr std::size_t kRequestReadBytes = std::size_t{64} << 10;
// After an answer to a request that was not read to its end: the other end gets this much time, and
// we read this much from it, to receive the answer before the connection is closed.
constexpr Duration kLingerTime = std::chrono::seconds(1);
constexpr std::size_t kMaxLingerBytes = std::size_t{1} << 20;
// Heads of this size are taken also while strangers' heads and bodies fill the bound: a member's
// request is smaller.
constexpr std::size_t kUsualHeadBytes = std::size_t{8} << 10;

// The answer for the parser's error code.
rpc::HttpResponse AnswerToNonsense(Code code) {
  if (code == Code::kResourceExhausted) return HttpError(431, "Request Header Fields Too Large");
  if (code == Code::kUnimplemented) return HttpError(501, "Unsupported transfer encoding");
  return HttpError(400, "Bad Request");
}

}  // namespace

// One accepted connection.
class PeerServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(PeerServer& server, std::unique_ptr<PeerSocket> socket)
      : server_(&server),
        socket_(std::move(socket)),
        timer_(server.loop_),
        buffer_(kFirstReadBytes) {}
  ~Session() { Release(); }

  void Start() {
    BeginRequest(server_->options_.head_timeout);
    Read();
  }
  bool is_from_member() const { return is_from_member_; }

  void Close() {
    if (server_ == nullptr) return;
    const auto self = shared_from_this();
    timer_.Disarm();
    Release();
    action_ = {};
    if (socket_ != nullptr) socket_->Close();
    std::exchange(server_, nullptr)->Forget(*this);
  }

 private:
  // Receives an answer; it may come from any thread, long after the session is gone.
  class Answer final : public rpc::HttpSink {
   public:
    Answer(PeerLoop& loop, std::weak_ptr<Session> session)
        : loop_(loop), session_(std::move(session)) {}
    void Complete(rpc::HttpResponse response) override {
      loop_.Post([session = session_, response = std::move(response)]() mutable {
        if (const auto alive = session.lock(); alive != nullptr && alive->server_ != nullptr)
          alive->Send(std::move(response));
      });
    }

   private:
    PeerLoop& loop_;
    const std::weak_ptr<Session> session_;
  };

  enum class Phase : std::uint8_t { kHead, kBody, kAnswering, kLingering };

  void BeginRequest(Duration timeout) {
    phase_ = Phase::kHead;
    MakeParser();
    CountHead();
    ArmTimer(timeout);
  }

  void MakeParser() {
    parser_ = std::make_unique<rpc::Http1Parser>(rpc::Http1Parser::Kind::kRequest,
                                                 server_->options_.max_head_bytes);
  }

  void ArmTimer(Duration timeout) {
    timer_.Arm(timeout, [this] {
      if (server_ == nullptr) return;
      const bool is_midway = phase_ == Phase::kBody || !input_.empty() || is_first_;
      if (is_midway && phase_ != Phase::kLingering) ++server_->stats_.bad_requests;
      Close();
    });
  }

  void Read() {
    if (std::exchange(is_reading_, true)) return;
    socket_->Read(buffer_, [self = shared_from_this()](Result<std::size_t> bytes) {
      self->is_reading_ = false;
      if (self->server_ != nullptr) self->OnRead(bytes);
    });
  }

  void OnRead(const Result<std::size_t>& bytes) {
    // The connection ended before a whole request was read: no client waits for an answer.
    if (!bytes.has_value()) return Close();
    if (phase_ == Phase::kLingering) {
      lingered_bytes_ += *bytes;
      return lingered_bytes_ > kMaxLingerBytes ? Close() : Read();
    }
    if (phase_ == Phase::kHead && input_.empty() && !is_first_)
      ArmTimer(server_->options_.head_timeout);  // it was idle until now
    input_.append(buffer_.data(), *bytes);
    if (phase_ == Phase::kAnswering) return CountHead();  // early; it waits
    Parse();
  }

  void Parse() {
    while (server_ != nullptr && (phase_ == Phase::kHead || phase_ == Phase::kBody)) {
      const std::size_t body_before = body_.size();
      const Result<std::size_t> used = parser_->Put(input_, body_);
      if (!used.has_value()) {
        ++server_->stats_.bad_requests;
        keep_alive_ = false;  // the rest of its input is neither understood nor read
        return Send(AnswerToNonsense(used.error().code));
      }
      input_.erase(0, *used);
      CountHead();
      if (phase_ == Phase::kHead) {
        if (IsLargeHead() && AreTooMuch()) return Refuse();
        if (!parser_->head_done()) return Read();
        OnHead();
        continue;
      }
      const std::size_t piece_bytes = body_.size() - std::min(body_before, body_.size());
      CountBody(piece_bytes);
      if (piece_bytes > 0) AwaitPiece();
      if (!OnBody(*used == 0)) return;
    }
  }

  void OnHead() {
    is_first_ = false;
    phase_ = Phase::kBody;
    keep_alive_ = parser_->head().keep_alive;
    RequestPlan plan = server_->handler_(parser_->head());
    is_from_member_ = is_from_member_ || plan.is_from_member;
    action_ = std::move(plan.action);
    if (is_from_member_ && !is_reading_) buffer_.resize(kRequestReadBytes);
    has_time_limit_ = !plan.is_from_member || !std::holds_alternative<StreamBody>(action_);
    deadline_ = server_->loop_.clock().Now() + server_->options_.message_timeout;
    AwaitPiece();
    if (auto* response = std::get_if<rpc::HttpResponse>(&action_)) {
      rpc::HttpResponse answer = std::move(*response);
      Send(std::move(answer));
    } else if (std::holds_alternative<TakeConnection>(action_)) {
      TakeOverConnection();
    } else if (std::string_view(parser_->head().Header("expect")) == "100-continue") {
      socket_->Write({SharedBytes::Static("HTTP/1.1 100 Continue\r\n\r\n")},
                     [](const Result<std::size_t>&) {});
    }
  }

  // Returns false when there is nothing to parse for now.
  bool OnBody(bool needs_more) {
    if (auto* gather = std::get_if<GatherBody>(&action_)) {
      if (body_.size() > gather->max_bytes ||
          parser_->head().content_length.value_or(0) > gather->max_bytes) {
        ++server_->stats_.bad_requests;
        Send(HttpError(413, "Request Entity Too Large"));
        return false;
      }
      if (RefuseTooMuch()) return false;
      if (parser_->done()) {
        phase_ = Phase::kAnswering;
        timer_.Disarm();
        SharedBytes body = SharedBytes::Own(std::exchange(body_, {}));
        const auto handle = std::move(gather->handle);
        handle(parser_->head(), std::move(body),
               rpc::HttpReply(std::make_shared<Answer>(server_->loop_, weak_from_this())));
        return false;
      }
      if (needs_more) Read();
      return !needs_more;
    }
    if (body_.empty() && !parser_->done()) {
      if (needs_more) Read();
      return !needs_more;
    }
    HandBodyOn();
    return false;
  }

  // Gives the body's next piece its time, within that of the message.
  void AwaitPiece() {
    Duration timeout = server_->options_.body_timeout;
    if (has_time_limit_)
      timeout = std::clamp(deadline_ - server_->loop_.clock().Now(), Duration(0), timeout);
    ArmTimer(timeout);
  }

  void HandBodyOn() {
    const bool last = parser_->done();
    timer_.Disarm();  // the receiver's time does not count
    std::string bytes = std::exchange(body_, {});
    server_->stats_.gathered_bytes -= std::exchange(counted_bytes_, 0);
    std::get<StreamBody>(action_).receiver->Take(
        std::move(bytes), last, [weak = weak_from_this()](std::optional<rpc::HttpResponse> answer) {
          const auto self = weak.lock();
          if (self == nullptr || self->server_ == nullptr) return;
          if (answer.has_value()) return self->SendStreamed(*std::move(answer));
          self->CountHeld(std::get<StreamBody>(self->action_).receiver->held_bytes());
          if (self->RefuseTooMuch()) return;
          self->AwaitPiece();
          self->Parse();
        });
  }

  void SendStreamed(rpc::HttpResponse answer) {
    std::ranges::move(std::get<StreamBody>(action_).headers, std::back_inserter(answer.headers));
    Send(std::move(answer));
  }

  // True if all heads and bodies together are too large and this one was refused.
  bool RefuseTooMuch() {
    if (!AreTooMuch()) return false;
    // A body that is passed on needs no room.
    const bool is_streamed = std::holds_alternative<StreamBody>(action_);
    if (is_streamed && held_bytes_ == 0) return false;
    Refuse();
    return true;
  }

  // Bytes behind the head are of the body.
  bool IsLargeHead() const {
    const std::size_t unparsed = parser_->head_done() ? 0 : input_.size();
    return parser_->held_bytes() + unparsed > kUsualHeadBytes;
  }

  bool AreTooMuch() const {
    return server_->stats_.gathered_bytes > server_->options_.max_gathered_bytes;
  }

  void Refuse() {
    ++server_->stats_.bad_requests;
    rpc::HttpResponse refusal = HttpError(503, "too many requests");
    if (phase_ == Phase::kHead) {
      keep_alive_ = false;  // it may be followed by the rest of the head, or by a body
      ForgetHead();
      Send(std::move(refusal));
    } else if (std::holds_alternative<StreamBody>(action_)) {
      SendStreamed(std::move(refusal));
    } else {
      Send(std::move(refusal));
    }
  }

  void Send(rpc::HttpResponse response) {
    const bool is_whole = parser_->done();
    const bool keep = keep_alive_ && is_whole && parser_->head_done();
    const bool head_only = parser_->head().method == "HEAD";
    phase_ = Phase::kAnswering;
    ReleaseBody();
    action_ = {};
    ArmTimer(server_->options_.body_timeout);
    socket_->Write(EncodeAnswer(std::move(response), keep, head_only),
                   [self = shared_from_this(), keep, is_whole](const Result<std::size_t>& sent) {
                     if (self->server_ == nullptr) return;
                     if (!sent.has_value() || (!keep && is_whole)) return self->Close();
                     if (!keep) return self->Linger();
                     self->BeginRequest(self->server_->options_.idle_timeout);
                     if (self->input_.empty()) return self->Read();
                     self->Parse();
                   });
  }

  void Linger() {
    phase_ = Phase::kLingering;
    socket_->CloseWriting();
    ArmTimer(kLingerTime);
    Read();
  }

  void TakeOverConnection() {
    phase_ = Phase::kAnswering;
    timer_.Disarm();
    auto take = std::move(std::get<TakeConnection>(action_));
    socket_->Write(EncodeStreamAnswer(take.headers),
                   [self = shared_from_this(),
                    taker = std::move(take.taker)](const Result<std::size_t>& sent) {
                     if (self->server_ == nullptr) return;
                     if (!sent.has_value()) return self->Close();
                     auto socket = std::move(self->socket_);
                     self->Close();
                     taker(std::move(socket));
                   });
  }

  // The head, and what has come and is not parsed yet.
  void CountHead() {
    const std::size_t bytes = input_.size() + parser_->held_bytes();
    if (bytes == head_bytes_) return;
    server_->stats_.gathered_bytes += bytes;
    server_->stats_.gathered_bytes -= std::exchange(head_bytes_, bytes);
  }
  void ForgetHead() {
    input_ = std::string();
    MakeParser();
    CountHead();
  }
  void CountBody(std::size_t bytes) {
    counted_bytes_ += bytes;
    server_->stats_.gathered_bytes += bytes;
  }
  void CountHeld(std::size_t bytes) {
    server_->stats_.gathered_bytes += bytes;
    server_->stats_.gathered_bytes -= std::exchange(held_bytes_, bytes);
  }
  void ReleaseBody() {
    if (server_ != nullptr) server_->stats_.gathered_bytes -= counted_bytes_ + held_bytes_;
    counted_bytes_ = 0;
    held_bytes_ = 0;
    body_.clear();
  }

  void Release() {
    ReleaseBody();
    if (server_ != nullptr) server_->stats_.gathered_bytes -= std::exchange(head_bytes_, 0);
  }

  PeerServer* server_;  // null when closed
  std::unique_ptr<PeerSocket> socket_;
  PeerTimer timer_;
  std::vector<char> buffer_;
  std::string input_;  // received and not parsed yet
  std::unique_ptr<rpc::Http1Parser> parser_;
  std::string body_;
  std::size_t head_bytes_ = 0;     // counted of input_ and parser_
  std::size_t counted_bytes_ = 0;  // of body_
  std::size_t held_bytes_ = 0;     // by the receiver
  std::size_t lingered_bytes_ = 0;
  TimePoint deadline_;           // of the message
  bool has_time_limit_ = false;  // that the deadline is
  decltype(RequestPlan::action) action_;
  Phase phase_ = Phase::kHead;
  bool is_first_ = true;
  bool is_reading_ = false;
  bool keep_alive_ = false;
  bool is_from_member_ = false;
};

PeerServer::PeerServer(PeerLoop& loop, PeerServerOptions options)
    : loop_(loop), options_(options) {}

PeerServer::~PeerServer() { Close(); }

Result<std::string> PeerServer::Bind(const Url& url) {
  KV_TRY(auto listener, PeerListener::Bind(loop_, url, options_.port_use));
  listeners_.push_back(std::move(listener));
  return listeners_.back()->address();
}

Result<std::string> PeerServer::BindTls(const Url& url, PeerLoop& handshake_loop,
                                        const PeerTls& tls) {
  KV_TRY(auto listener, TlsListener::Bind(loop_, handshake_loop, url, tls, stats_.rejected,
                                          stats_.handshakes, options_.port_use));
  listeners_.push_back(std::move(listener));
  return listeners_.back()->address();
}

Result<void> PeerServer::Listen() {
  for (auto& listener : listeners_) KV_RETURN_IF_ERROR(listener->Listen());
  return {};
}

void PeerServer::Start(Handler handler) {
  handler_ = std::move(handler);
  for (auto& listener : listeners_) {
    listener->Start([this](std::unique_ptr<PeerSocket> socket) { Accept(std::move(socket)); });
  }
}

void PeerServer::Close() {
  for (auto& listener : listeners_) listener->Close();
  while (!sessions_.empty()) sessions_.front()->Close();
}

void PeerServer::Accept(std::unique_ptr<PeerSocket> socket) {
  ++stats_.accepted;
  if (sessions_.size() >= options_.max_connections) {
    ++stats_.evicted;
    const auto stranger = std::ranges::find_if(
        sessions_, [](const auto& session) { return !session->is_from_member(); });
    if (stranger == sessions_.end()) return;
    (*stranger)->Close();
  }
  sessions_.push_back(std::make_shared<Session>(*this, std::move(socket)));
  stats_.open = sessions_.size();
  sessions_.back()->Start();
}

void PeerServer::Forget(Session& session) {
  std::erase_if(sessions_, [&](const auto& each) { return each.get() == &session; });
  stats_.open = sessions_.size();
}

}  // namespace kvorum::server
