#include "rpc/call.h"

#include <utility>

#include "rpc/http2_session.h"
#include "rpc/local_address.h"
#include "rpc/loop.h"

namespace kvorum::rpc {

Call::Call(Http2Session& session, std::int32_t stream_id, std::shared_ptr<Mailbox> mailbox,
           std::uint32_t max_message_bytes)
    : mailbox_(std::move(mailbox)),
      stream_id_(stream_id),
      session_(&session),
      request_(max_message_bytes) {}

void Call::Push() { mailbox_->Push(shared_from_this()); }

void Call::Complete(Error status, SharedBytes first, ByteChain rest) {
  answer_.status = std::move(status);
  answer_.first = std::move(first);
  answer_.rest = std::move(rest);
  if (Loop::Current() == loop()) {
    Deliver();
  } else {
    Push();
  }
}

void Call::CompleteLarge(LargeAnswer answer) {
  pieces_ = std::make_unique<PiecedAnswer>(std::move(answer.rest), answer.rest_bytes,
                                           std::move(answer.begun.held));
  Complete({Code::kOk, {}}, {}, std::move(answer.begun.bytes));
}

void Call::Read(ServerStream::ReadCallback callback) {
  stream_->Read(std::move(callback));
  Push();
}

void Call::Write(ByteChain message, ServerStream::WriteCallback callback) {
  WriteFrames(std::move(message), /*messages=*/0, std::move(callback));
}

void Call::WriteFrames(ByteChain frames, std::size_t messages,
                       ServerStream::WriteCallback callback) {
  stream_->Write(std::move(frames), messages, std::move(callback));
  Push();
}

void Call::Finish(Error status) {
  if (stream_->Finish(std::move(status))) Push();
}

void Call::Cut(Error reason) {
  if (stream_->Cut(std::move(reason))) Push();
}

void Call::Deliver() {
  if (stream_ != nullptr) return DeliverOperations();
  if (pieces_ != nullptr) return DeliverLarge();
  if (session_ == nullptr || decided()) return;
  session_->Answer(*this, std::move(answer_.status), std::move(answer_.first),
                   std::move(answer_.rest));
}

void Call::DeliverLarge() {
  if (session_ == nullptr) {
    pieces_->ReleaseStart();
    (void)pieces_->TakePut();
    answer_.rest = {};
  } else if (pieces_->Begin()) {
    session_->TakePiece(*this, pieces_->TakePut());
  } else {
    pieces_->ReleaseStart();  // the connection counts from here on
    if (decided()) return;
    session_->Answer(*this, std::move(answer_.status), {}, std::move(answer_.rest));
  }
}

void Call::DeliverOperations() {
  StreamOperations::Batch operations = stream_->Take();
  CarryOut(operations);
  for (auto& tell : operations.late) tell(EndReason());
}

void Call::CarryOut(StreamOperations::Batch& operations) {
  if (operations.read) stream_->SetReader(std::move(operations.read));
  if (!operations.has_write && stream_->has_writer() && !answer_body_.passing())
    stream_->RunWriter({});
  if (operations.has_write) stream_->SetWriter(std::move(operations.written));
  if (session_ == nullptr || decided() || ending_ == Ending::kCutWaits)
    return stream_->FailAll(EndReason());
  if (operations.framed_messages != 0) {
    session_->SendFrames(*this, std::move(operations.message), operations.framed_messages);
  } else if (operations.has_write) {
    session_->SendMessage(*this, std::move(operations.message));
    if (decided()) return;
  }
  using Ending = StreamOperations::Batch::Ending;
  if (operations.ending == Ending::kCut) return session_->Cut(*this, operations.status);
  if (operations.ending == Ending::kFinish && !decided())
    return session_->FinishStream(*this, operations.status);
  if (stream_->has_reader() && !decided()) session_->ServeRead(*this);
}

void Call::OnTimer() {
  if (session_ != nullptr) session_->Expire(*this);
}

std::string Call::LocalAddress() const {
  return session_ == nullptr ? std::string() : session_->LocalAddress();
}

std::string LocalAddressOf(const CallContext& call) {
  const auto* const of_connection = dynamic_cast<const Call*>(&call);
  return of_connection == nullptr ? std::string() : of_connection->LocalAddress();
}

}  // namespace kvorum::rpc
