#include "server/gateway/gateway_call.h"

#include <algorithm>
#include <utility>

#include "base/answer_memory.h"
#include "base/api_errors.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/http/http_input.h"
#include "rpc/io/loop.h"
#include "server/call/reads.h"
#include "server/gateway/call_headers.h"
#include "server/gateway/http_errors.h"
#include "server/gateway/json_request.h"
#include "server/gateway/json_values.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::size_t kMaxValueBytes = std::size_t{8} << 20;

Executor& ExecutorOf(const GatewayParts& parts, const rpc::HttpRequest& request) {
  if (request.loop != nullptr) return *request.loop;
  return *parts.reads->executors.timers;
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
      sink_(reply_.sink()),
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
  request_.headers = {};  // the call may last
  request_.target = {};
  if (const auto deadline = context_->deadline(); deadline.has_value()) {
    if (*deadline <= context_->started()) return Refuse(rpc::DeadlineError());
    if (request_.loop != nullptr) request_.loop->Arm(*this, *deadline);
  }
  reply_.OnGone([weak = weak_from_this(), &io = io_] {
    io.Post([weak] {
      const auto self = weak.lock();
      if (self != nullptr && self->begun_) self->End(rpc::CanceledError());
    });
  });
  if (request_.input != nullptr || !TakesOneMessage()) {
    values_.emplace(std::max(kMaxValueBytes, 2 * parts_.max_message_bytes));
    values_->Put(std::exchange(request_.body, {}).view());
    if (request_.input == nullptr) values_->End();
    CountHeld();
  }
  begun_ = !TakesOneMessage() || values_ == std::nullopt || AwaitValue();
  if (begun_) Run();
}

bool GatewayCall::AwaitValue() {
  if (values_->HasNext()) return true;
  if (std::exchange(reading_, true)) return false;
  request_.input->Read([self = shared_from_this()](Result<std::string> bytes) {
    self->TakeInput(std::move(bytes));
  });
  return false;
}

void GatewayCall::TakeInput(Result<std::string> bytes) {
  reading_ = false;
  if (!bytes.has_value()) return StopTimer();  // the client has left
  if (bytes->empty()) {
    values_->End();
  } else {
    values_->Put(*bytes);
  }
  CountHeld();
  if (IsTooMuch()) {
    const Error error = kErrAnswersFull.ToError();
    return std::exchange(begun_, true) ? End(error) : Refuse(error);
  }
  if (begun_) return OnInput();
  begun_ = AwaitValue();
  if (begun_) Run();
}

Result<std::optional<std::string>> GatewayCall::NextValue() {
  auto value = values_->Next();
  CountHeld();
  if (!value.has_value()) return Fail(Code::kInvalidArgument, std::move(value).error());
  return *std::move(value);
}

// So that others' answers find room, even if none of those who hold it has been cut off yet.
bool GatewayCall::IsTooMuch() const {
  const AnswerMemory* const memory = &parts_.reads->answers;
  return memory != nullptr && memory->exhausted() &&
         values_->held_bytes() >= AnswerMemory::kStepBytes;
}

void GatewayCall::CountHeld(std::size_t message_bytes) const {
  const std::size_t unread_bytes = values_.has_value() ? values_->held_bytes() : 0;
  if (const auto sink = sink_.lock()) sink->Hold(unread_bytes + message_bytes);
}

void GatewayCall::OnTimer() {
  const auto keep = shared_from_this();
  if (begun_) return End(rpc::DeadlineError());
  begun_ = true;
  Refuse(rpc::DeadlineError());
}

void GatewayCall::StopTimer() {
  if (request_.loop != nullptr && armed()) request_.loop->Disarm(*this);
}

void GatewayCall::Refuse(const Error& error) {
  StopTimer();
  reply_.Send(ErrorResponse(error));
}

Result<SharedBytes> GatewayCall::ReadOnlyMessage() {
  const auto read = [this](auto value) -> Result<SharedBytes> {
    if (!value.has_value()) return Fail(Code::kInvalidArgument, std::move(value).error());
    return value->has_value() ? EncodeMessage(**value) : SharedBytes();
  };
  if (!values_) {
    const SharedBytes body = std::exchange(request_.body, {});
    return read(JsonValues(body.view()).Next());
  }
  if (HasTooLargeValue())
    return std::unexpected(rpc::MessageSizeError(kMaxValueBytes, parts_.max_message_bytes));
  auto message = read(values_->Next());
  values_.reset();  // what follows it is not looked at
  return message;
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
  StopTimer();
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
