#include "rpc/call.h"

#include <utility>

#include "base/check.h"
#include "rpc/http2_session.h"
#include "rpc/loop.h"

namespace kvorum::rpc {

Call::Call(Http2Session& session, std::int32_t stream_id, std::shared_ptr<Mailbox> mailbox,
           std::uint32_t max_message_bytes)
    : mailbox_(std::move(mailbox)),
      stream_id_(stream_id),
      session_(&session),
      reader_(max_message_bytes) {}

void Call::Push() { mailbox_->Push(shared_from_this()); }

void Call::Complete(Error status, SharedBytes first, ByteChain rest) {
  answer_status_ = std::move(status);
  answer_first_ = std::move(first);
  answer_rest_ = std::move(rest);
  if (Loop::Current() == loop()) {
    Deliver();
  } else {
    Push();
  }
}

void Call::Read(ServerStream::ReadCallback callback) {
  {
    std::lock_guard lock(operations_mutex_);
    KV_CHECK(!read_outstanding_, "a second Read on a stream");
    KV_CHECK(!finished_, "a Read after Finish");
    read_outstanding_ = true;
    operations_.read = std::move(callback);
  }
  Push();
}

void Call::Write(ByteChain message, ServerStream::WriteCallback callback) {
  {
    std::lock_guard lock(operations_mutex_);
    KV_CHECK(!write_outstanding_, "a second Write on a stream");
    KV_CHECK(!finished_, "a Write after Finish");
    write_outstanding_ = true;
    operations_.has_write = true;
    operations_.message = std::move(message);
    operations_.written = std::move(callback);
  }
  Push();
}

void Call::Finish(Error status) {
  {
    std::lock_guard lock(operations_mutex_);
    KV_CHECK(!finished_, "a second Finish of a stream");
    finished_ = true;
    operations_.has_finish = true;
    operations_.status = std::move(status);
  }
  Push();
}

void Call::Abandon() {
  {
    std::lock_guard lock(operations_mutex_);
    if (finished_) return;
    finished_ = true;
    operations_.has_finish = true;
    operations_.status = NoAnswerError();
  }
  Push();
}

void Call::Deliver() {
  if (entry_->info.kind != MethodKind::kUnary) return DeliverOperations();
  if (session_ == nullptr || decided_) return;
  session_->Answer(*this, std::move(answer_status_), std::move(answer_first_),
                   std::move(answer_rest_));
}

void Call::DeliverOperations() {
  Operations operations;
  {
    std::lock_guard lock(operations_mutex_);
    operations = std::exchange(operations_, {});
  }
  if (operations.read) read_callback_ = std::move(operations.read);
  if (!operations.has_write && write_callback_ && !sending_) RunWritten();
  if (operations.has_write) write_callback_ = std::move(operations.written);
  if (session_ == nullptr || decided_) {
    return FailCallbacks(cancelled() ? cancel_reason() : CanceledError());
  }
  if (operations.has_write) session_->Send(*this, {}, std::move(operations.message));
  if (operations.has_finish && !decided_) return session_->FinishStream(*this, operations.status);
  if (read_callback_ && !decided_) session_->ServeRead(*this);
}

void Call::OnTimer() {
  if (session_ != nullptr) session_->Expire(*this);
}

void Call::RunRead(Result<std::optional<SharedBytes>> result) {
  {
    std::lock_guard lock(operations_mutex_);
    read_outstanding_ = false;
  }
  ServerStream::ReadCallback callback = std::exchange(read_callback_, nullptr);
  callback(std::move(result));
}

void Call::RunWritten() {
  {
    std::lock_guard lock(operations_mutex_);
    write_outstanding_ = false;
  }
  ServerStream::WriteCallback callback = std::exchange(write_callback_, nullptr);
  if (callback) callback({});
}

void Call::FailCallbacks(const Error& reason) {
  // What the callbacks start anew fails in the same way, by way of the mailbox.
  if (read_callback_) RunRead(Fail(reason));
  if (write_callback_) {
    {
      std::lock_guard lock(operations_mutex_);
      write_outstanding_ = false;
    }
    ServerStream::WriteCallback callback = std::exchange(write_callback_, nullptr);
    callback(Fail(reason));
  }
}

}  // namespace kvorum::rpc
