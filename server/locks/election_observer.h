// One Observe call: reports the leader, each value that it proclaims, then the next leader. Values
// proclaimed before the observer got to them may be skipped; the latest is not.
//
// Used on the executor of its call's shard. It owns itself through the call, until that is
// cancelled or over. Bound: while a message waits for the client nothing more is taken except
// events already under way; the watch lags, and catches up from the store. When even that is
// compacted, it looks for the leader again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "rpc/call/service.h"
#include "server/locks/local_client.h"
#include "server/locks/local_watch.h"
#include "server/locks/queue_requests.h"

namespace kvorum::server {

class ElectionObserver final : public std::enable_shared_from_this<ElectionObserver> {
 public:
  // The client outlives it.
  ElectionObserver(LocalClient& client, std::shared_ptr<rpc::ServerStream> stream,
                   std::string_view name);
  void Start();

 private:
  void FindLeader();
  void OnFound(const Result<LocalRangeAnswer>& oldest);
  void Watch(std::string_view key, std::string_view range_end, std::int64_t from_revision);
  void OnNews(const LocalWatch::News& news);
  // Returns false if it was the last event of the watch.
  bool OnEvent(const LocalWatch::Event& event);
  void Say(SharedBytes message);
  void SendNext();
  void End();

  LocalClient& client_;
  std::shared_ptr<rpc::ServerStream> stream_;  // null at the end
  const QueueRange queue_;
  std::shared_ptr<LocalWatch> watch_;
  std::int64_t watch_id_ = 0;  // 0: while it looks for the leader
  bool has_leader_ = false;    // the watch is of its key, not of all candidates
  std::deque<SharedBytes> unsent_;
  bool sending_ = false;
};

}  // namespace kvorum::server
