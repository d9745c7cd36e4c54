// The parts of its client that a Watch needs. Internal to client/.
//
// Run belongs to one thread; RequestProgress and Cancel are for any.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <utility>

#include "client/caller.h"
#include "client/watch.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

class Watch::Impl {
 public:
  using Stream = grpc::ClientReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;

  Impl(Caller& caller, etcdserverpb::WatchCreateRequest request, bool require_leader)
      : caller_(caller), request_(std::move(request)), require_leader_(require_leader) {}

  Result<void> Run(const OnResponse& on_response);
  void RequestProgress();
  void Cancel();

 private:
  // A stream and its context, kept alive by each thread that writes to it.
  struct Standing {
    grpc::ClientContext context;
    // gRPC takes one write at a time. Held during the write, even while the member reads nothing:
    // the end of the stream, or its context's cancellation, ends the write.
    std::mutex writing;
    std::unique_ptr<Stream> stream;  // created by Run's thread under the lock
    bool takes_writes = false;       // guarded by it
  };

  enum class End { kCanceledByServer, kBroken, kTokenRefused };
  // One stream until it ends.
  Result<End> RunStream(const OnResponse& on_response);
  Result<End> ReadAll(Stream& stream, const Token& token, const OnResponse& on_response);
  // Decides whether another stream may succeed after the one that ended with this status.
  Result<End> Judge(const grpc::Status& status, const Token& token) const;
  Result<void> RenewToken(const Token& token);
  // Sets the position at which to resume after this response.
  void Advance(const etcdserverpb::WatchResponse& response);
  // Returns false if the watch was cancelled before.
  bool Begin(Connection& connection, const std::shared_ptr<Standing>& standing);
  grpc::Status Finish(Standing& standing);
  std::shared_ptr<Standing> Current();
  bool cancelled();

  Caller& caller_;
  etcdserverpb::WatchCreateRequest request_;  // its start_revision moves on
  const bool require_leader_;
  bool was_created_ = false;
  int renewals_ = 0;  // since a stream was accepted

  std::mutex mutex_;  // guards what follows; not held while gRPC is called
  bool cancelled_ = false;
  std::shared_ptr<Standing> standing_;  // null between two streams
};

}  // namespace kvorum::client
