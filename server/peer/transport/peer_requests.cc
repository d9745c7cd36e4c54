#include "server/peer/transport/peer_requests.h"

#include <utility>

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

std::unexpected<Error> Lost(std::string_view why) {
  return Fail(Code::kUnavailable, std::string(why));
}

}  // namespace

PeerRequests::~PeerRequests() {
  for (Connection& connection : connections_) {
    connection.client.reset();
    if (connection.done != nullptr) connection.done(Lost("the peer is gone"));
  }
  for (Request& request : waiting_) request.done(Lost("the peer is gone"));
  waiting_count_.store(0, std::memory_order_relaxed);
}

void PeerRequests::Post(std::string path, SharedBytes body, Duration timeout,
                        PeerPoster::Done done) {
  if (waiting_.size() >= kMaxWaiting) return done(Lost("too many requests to this peer wait"));
  waiting_.push_back({.path = std::move(path),
                      .body = std::move(body),
                      .deadline = links_.loop.clock().Now() + timeout,
                      .done = std::move(done)});
  Next();
}

void PeerRequests::Next() {
  for (Connection& connection : connections_) {
    while (connection.done == nullptr && !waiting_.empty()) {
      Request request = std::move(waiting_.front());
      waiting_.pop_front();
      if (connection.client == nullptr)
        connection.client = std::make_unique<HttpClient>(links_.dialer, kMaxAnswerBytes);
      Ask(connection, std::move(request));
    }
  }
  waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
}

void PeerRequests::Ask(Connection& connection, Request request) {
  const Url& url = urls_.current();
  const Duration timeout = request.deadline - links_.loop.clock().Now();
  if (timeout <= Duration::zero()) return request.done(Lost("no answer in time"));
  ByteChain bytes = {
      SharedBytes::Own(RequestHead(links_.identity, "POST", HostOf(url), request.path,
                                   "Content-Type: application/protobuf\r\nContent-Length: " +
                                       std::to_string(request.body.size()) + "\r\n")),
      std::move(request.body)};
  connection.done = std::move(request.done);
  connection.client->Ask(
      url, std::move(bytes), timeout,
      [this, &connection, text = url.text()](Result<HttpReceived> answer) {
        PeerPoster::Done done = std::exchange(connection.done, nullptr);
        if (!answer.has_value()) urls_.Failed(text);
        // Start another one first: `done` may add more.
        Next();
        if (!answer.has_value()) return done(std::unexpected(std::move(answer).error()));
        done(PeerPoster::Answer{.status = answer->head.status, .body = std::move(answer->body)});
      });
}

}  // namespace kvorum::server
