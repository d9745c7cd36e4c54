// A watch of one key or range on its own stream. After a lost connection it goes on at another
// endpoint, and after a refused token with a new one, from the revision after the last one that it
// delivered.
//
// Run blocks its thread; any thread may call RequestProgress and Cancel meanwhile, and Cancel
// before. The client that created the watch outlives it.
#pragma once

#include <functional>
#include <memory>

#include "base/error.h"

namespace etcdserverpb {
class WatchResponse;
}  // namespace etcdserverpb

namespace kvorum::client {

class Watch {
 public:
  // Receives each response whole, with fragments joined. Created responses are delivered for the
  // first stream only. An error ends the watch with it.
  using OnResponse = std::function<Result<void>(const etcdserverpb::WatchResponse& response)>;

  class Impl;
  explicit Watch(std::unique_ptr<Impl> impl);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns when the server has canceled the watch (the last response says so), when it was
  // cancelled here, or with an error that another endpoint would give as well, or `no leader` if a
  // leader was required.
  Result<void> Run(const OnResponse& on_response);
  // The answer comes like any response. Does nothing if there is no stream. Blocks while the member
  // reads nothing from us, until it does, the stream is lost or the watch is cancelled.
  void RequestProgress();
  // Never blocks.
  void Cancel();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::client
