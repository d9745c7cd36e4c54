// What a Watch needs of the client that made it. Internal to client/.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>

#include "client/client.h"
#include "client/connections.h"
#include "client/watch.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

class Watch::Impl {
 public:
  using Stream = grpc::ClientReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  // Puts the call's metadata into a context.
  using Prepare = std::function<void(grpc::ClientContext& context)>;

  Impl(Connections& connections, etcdserverpb::WatchCreateRequest request, Prepare prepare)
      : connections_(connections), request_(std::move(request)), prepare_(std::move(prepare)) {}

  Result<void> Run(const OnResponse& on_response);
  void RequestProgress();
  void Cancel();

 private:
  enum class End { kCanceledByServer, kBroken };
  // One stream until it ends.
  Result<End> RunStream(const OnResponse& on_response);
  Result<End> ReadAll(Stream& stream, const OnResponse& on_response);
  // Where to go on after this response.
  void Advance(const etcdserverpb::WatchResponse& response);
  bool Begin(Connection& connection, grpc::ClientContext& context);
  grpc::Status Finish();
  bool cancelled();

  Connections& connections_;
  etcdserverpb::WatchCreateRequest request_;  // its start_revision moves on
  const Prepare prepare_;
  bool was_created_ = false;

  std::mutex mutex_;  // guards what follows
  bool cancelled_ = false;
  grpc::ClientContext* context_ = nullptr;  // of the stream that stands
  std::unique_ptr<Stream> stream_;
};

}  // namespace kvorum::client
