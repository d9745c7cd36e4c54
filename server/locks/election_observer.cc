#include "server/locks/election_observer.h"

#include <utility>

#include "api/lock_messages.h"
#include "base/check.h"
#include "mvcc/records/key_value.h"
#include "server/call/cluster_facts.h"

namespace kvorum::server {
ElectionObserver::ElectionObserver(LocalClient& client, std::shared_ptr<rpc::ServerStream> stream,
                                   std::string_view name)
    : client_(client), stream_(std::move(stream)), queue_(QueuePrefix(name)) {}

void ElectionObserver::Start() {
  stream_->context().OnCancel([self = shared_from_this()](const Error&) { self->End(); });
  if (stream_ == nullptr) return;
  watch_ = LocalWatch::Open(client_.ShardOf(stream_->context()),
                            [weak = weak_from_this()](const LocalWatch::News& news) {
                              if (const auto self = weak.lock()) self->OnNews(news);
                            });
  FindLeader();
}

void ElectionObserver::FindLeader() {
  if (watch_id_ != 0) watch_->Remove(std::exchange(watch_id_, 0));
  client_.Range(stream_->context(), FindOldest(queue_),
                [self = shared_from_this()](const Result<LocalRangeAnswer>& oldest) {
                  self->OnFound(oldest);
                });
}

void ElectionObserver::OnFound(const Result<LocalRangeAnswer>& oldest) {
  if (stream_ == nullptr) return;
  if (!oldest.has_value()) {
    stream_->Finish(oldest.error());
    return End();
  }
  if (oldest->response.rows.empty()) {
    has_leader_ = false;
    return Watch(queue_.prefix, queue_.end, oldest->header.revision + 1);
  }
  const std::string_view row = oldest->response.rows[0];
  const auto kv = mvcc::DecodeKeyValue(row);
  if (!kv.has_value()) {
    stream_->Finish(kv.error());
    return End();
  }
  Say(EncodeLeaderResponse(oldest->header, row));
  has_leader_ = true;
  Watch(kv->key, {}, oldest->header.revision + 1);
}

void ElectionObserver::Watch(std::string_view key, std::string_view range_end,
                             std::int64_t from_revision) {
  watch_id_ = watch_->Add({.key = key, .range_end = range_end, .start_revision = from_revision});
}

void ElectionObserver::OnNews(const LocalWatch::News& news) {
  for (const LocalWatch::Event& event : news.events) {
    if (event.watch_id == watch_id_ && !OnEvent(event)) return;
  }
  for (const std::int64_t ended : news.ended) {
    if (ended == watch_id_) return FindLeader();
  }
}

bool ElectionObserver::OnEvent(const LocalWatch::Event& event) {
  if (event.is_delete) {
    if (!has_leader_) return true;
    FindLeader();
    return false;
  }
  const auto kv = mvcc::DecodeKeyValue(event.kv);
  KV_CHECK(kv.has_value(), "an event of our own that cannot be read");
  Say(EncodeLeaderResponse(client_.cluster().Header(kv->mod_revision), event.kv));
  if (has_leader_) return true;
  // It is the first of the candidates.
  has_leader_ = true;
  watch_->Remove(watch_id_);
  Watch(kv->key, {}, kv->mod_revision + 1);
  return false;
}

void ElectionObserver::Say(SharedBytes message) {
  unsent_.push_back(std::move(message));
  watch_->Pause();
  if (!sending_) SendNext();
}

void ElectionObserver::SendNext() {
  if (unsent_.empty()) return watch_->Resume();
  sending_ = true;
  ByteChain message;
  message.push_back(std::move(unsent_.front()));
  unsent_.pop_front();
  stream_->Write(std::move(message), [self = shared_from_this()](const Result<void>& sent) {
    self->sending_ = false;
    if (self->stream_ != nullptr && sent.has_value()) self->SendNext();
  });
}

void ElectionObserver::End() {
  if (watch_ != nullptr) watch_->Close();
  stream_ = nullptr;
  unsent_.clear();
}

}  // namespace kvorum::server
