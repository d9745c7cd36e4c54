#include "server/peer/streams/pipeline.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/check.h"
#include "base/log/logging.h"

namespace kvorum::server {

Pipeline::Pipeline(PeerLinks& links, raft::MemberId peer, PeerUrls& urls, Hooks hooks)
    : links_(links),
      peer_(peer),
      urls_(urls),
      hooks_(std::move(hooks)),
      waiting_count_(links.metrics[peer].waiting_posts) {
  for (auto& client : clients_) client = std::make_unique<HttpClient>(links.dialer);
}

bool Pipeline::Push(raft::Message message) {
  if (waiting_.size() >= kMaxWaiting) return false;
  waiting_.push_back(std::move(message));
  Next();
  return true;
}

void Pipeline::Next() {
  for (auto& client : clients_) {
    if (waiting_.empty()) break;
    if (client->is_busy()) continue;
    const raft::Message message = std::move(waiting_.front());
    waiting_.pop_front();
    Post(*client, message);
  }
  waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
}

void Pipeline::Post(HttpClient& client, const raft::Message& message) {
  const Url& url = urls_.current();
  ByteChain body = raft::EncodeChain(message);
  const std::size_t size_bytes = SizeBytes(body);
  ByteChain request = {SharedBytes::Own(RequestHead(
      links_.identity, "POST", HostOf(url), kPipelinePath,
      "Content-Type: application/protobuf\r\nContent-Length: " + std::to_string(size_bytes) +
          "\r\n"))};
  std::ranges::move(body, std::back_inserter(request));
  client.Ask(
      url, std::move(request), links_.options.answer_timeout,
      [this, size_bytes, text = url.text()](const Result<HttpReceived>& answer) {
        if (answer.has_value() && answer->head.status == 204) {
          links_.counters.sent_messages.fetch_add(1, std::memory_order_relaxed);
          links_.counters.sent_bytes.fetch_add(size_bytes, std::memory_order_relaxed);
          links_.metrics[peer_].sent_bytes.Add(size_bytes);
          hooks_.on_written();
          return Next();
        }
        links_.counters.dropped_messages.fetch_add(1, std::memory_order_relaxed);
        links_.metrics[peer_].send_failures.Add();
        urls_.Failed(text);
        const bool was_answered = answer.has_value();
        if (was_answered && SaysRemoved(answer->head, answer->body, links_.identity.cluster_id))
          links_.on_removed();
        LogLimit& failures = hooks_.is_member() ? failures_ : links_.stranger_failures;
        if (failures.Allows(links_.loop.clock().Now())) {
          KV_WARN("cannot post a message to a peer", {"peer", IdText(peer_)}, {"url", text},
                  {"error", was_answered ? "status " + std::to_string(answer->head.status)
                                         : answer.error().message},
                  {"failures-so-far", failures.count()});
        }
        hooks_.on_lost();
        Next();
      });
}

void Pipeline::CheckInvariants() const {
  KV_CHECK(waiting_.size() <= kMaxWaiting, "more posts wait than may");
  KV_CHECK(waiting_count_.load(std::memory_order_relaxed) == waiting_.size(),
           "another number of waiting posts is shown");
  const bool all_busy =
      std::ranges::all_of(clients_, [](const auto& client) { return client->is_busy(); });
  KV_CHECK(waiting_.empty() || all_busy, "a post waits beside an idle connection");
}

}  // namespace kvorum::server
