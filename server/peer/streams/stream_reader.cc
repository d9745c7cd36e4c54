#include "server/peer/streams/stream_reader.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "rpc/http/http1_parser.h"
#include "server/peer/io/http_answer.h"
#include "server/peer/io/incarnation.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kStreamReadBytes = std::size_t{128} << 10;

}  // namespace

struct StreamReader::Connection {
  explicit Connection(StreamReader* reader)
      : owner(reader),
        parser(rpc::Http1Parser::Kind::kResponse, kMaxAnswerHeadBytes),
        buffer(kStreamReadBytes) {}

  StreamReader* owner;  // null once it is closed
  std::string url;
  std::unique_ptr<PeerSocket> socket;
  rpc::Http1Parser parser;
  std::vector<char> buffer;
  std::string input;                       // of the head
  std::string body;                        // of a refusal, or the decoded content of chunks
  std::string chunk_rest;                  // of an etcd member's stream, which comes in chunks
  std::unique_ptr<StreamDecoder> decoder;  // once the peer has agreed
};

StreamReader::StreamReader(PeerLinks& links, raft::MemberId peer, StreamKind kind, PeerUrls& urls,
                           Hooks hooks)
    : links_(links),
      peer_(peer),
      kind_(kind),
      urls_(urls),
      hooks_(std::move(hooks)),
      timer_(links.loop),
      pause_(links.options.first_redial) {
  Dial();
}

StreamReader::~StreamReader() { Close(); }

bool StreamReader::stands() const {
  return connection_ != nullptr && connection_->decoder != nullptr;
}

// A peer that calls and refuses our stream is not dialled more often than with the shortest pause.
void StreamReader::Hurry() {
  pause_ = links_.options.first_redial;
  if (connection_ != nullptr) return;
  const TimePoint now = links_.loop.clock().Now();
  const TimePoint soonest = std::max(now, dialled_at_ + pause_);
  if (soonest < redial_at_) DialAt(soonest, now);
}

void StreamReader::DialAt(TimePoint when, TimePoint now) {
  redial_at_ = when;
  timer_.Arm(when - now, [this] { Dial(); });
}

void StreamReader::Dial() {
  dialled_at_ = links_.loop.clock().Now();
  connection_ = std::make_shared<Connection>(this);
  const Url& url = urls_.current();
  connection_->url = url.text();
  links_.dialer.Dial(url, links_.options.dial_timeout,
                     [connection = connection_](Result<std::unique_ptr<PeerSocket>> socket) {
                       if (connection->owner == nullptr) return;
                       if (!socket.has_value()) return connection->owner->Failed(socket.error());
                       connection->owner->OnDialed(*std::move(socket));
                     });
}

void StreamReader::OnDialed(std::unique_ptr<PeerSocket> socket) {
  connection_->socket = std::move(socket);
  std::string path(kStreamPrefix);
  path.append(PathName(kind_)).append("/").append(IdText(links_.identity.member_id));
  std::string head = RequestHead(links_.identity, "GET", HostOf(urls_.current()), path,
                                 "X-Raft-To: " + IdText(peer_) + "\r\n");
  connection_->socket->Write({SharedBytes::Own(std::move(head))},
                             [connection = connection_](const Result<std::size_t>& sent) {
                               if (connection->owner != nullptr && !sent.has_value())
                                 connection->owner->Failed(sent.error());
                             });
  Read();
}

void StreamReader::Read() {
  timer_.Arm(links_.options.read_timeout,
             [this] { Failed({Code::kUnavailable, "nothing was heard in time"}); });
  connection_->socket->Read(connection_->buffer,
                            [connection = connection_](const Result<std::size_t>& bytes) {
                              if (connection->owner == nullptr) return;
                              if (!bytes.has_value())
                                return connection->owner->Failed(bytes.error());
                              connection->owner->OnRead(*bytes);
                            });
}

void StreamReader::OnRead(std::size_t bytes) {
  const auto connection = connection_;  // a delivered message may end it
  std::string_view input(connection->buffer.data(), bytes);
  Result<void> taken;
  if (connection->decoder == nullptr) {
    connection->input.append(input);
    std::size_t used = 0;
    taken = TakeHead(used);
    input = std::string_view(connection->input).substr(used);
  }
  if (taken.has_value() && connection->decoder != nullptr) taken = TakeBody(input);
  if (connection->owner == nullptr) return;
  if (!taken.has_value()) return Failed(taken.error());
  Read();
}

// Parses the head of the answer, and the body of a refusal.
Result<void> StreamReader::TakeHead(std::size_t& used) {
  Connection& connection = *connection_;
  KV_TRY(used, connection.parser.Put(connection.input, connection.body));
  if (!connection.parser.head_done()) {
    connection.input.erase(0, std::exchange(used, 0));
    return {};
  }
  if (connection.parser.head().status == 200) return OnAnswer();
  KV_TRY(const std::size_t more,
         connection.parser.Put(std::string_view(connection.input).substr(used), connection.body));
  connection.input.erase(0, std::exchange(used, 0) + more);
  if (!connection.parser.done() && connection.body.size() < kMaxRefusalBytes) return {};
  const rpc::HttpHead& head = connection.parser.head();
  std::string text = connection.body.substr(0, 200);
  while (text.ends_with('\n')) text.pop_back();
  if (SaysRemoved(head, text, links_.identity.cluster_id)) links_.on_removed();
  IncarnationGuard* guard = links_.identity.incarnations;
  if (guard != nullptr && !head.Header("x-kvorum-data-lost").empty())
    guard->ToldOfLoss(peer_, head.Header("x-kvorum-incarnation"));
  return Fail(Code::kFailedPrecondition,
              "refused: " + std::to_string(head.status) + " " + std::move(text));
}

Result<void> StreamReader::OnAnswer() {
  IncarnationGuard* guard = links_.identity.incarnations;
  if (guard != nullptr &&
      !guard->Admits(peer_, connection_->parser.head().Header("x-kvorum-incarnation"),
                     IncarnationGuard::Told::kByItsUrl)) {
    return Fail(
        Code::kFailedPrecondition,
        "it has lost data: its data directory is another one than before, or an older copy");
  }
  connection_->decoder = StreamDecoder::Create(kind_, links_.identity.member_id, peer_,
                                               links_.options.max_frame_bytes);
  pause_ = links_.options.first_redial;
  KV_INFO("opened a stream at a peer", {"peer", IdText(peer_)}, {"stream", PathName(kind_)},
          {"url", connection_->url});
  hooks_.on_state(true);
  return {};
}

Result<void> StreamReader::TakeBody(std::string_view bytes) {
  Connection& connection = *connection_;
  links_.counters.received_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
  links_.metrics[peer_].received_bytes.Add(bytes.size());
  if (connection.parser.head().chunked) {
    std::string input = connection.chunk_rest.append(bytes);
    connection.body.clear();
    KV_TRY(const std::size_t used, connection.parser.Put(input, connection.body));
    connection.chunk_rest = input.substr(used);
    if (connection.chunk_rest.size() > kMaxAnswerHeadBytes || connection.parser.done())
      return Fail(Code::kUnavailable, "the stream has ended");
    bytes = connection.body;
  }
  std::vector<raft::Message> messages;
  Result<void> fed = connection.decoder->Feed(bytes, messages);
  if (!fed.has_value()) links_.counters.broken_frames.fetch_add(1, std::memory_order_relaxed);
  KV_FAILPOINT_RETURN("raftDropHeartbeat", text) {
    static_cast<void>(text);
    return fed;
  }
  if (!messages.empty()) hooks_.on_messages(std::move(messages));
  return fed;
}

void StreamReader::Failed(const Error& error) {
  const bool stood = stands();
  const std::string url = connection_->url;
  Close();
  if (stood) links_.metrics[peer_].receive_failures.Add();
  urls_.Failed(url);
  if (failures_.Allows(links_.loop.clock().Now()) || stood) {
    KV_WARN(stood ? "lost the stream at a peer" : "cannot open a stream at a peer",
            {"peer", IdText(peer_)}, {"stream", PathName(kind_)}, {"url", url},
            {"error", error.message}, {"failures-so-far", failures_.count()});
  }
  const TimePoint now = links_.loop.clock().Now();
  DialAt(now + pause_, now);
  pause_ = std::min(pause_ * 3 / 2, links_.options.last_redial);
}

void StreamReader::Close() {
  timer_.Disarm();
  if (connection_ == nullptr) return;
  const bool stood = stands();
  connection_->owner = nullptr;
  if (connection_->socket != nullptr) connection_->socket->Close();
  connection_.reset();
  if (stood) hooks_.on_state(false);
}

}  // namespace kvorum::server
