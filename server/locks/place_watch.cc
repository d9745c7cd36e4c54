#include "server/locks/place_watch.h"

namespace kvorum::server {
namespace {

watch::CreateRequest WatchDeletion(const PlaceWatch::Known& known) {
  watch::CreateRequest request{.key = known.key, .start_revision = known.revision + 1};
  request.wanted.no_put = true;
  return request;
}

}  // namespace

void PlaceWatch::Follow(const Known& own, const Known& older) {
  if (own_id_ == 0) own_id_ = watch_->Add(WatchDeletion(own));
  if (older_id_ != 0) watch_->Remove(older_id_);
  older_id_ = watch_->Add(WatchDeletion(older));
}

bool PlaceWatch::Take(const LocalWatch::News& news) {
  bool older_is_gone = false;
  for (const LocalWatch::Event& event : news.events) {
    own_is_gone_ |= event.watch_id == own_id_;
    older_is_gone |= event.watch_id == older_id_;
  }
  for (const std::int64_t ended : news.ended) {
    if (ended == own_id_) own_id_ = 0;
    older_is_gone |= ended == older_id_;
  }
  return older_is_gone;
}

}  // namespace kvorum::server
