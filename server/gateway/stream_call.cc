#include "server/gateway/stream_call.h"

#include <string>
#include <utility>

#include "rpc/call/grpc_protocol.h"
#include "server/gateway/http_errors.h"
#include "server/gateway/json_answer.h"

namespace kvorum::server::gateway {

// Its destruction without Finish ends the stream.
class StreamCall::Handle final : public rpc::ServerStream {
 public:
  explicit Handle(std::shared_ptr<StreamCall> call) : call_(std::move(call)) {}
  ~Handle() override { Handle::Finish(rpc::NoAnswerError()); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  rpc::CallContext& context() override { return *call_->context(); }
  void Read(ReadCallback callback) override {
    call_->operations_.Read(std::move(callback));
    call_->Push();
  }
  void Write(ByteChain message, WriteCallback callback) override {
    WriteFrames(std::move(message), /*messages=*/0, std::move(callback));
  }
  void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) override {
    call_->operations_.Write(std::move(frames), messages, std::move(callback));
    call_->Push();
  }
  std::size_t buffered_bytes() const override {
    return call_->unsent_bytes_.load(std::memory_order_relaxed);
  }
  void Finish(Error status) override {
    if (call_->operations_.Finish(std::move(status))) call_->Push();
  }
  void Cut(Error reason) override {
    if (call_->operations_.Cut(std::move(reason))) call_->Push();
  }

 private:
  const std::shared_ptr<StreamCall> call_;
};

void StreamCall::Run() {
  if (!HasManyRequests()) {
    auto message = ReadOnlyMessage();
    if (!message.has_value()) return Refuse(message.error());
    request_ = *std::move(message);
  }
  OnStart();
  method().stream(std::make_shared<Handle>(Self()));
}

void StreamCall::Push() {
  io().Post([self = Self()] { self->Deliver(); });
}

void StreamCall::Deliver() {
  rpc::StreamOperations::Batch operations = operations_.Take();
  CarryOut(operations);
  for (auto& tell : operations.late) tell(EndReason());
}

// The error for callbacks after the end.
Error StreamCall::EndReason() const {
  return end_ && end_->code != Code::kOk ? *end_ : rpc::CanceledError();
}

void StreamCall::CarryOut(rpc::StreamOperations::Batch& operations) {
  if (operations.read) operations_.SetReader(std::move(operations.read));
  if (operations.has_write) operations_.SetWriter(std::move(operations.written));
  if (end_) return operations_.FailAll(EndReason());
  if (operations.has_write)
    SendMessages(operations.message, /*is_framed=*/operations.framed_messages != 0);
  using Ending = rpc::StreamOperations::Batch::Ending;
  if (operations.ending == Ending::kCut) return Cut(operations.status);
  if (operations.ending == Ending::kFinish) return FinishWith(std::move(operations.status));
  if (operations_.has_reader()) ServeRead();
}

Result<std::optional<SharedBytes>> StreamCall::NextMessage() {
  if (!HasManyRequests()) return std::exchange(request_, std::nullopt);
  if (requests_ended_) return std::nullopt;
  // Nothing is read after a fault.
  requests_ended_ = true;
  KV_TRY(const std::optional<std::string> value, NextValue());
  if (!value.has_value()) return std::nullopt;
  KV_TRY(SharedBytes message, EncodeMessage(*value));
  requests_ended_ = false;
  return std::optional(std::move(message));
}

void StreamCall::OnInput() {
  if (!end_ && operations_.has_reader()) ServeRead();
}

void StreamCall::ServeRead() {
  if (HasManyRequests() && !requests_ended_) {
    if (!AwaitValue()) return;
    if (HasTooLargeValue())
      return Cut(rpc::MessageSizeError(parts().max_message_bytes + 1, parts().max_message_bytes));
  }
  auto message = NextMessage();
  if (message.has_value() && message->has_value()) {
    const std::size_t size_bytes = (*message)->size();
    CountReceived(size_bytes);
    if (size_bytes > parts().max_message_bytes)
      return Cut(rpc::MessageSizeError(size_bytes, parts().max_message_bytes));
  }
  operations_.RunReader(std::move(message));
}

void StreamCall::SendMessages(const ByteChain& bytes, bool is_framed) {
  const std::string joined = Join(bytes);
  std::string_view left = joined;
  std::string lines;
  do {
    std::size_t size = left.size();
    if (is_framed) {
      size = rpc::SizeIn(left);
      left.remove_prefix(rpc::kMessagePrefixBytes);
    }
    lines += JsonResultLine(*route().response, left.substr(0, size));
    CountSent(size);
    left.remove_prefix(size);
  } while (!left.empty());
  if (answer_ == nullptr && !BeginBody(200, /*has_content=*/true)) return;
  writing_ = true;
  unsent_bytes_.store(lines.size(), std::memory_order_relaxed);
  answer_->Write({SharedBytes::Own(std::move(lines))},
                 [self = Self()](const Result<void>& written) { self->OnWritten(written); });
}

// Without a client the call ends; false then.
bool StreamCall::BeginBody(unsigned status, bool has_content) {
  rpc::HttpResponse head{.status = status, .content_type = "", .headers = {}, .body = {}};
  if (has_content) head.content_type = "application/json";
  if (has_content && status == 200)
    head.headers.push_back({"Grpc-Metadata-Content-Type", "application/grpc"});
  answer_ = reply().Begin(std::move(head));
  if (answer_ != nullptr) return true;
  end_sent_ = true;
  End(rpc::CanceledError());
  return false;
}

void StreamCall::OnWritten(const Result<void>& written) {
  writing_ = false;
  unsent_bytes_.store(0, std::memory_order_relaxed);
  if (operations_.has_writer()) operations_.RunWriter(written);
  if (end_) SendEnd();
}

void StreamCall::FinishWith(Error status) {
  end_ = std::move(status);
  OnOutcome(*end_);
  if (operations_.has_reader()) operations_.RunReader(Fail(rpc::CanceledError()));
  if (!writing_) SendEnd();
}

void StreamCall::Cut(const Error& reason) {
  end_ = reason;
  context()->Cancel(reason);
  OnOutcome(reason);
  operations_.FailAll(reason);
  if (!writing_) SendEnd();
}

void StreamCall::End(const Error& reason) {
  if (reason.code == Code::kCanceled) client_gone_ = true;
  if (end_) return;
  const auto keep = shared_from_this();
  Cut(reason);
}

void StreamCall::SendEnd() {
  if (std::exchange(end_sent_, true)) return;
  const bool is_error = end_->code != Code::kOk && !client_gone_;
  if (answer_ == nullptr) {
    const unsigned status = HttpStatusOf(end_->code);
    if (!BeginBody(status, /*has_content=*/is_error)) return;
  }
  if (!is_error) return answer_->End();
  answer_->Write({SharedBytes::Own(JsonErrorLine(*end_))},
                 [answer = answer_](const Result<void>&) { answer->End(); });
}

}  // namespace kvorum::server::gateway
