#include "server/services/unimplemented.h"

#include <string>
#include <utility>

#include "server/call/api.h"
#include "server/call/method_registrar.h"

namespace kvorum::server {
namespace {

Error NotImplemented(std::string_view method) {
  return {Code::kUnimplemented, "method " + std::string(method) + " not implemented"};
}

}  // namespace

void RegisterUnimplemented(rpc::Router& router, ServiceContext& context) {
  MethodRegistrar methods(router, context);
  methods.AddStream(api::kSnapshot, [](std::shared_ptr<rpc::ServerStream> stream) {
    stream->Finish(NotImplemented(api::kSnapshot.name));
  });
}

}  // namespace kvorum::server
