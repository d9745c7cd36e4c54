#include "server/locks/local_watch.h"

#include <utility>

#include "api/event_fields.h"
#include "base/check.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMostNewsBytes = std::size_t{256} << 10;

// Decodes an mvccpb.Event.
LocalWatch::Event DecodeEvent(std::int64_t watch_id, std::string_view bytes) {
  LocalWatch::Event event{.watch_id = watch_id, .is_delete = false, .kv = {}};
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case watch::event_fields::kType:
        event.is_delete = reader.Varint() == watch::event_fields::kTypeDelete;
        break;
      case watch::event_fields::kKv:
        event.kv = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  KV_CHECK(reader.ok(), "an event of our own that cannot be read");
  return event;
}

}  // namespace

std::shared_ptr<LocalWatch> LocalWatch::Open(watch::Shard& shard, Callback callback) {
  const std::shared_ptr<LocalWatch> opened(new LocalWatch(shard, std::move(callback)));
  opened->stream_ = shard.Open(*opened);
  return opened;
}

std::int64_t LocalWatch::Add(watch::CreateRequest request) {
  request.watch_id = ++last_id_;
  stream_->Create(request);
  return last_id_;
}

void LocalWatch::Remove(std::int64_t watch_id) {
  removing_ = true;
  stream_->Cancel(watch_id);
  removing_ = false;
}

void LocalWatch::Resume() {
  paused_ = false;
  OnRoom();
}

void LocalWatch::Close() {
  stream_ = nullptr;
  callback_ = nullptr;
  news_ = {};
}

void LocalWatch::Send(const watch::Response& response, const watch::Body* events) {
  if (response.canceled && !removing_) news_.ended.push_back(response.watch_id);
  if (events == nullptr) return;
  const std::string joined = Join(events->parts);
  news_bytes_ += joined.size();
  wire::Reader reader(joined);  // elements of WatchResponse.events, and nothing else
  while (reader.Next()) news_.events.push_back(DecodeEvent(response.watch_id, reader.Bytes()));
}

bool LocalWatch::HasRoom() const {
  const bool room = !paused_ && news_bytes_ < kMostNewsBytes;
  if (!room) stream_waits_ = true;
  return room;
}

void LocalWatch::Flush() {
  if (posted_ || (news_.events.empty() && news_.ended.empty())) return;
  posted_ = true;
  executor_.Post([self = shared_from_this()] { self->Deliver(); });
}

void LocalWatch::Deliver() {
  posted_ = false;
  if (stream_ == nullptr) return;
  const News news = std::exchange(news_, {});
  news_bytes_ = 0;
  Callback callback = std::exchange(callback_, nullptr);  // it may close this
  callback(news);
  if (stream_ == nullptr) return;
  callback_ = std::move(callback);
  OnRoom();
}

void LocalWatch::OnRoom() {
  if (stream_ == nullptr || paused_ || !std::exchange(stream_waits_, false)) return;
  stream_->OnRoom();
}

}  // namespace kvorum::server
