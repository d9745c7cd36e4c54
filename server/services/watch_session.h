// One Watch call: passes the client's requests to its stream of watchers, frames the stream's
// responses, and sends them as fast as the client reads.
//
// Used by the call's loop only. It owns itself through the call, until that is cancelled or over:
// the client may close its side and still get events.
//
// Bounds: events are taken while less than the window (ServiceLimits) waits to be sent (waiting
// slices count as the blocks of shared bytes that they keep in memory); the window may be exceeded
// by one message, and by the events read for the stream in one round. While it is full no request
// is read either, so answers to requests are bounded too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "rpc/service.h"
#include "server/call/service_context.h"
#include "watch/shard.h"
#include "watch/stream.h"

namespace kvorum::server {

class WatchSession final : public watch::StreamSink,
                           public std::enable_shared_from_this<WatchSession> {
 public:
  WatchSession(ServiceContext& context, std::shared_ptr<rpc::ServerStream> stream);
  void Start(watch::Shard& shard);

  // ---- watch::StreamSink ----
  void Send(const watch::Response& response, const watch::Body* events) override;
  bool HasRoom() const override;
  void Flush() override { SendPending(); }

 private:
  void ReadNext();
  void OnRequest(const Result<std::optional<SharedBytes>>& message);
  void Handle(const SharedBytes& bytes);
  void Create(const SharedBytes& bytes, const watch::CreateRequest& request);
  void GoOn();
  void SendPending();
  void OnSent(const Result<void>& sent);
  void OnRoom();
  void EndTail();
  void End();

  ServiceContext& context_;
  std::shared_ptr<rpc::ServerStream> stream_;  // null at the end
  std::unique_ptr<watch::Stream> watches_;

  // Responses not handed to the call yet: slices, then small bytes after them.
  ByteChain pending_;
  std::string tail_;
  std::size_t pending_messages_ = 0;
  std::size_t pending_bytes_ = 0;  // that it keeps in memory, like the next
  std::size_t sending_bytes_ = 0;
  bool sending_ = false;
  bool read_waits_ = false;            // for room
  mutable bool stream_waits_ = false;  // the stream of watchers was told that there is no room
};

}  // namespace kvorum::server
