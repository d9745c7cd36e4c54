#include "server/gateway/gateway_call.h"

#include <utility>

#include "rpc/grpc_protocol.h"
#include "rpc/loop.h"
#include "server/gateway/call_headers.h"
#include "server/gateway/http_errors.h"
#include "server/gateway/json_request.h"
#include "server/gateway/json_values.h"

namespace kvorum::server::gateway {
namespace {

Executor& ExecutorOf(const GatewayParts& parts, const rpc::HttpRequest& request) {
  if (request.loop != nullptr) return *request.loop;
  return *parts.context->executors.timers;
}

}  // namespace

GatewayCall::GatewayCall(const GatewayParts& parts, const Route& route,
                         const rpc::Router::Method& method, rpc::HttpRequest request,
                         rpc::HttpReply reply)
    : parts_(parts),
      route_(route),
      method_(method),
      request_(std::move(request)),
      reply_(std::move(reply)),
      io_(ExecutorOf(parts, request_)) {
  context_->set_method(&method_.info);
  context_->set_peer(request_.peer);
  context_->set_loop(request_.loop);
  context_->set_started(Now());
}

TimePoint GatewayCall::Now() const {
  return request_.loop != nullptr ? request_.loop->now() : io_.clock().Now();
}

bool GatewayCall::OnOwnLoop() const { return rpc::Loop::Current() == request_.loop; }

void GatewayCall::Begin() {
  if (const auto read = ReadCallHeaders(request_, *context_); !read.has_value())
    return Refuse(read.error());
  if (const auto deadline = context_->deadline(); deadline.has_value()) {
    if (*deadline <= context_->started()) return Refuse(rpc::DeadlineError());
    if (request_.loop != nullptr) request_.loop->Arm(*this, *deadline);
  }
  reply_.OnGone([weak = weak_from_this(), &io = io_] {
    io.Post([weak] {
      if (const auto self = weak.lock(); self != nullptr) self->End(rpc::CanceledError());
    });
  });
  Run();
}

void GatewayCall::OnTimer() {
  const auto keep = shared_from_this();
  End(rpc::DeadlineError());
}

void GatewayCall::Refuse(const Error& error) {
  if (request_.loop != nullptr) request_.loop->Disarm(*this);
  reply_.Send(ErrorResponse(error));
}

Result<SharedBytes> GatewayCall::ReadOnlyMessage() const {
  auto value = JsonValues(body().view()).Next();
  if (!value.has_value()) return Fail(Code::kInvalidArgument, std::move(value).error());
  return value->has_value() ? EncodeMessage(**value) : SharedBytes();
}

Result<SharedBytes> GatewayCall::EncodeMessage(std::string_view value) const {
  KV_TRY(std::string message, EncodeJsonRequest(*route_.request, value));
  return SharedBytes::Own(std::move(message));
}

void GatewayCall::OnStart() {
  const rpc::Router& router = parts_.router();
  if (router.start_hook()) router.start_hook()(*context_);
}

void GatewayCall::OnOutcome(const Error& status) {
  if (request_.loop != nullptr) request_.loop->Disarm(*this);
  context_->Done();
  const rpc::Router& router = parts_.router();
  if (!router.end_hook()) return;
  router.end_hook()(*context_, {.code = status.code,
                                .message = status.message,
                                .duration = Now() - context_->started(),
                                .received_messages = received_messages_,
                                .received_bytes = received_bytes_,
                                .sent_messages = sent_messages_,
                                .sent_bytes = sent_bytes_});
}

}  // namespace kvorum::server::gateway
