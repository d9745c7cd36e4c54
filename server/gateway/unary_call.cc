#include "server/gateway/unary_call.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/api_errors.h"
#include "rpc/call/grpc_protocol.h"
#include "server/call/reads.h"
#include "server/gateway/http_errors.h"
#include "server/gateway/json_answer.h"

namespace kvorum::server::gateway {
namespace {

// The conversion of more goes where reads of that size do (see server/services/kv/read_cost.h).
constexpr std::size_t kMaxBytesOnLoop = std::size_t{64} << 10;
constexpr std::size_t kMaxBytesOfPage = std::size_t{1} << 20;

}  // namespace

// Runs the task on the call's loop, at once if this is it.
template <class Task>
void UnaryCall::OnLoop(Task task) {
  if (OnOwnLoop()) return task(*this);
  io().Post([self = Self(), task = std::move(task)]() mutable { task(*self); });
}

void UnaryCall::Run() {
  auto message = ReadOnlyMessage();
  if (!message.has_value()) return GatewayCall::Refuse(message.error());
  CountReceived(message->size());
  OnStart();
  if (message->size() > parts().max_message_bytes)
    return Refuse(rpc::MessageSizeError(message->size(), parts().max_message_bytes));
  if (message->size() >= AnswerMemory::kStepBytes) CountHeld(message->size());
  method().unary(context(), *std::move(message), rpc::UnaryReply(Self()));
}

void UnaryCall::Complete(Error status, SharedBytes first, ByteChain rest) {
  OnLoop([status = std::move(status), first = std::move(first),
          rest = std::move(rest)](UnaryCall& call) mutable {
    if (call.answered_) return;
    if (status.code != Code::kOk) return call.Refuse(status);
    call.answer_.begun.bytes.push_back(std::move(first));
    std::ranges::move(rest, std::back_inserter(call.answer_.begun.bytes));
    call.Convert();
  });
}

void UnaryCall::CompleteLarge(rpc::LargeAnswer answer) {
  OnLoop([answer = std::move(answer)](UnaryCall& call) mutable {
    if (call.answered_) return;
    call.answer_ = std::move(answer);
    if (call.Reserve(call.answer_.rest_bytes)) call.Gather();
  });
}

bool UnaryCall::Reserve(std::size_t bytes) {
  AnswerMemory* const memory = &parts().reads->answers;
  if (memory == nullptr) return true;
  if (held_.bytes() == 0) held_ = AnswerMemory::Reservation(memory);
  if (held_.Grow(bytes)) return true;
  Refuse(kErrAnswersFull.ToError());
  return false;
}

void UnaryCall::Gather() {
  if (answer_.rest_bytes == 0 || answer_.rest == nullptr) return Convert();
  answer_.rest->MakeNext([self = Self()](Result<rpc::AnswerPiece> piece) mutable {
    self->io().Post(
        [self, piece = std::move(piece)]() mutable { self->TakePiece(std::move(piece)); });
  });
}

void UnaryCall::TakePiece(Result<rpc::AnswerPiece> piece) {
  if (answered_) return;
  if (!piece.has_value()) return Refuse(piece.error());
  answer_.rest_bytes -= std::min(answer_.rest_bytes, SizeBytes(piece->bytes));
  std::ranges::move(piece->bytes, std::back_inserter(answer_.begun.bytes));
  Gather();
}

void UnaryCall::Convert() {
  const std::size_t size_bytes = SizeBytes(answer_.begun.bytes);
  CountSent(size_bytes);
  // Base64 takes four thirds; the names of fields take more where values are short.
  const std::size_t json_bytes = 2 * size_bytes;
  if (size_bytes >= AnswerMemory::kStepBytes && !Reserve(json_bytes)) return;
  const auto convert = [table = route().response](const ByteChain& message) {
    return message.size() == 1 ? JsonAnswer(*table, message.front().view())
                               : JsonAnswer(*table, Join(message));
  };
  const ServiceExecutors& executors = parts().reads->executors;
  if (size_bytes <= kMaxBytesOnLoop || executors.readers == nullptr)
    return Send(convert(std::exchange(answer_.begun.bytes, {})));
  Executor& elsewhere =
      size_bytes <= kMaxBytesOfPage ? executors.PagesOf(context()->loop()) : *executors.readers;
  elsewhere.Post([self = Self(), convert, message = std::exchange(answer_.begun.bytes, {})] {
    self->io().Post([self, json = convert(message)]() mutable { self->Send(std::move(json)); });
  });
}

void UnaryCall::Send(std::string json) {
  if (answered_) return;
  if (json.size() > held_.bytes() && held_.bytes() > 0 && !Reserve(json.size() - held_.bytes()))
    return;
  answered_ = true;
  OnOutcome({Code::kOk, {}});
  rpc::HttpResponse response = rpc::HttpResponse::Json(200, std::move(json));
  response.headers.push_back({"Grpc-Metadata-Content-Type", "application/grpc"});
  reply().Send(std::move(response));
  answer_ = {};
  held_.Release();
}

void UnaryCall::Refuse(const Error& error) {
  answered_ = true;
  OnOutcome(error);
  reply().Send(ErrorResponse(error));
  answer_ = {};
  held_.Release();
}

void UnaryCall::End(const Error& reason) {
  if (answered_) return;
  const auto keep = shared_from_this();
  context()->Cancel(reason);
  if (!answered_) Refuse(reason);
}

}  // namespace kvorum::server::gateway
