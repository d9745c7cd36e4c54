#include "rpc/http2/call.h"

#include <utility>

#include "rpc/http2/http2_session.h"
#include "rpc/io/local_address.h"
#include "rpc/io/loop.h"

namespace kvorum::rpc {

Call::Call(Http2Session& session, std::int32_t stream_id, std::shared_ptr<Mailbox> mailbox,
           std::uint32_t max_message_bytes)
    : mailbox_(std::move(mailbox)),
      stream_id_(stream_id),
      session_(&session),
      request_(max_message_bytes) {}

void Call::Push() { mailbox_->Push(shared_from_this()); }

void Call::Complete(Error status, SharedBytes first, ByteChain rest) {
  answer() = {.status = std::move(status), .first = std::move(first), .rest = std::move(rest)};
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
  stream().Read(std::move(callback));
  Push();
}

void Call::Write(ByteChain message, ServerStream::WriteCallback callback) {
  WriteFrames(std::move(message), /*messages=*/0, std::move(callback));
}

void Call::WriteFrames(ByteChain frames, std::size_t messages,
                       ServerStream::WriteCallback callback) {
  stream().Write(std::move(frames), messages, std::move(callback));
  Push();
}

void Call::Finish(Error status) {
  if (stream().Finish(std::move(status))) Push();
}

void Call::Cut(Error reason) {
  if (stream().Cut(std::move(reason))) Push();
}

void Call::Deliver() {
  if (is_stream()) return DeliverOperations();
  if (pieces_ != nullptr) return DeliverLarge();
  if (session_ == nullptr || decided()) return;
  UnaryAnswer& made = answer();
  session_->Answer(*this, std::move(made.status), std::move(made.first), std::move(made.rest));
}

// The callbacks of a handler that goes on after its loop has ended hold the stream, and so this.
void Call::Discard() {
  if (is_stream()) static_cast<void>(stream().Take());
}

void Call::DeliverLarge() {
  if (session_ == nullptr) {
    DropLarge();
  } else if (pieces_->Begin()) {
    session_->TakePiece(*this, pieces_->TakePut());
  } else {
    if (decided()) return DropLarge();
    pieces_->ReleaseStart();  // the connection counts from here on
    session_->Answer(*this, std::move(answer().status), {}, std::move(answer().rest));
  }
}

void Call::DropLarge() {
  pieces_->ReleaseStart();
  pieces_->BreakOff();
  (void)pieces_->TakePut();
  answer().rest = ByteChain();  // `= {}` would keep the memory
}

void Call::DeliverOperations() {
  StreamOperations::Batch operations = stream().Take();
  CarryOut(operations);
  for (auto& tell : operations.late) tell(EndReason());
}

void Call::CarryOut(StreamOperations::Batch& operations) {
  if (operations.read) stream().SetReader(std::move(operations.read));
  if (!operations.has_write && stream().has_writer() && !answer_body_.passing())
    stream().RunWriter({});
  if (operations.has_write) stream().SetWriter(std::move(operations.written));
  if (session_ == nullptr || decided() || ending_ == Ending::kCutWaits)
    return stream().FailAll(EndReason());
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
  if (stream().has_reader() && !decided()) session_->ServeRead(*this);
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
