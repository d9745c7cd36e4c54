// kvorumpb.Replica/Reseed: its messages are empty, so that it needs no definitions.
#include <grpcpp/generic/generic_stub.h>

#include <future>

#include "client/caller.h"
#include "client/client.h"

namespace kvorum::client {

Result<void> Client::Reseed(const CallOptions& call) {
  return caller_->Try(
      call, Repeat::kWrite, [](Connection& connection, grpc::ClientContext* context) {
        const grpc::Slice nothing;
        const grpc::ByteBuffer request(&nothing, 1);
        grpc::ByteBuffer response;
        std::promise<grpc::Status> done;
        grpc::GenericStub(connection.channel)
            .UnaryCall(context, "/kvorumpb.Replica/Reseed", grpc::StubOptions(), &request,
                       &response, [&](grpc::Status status) { done.set_value(std::move(status)); });
        return done.get_future().get();
      });
}

}  // namespace kvorum::client
