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

void Call::CompleteLarge(LargeAnswer answer) {
  pieces_ = std::make_unique<Pieces>();
  pieces_->rest = std::move(answer.rest);
  pieces_->to_come_bytes = answer.rest_bytes;
  pieces_->held = std::move(answer.begun.held);
  Complete({Code::kOk, {}}, {}, std::move(answer.begun.bytes));
}

void Call::Read(ServerStream::ReadCallback callback) {
  {
    std::lock_guard lock(stream_->mutex);
    if (stream_->finished) {
      stream_->operations.late.emplace_back([callback = std::move(callback)](Error reason) mutable {
        callback(Fail(std::move(reason)));
      });
    } else {
      KV_CHECK(!stream_->read_outstanding, "a second Read on a stream");
      stream_->read_outstanding = true;
      stream_->operations.read = std::move(callback);
    }
  }
  Push();
}

void Call::Write(ByteChain message, ServerStream::WriteCallback callback) {
  WriteFrames(std::move(message), /*messages=*/0, std::move(callback));
}

void Call::WriteFrames(ByteChain frames, std::size_t messages,
                       ServerStream::WriteCallback callback) {
  {
    std::lock_guard lock(stream_->mutex);
    if (stream_->finished) {
      stream_->operations.late.emplace_back([callback = std::move(callback)](Error reason) mutable {
        if (callback) callback(Fail(std::move(reason)));
      });
    } else {
      KV_CHECK(!stream_->write_outstanding, "a second Write on a stream");
      stream_->write_outstanding = true;
      stream_->operations.has_write = true;
      stream_->operations.framed_messages = messages;
      stream_->operations.message = std::move(frames);
      stream_->operations.written = std::move(callback);
    }
  }
  Push();
}

void Call::Finish(Error status) {
  {
    std::lock_guard lock(stream_->mutex);
    if (stream_->finished) return;
    stream_->finished = true;
    stream_->operations.has_finish = true;
    stream_->operations.status = std::move(status);
  }
  Push();
}

void Call::Cut(Error reason) {
  {
    std::lock_guard lock(stream_->mutex);
    if (stream_->finished) return;
    stream_->operations.cut = std::move(reason);
  }
  Push();
}

void Call::Deliver() {
  if (stream_ != nullptr) return DeliverOperations();
  if (pieces_ != nullptr) return DeliverLarge();
  if (session_ == nullptr || decided_) return;
  session_->Answer(*this, std::move(answer_status_), std::move(answer_first_),
                   std::move(answer_rest_));
}

void Call::DeliverLarge() {
  Pieces& pieces = *pieces_;
  if (session_ == nullptr) {
    pieces.held.Release();
    pieces.made = AnswerPiece();
    answer_rest_ = {};
  } else if (std::exchange(pieces.begun, true)) {
    session_->TakePiece(*this, std::exchange(pieces.made, AnswerPiece()));
  } else {
    pieces.held.Release();  // the connection counts from here on
    if (decided_) return;
    session_->Answer(*this, std::move(answer_status_), {}, std::move(answer_rest_));
  }
}

void Call::DeliverOperations() {
  Operations operations;
  {
    std::lock_guard lock(stream_->mutex);
    operations = std::exchange(stream_->operations, {});
  }
  CarryOut(operations);
  for (auto& tell : operations.late) tell(EndReason());
}

void Call::CarryOut(Operations& operations) {
  if (operations.read) stream_->read_callback = std::move(operations.read);
  if (!operations.has_write && stream_->write_callback && !sending_) RunWritten();
  if (operations.has_write) stream_->write_callback = std::move(operations.written);
  if (session_ == nullptr || decided_ || cut_) {
    return FailCallbacks(EndReason());
  }
  if (operations.framed_messages != 0) {
    session_->SendFrames(*this, std::move(operations.message), operations.framed_messages);
  } else if (operations.has_write) {
    session_->SendMessage(*this, std::move(operations.message));
    if (decided_) return;
  }
  if (operations.cut) return session_->Cut(*this, *operations.cut);
  if (operations.has_finish && !decided_) return session_->FinishStream(*this, operations.status);
  if (stream_->read_callback && !decided_) session_->ServeRead(*this);
}

void Call::OnTimer() {
  if (session_ != nullptr) session_->Expire(*this);
}

void Call::RunRead(Result<std::optional<SharedBytes>> result) {
  {
    std::lock_guard lock(stream_->mutex);
    stream_->read_outstanding = false;
  }
  ServerStream::ReadCallback callback = std::exchange(stream_->read_callback, nullptr);
  callback(std::move(result));
}

void Call::RunWritten() {
  {
    std::lock_guard lock(stream_->mutex);
    stream_->write_outstanding = false;
  }
  ServerStream::WriteCallback callback = std::exchange(stream_->write_callback, nullptr);
  if (callback) callback({});
}

void Call::FailCallbacks(const Error& reason) {
  if (stream_ == nullptr) return;
  // Operations that the callbacks start fail in the same way, through the mailbox.
  if (stream_->read_callback) RunRead(Fail(reason));
  if (stream_->write_callback) {
    {
      std::lock_guard lock(stream_->mutex);
      stream_->write_outstanding = false;
    }
    ServerStream::WriteCallback callback = std::exchange(stream_->write_callback, nullptr);
    callback(Fail(reason));
  }
}

}  // namespace kvorum::rpc
