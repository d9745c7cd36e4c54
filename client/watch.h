// A watch of one key or range on a stream of its own, which goes on at another endpoint after a
// lost connection, or with a new token where the old one is refused, from the revision after the
// last one it was given.
//
// Run blocks its thread; RequestProgress and Cancel may be called by any thread meanwhile, and
// Cancel before. The client that made it outlives it.
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
  // Takes each response whole, put together if it came in fragments. Created responses are given
  // for the first stream only. An error ends the watch with it.
  using OnResponse = std::function<Result<void>(const etcdserverpb::WatchResponse& response)>;

  class Impl;
  explicit Watch(std::unique_ptr<Impl> impl);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns when the server has canceled the watch (the last response given says so), when it was
  // cancelled here, or with an error that another endpoint would give as well, or `no leader` if a
  // leader was asked for.
  Result<void> Run(const OnResponse& on_response);
  // The answer comes like any response. Nothing if no stream stands. Waits while the member takes
  // nothing from us, until it does, the stream is lost or the watch cancelled.
  void RequestProgress();
  // Waits for nobody.
  void Cancel();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::client
