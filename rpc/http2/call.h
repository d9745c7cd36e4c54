// One gRPC call on one HTTP/2 stream: the object that its handler holds (as CallContext, UnarySink
// or through a ServerStream), and the stream's state for its session.
//
// Two sides. The handler's side (Complete, Read, Write, Finish, buffered_bytes) is thread-safe: an
// operation is left in the call, and the call pushed to the loop's mailbox. Everything else belongs
// to the loop's thread. The session owns the call while the stream is open; the handler may keep it
// longer, it is then detached and every operation fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/answer_body.h"
#include "rpc/call/call_context.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/call/pieced_answer.h"
#include "rpc/call/request_body.h"
#include "rpc/call/service.h"
#include "rpc/call/stream_operations.h"
#include "rpc/http/http.h"
#include "rpc/io/mailbox.h"
#include "rpc/io/owning_list.h"
#include "rpc/io/timer_heap.h"

namespace kvorum::rpc {

class Http2Session;

class Call final : public CallContext,
                   public UnarySink,
                   public Mailbox::Item,
                   public Timer,
                   public OwningList<Call>::Hook,
                   public std::enable_shared_from_this<Call> {
 public:
  Call(Http2Session& session, std::int32_t stream_id, std::shared_ptr<Mailbox> mailbox,
       std::uint32_t max_message_bytes);

  // The handler's side.
  void Complete(Error status, SharedBytes first, ByteChain rest) override;
  void CompleteLarge(LargeAnswer answer) override;
  void NoteCount(std::int64_t count) override { NoteAnswerCount(count); }
  void NoteRows(std::vector<std::int64_t> rows) override { NoteAnswerRows(std::move(rows)); }
  void NoteBegun(TimePoint when) override { CallContext::NoteBegun(when); }
  void NotePlace(std::uint64_t place) override { CallContext::NotePlace(place); }
  void Read(ServerStream::ReadCallback callback);
  void Write(ByteChain message, ServerStream::WriteCallback callback);
  void WriteFrames(ByteChain frames, std::size_t messages, ServerStream::WriteCallback callback);
  void Finish(Error status);
  void Cut(Error reason);
  std::size_t buffered_bytes() const { return answer_body_.unsent_bytes(); }
  // The bytes of its answer that are not made yet.
  std::size_t to_come_bytes() const { return pieces_ == nullptr ? 0 : pieces_->to_come_bytes(); }

  // The loop's side.
  // Empty once detached.
  std::string LocalAddress() const;
  // True for an HTTP answer whose body was there when it began.
  bool has_whole_http_answer() const { return http_ != nullptr && !is_stream(); }
  void Deliver() override;
  void Discard() override;
  void OnTimer() override;  // the deadline

 private:
  friend class Http2Session;

  // The way in which the call ends for its handler; status_ tells with what.
  enum class Ending : std::uint8_t {
    kOpen,
    kFinishWaits,  // it has finished; the status follows the message that is being sent
    kCutWaits,     // the same, and to its handler it is over already
    kDecided,      // it is over
  };
  // A unary answer; with pieces_, its start.
  struct UnaryAnswer {
    Error status;
    SharedBytes first;
    ByteChain rest;
  };

  void BecomeStream() { made_.emplace<StreamOperations>(mutex()); }
  bool is_stream() const { return std::holds_alternative<StreamOperations>(made_); }
  // To be called only if is_stream().
  StreamOperations& stream() { return std::get<StreamOperations>(made_); }
  // To be called only if not.
  UnaryAnswer& answer() { return std::get<UnaryAnswer>(made_); }

  void Push();
  void DeliverLarge();
  // Drops a large answer whose caller is gone.
  void DropLarge();
  void DeliverOperations();
  void CarryOut(StreamOperations::Batch& operations);
  // The error for callbacks when the call ended without another reason.
  Error EndReason() const { return cancelled() ? cancel_reason() : CanceledError(); }
  bool decided() const { return ending_ == Ending::kDecided; }
  bool finish_waits() const {
    return ending_ == Ending::kFinishWaits || ending_ == Ending::kCutWaits;
  }

  // Set once.
  const std::shared_ptr<Mailbox> mailbox_;
  const std::int32_t stream_id_;

  // The loop's state.
  Http2Session* session_;  // null once detached
  const Router::Method* entry_ = nullptr;
  RequestBody request_;
  std::unique_ptr<HttpRequest> http_;  // for an HTTP request that is not gRPC; null otherwise
  bool plus_proto_ = false;            // the content type of the answer
  bool waiting_ = false;               // ready for its handler, held back by the session
  bool dispatched_ = false;            // the handler was called
  bool response_begun_ = false;        // HEADERS were submitted
  bool response_sent_ = false;         // and sent
  AnswerBody answer_body_;
  Ending ending_ = Ending::kOpen;
  Error status_;

  // A unary answer is written once by its maker, before the push that hands it over. The loop makes
  // a stream's operations before it calls the handler, and those of an HTTP body before it hands
  // the body out; other HTTP calls and refused ones use neither.
  std::variant<UnaryAnswer, StreamOperations> made_;
  std::unique_ptr<PiecedAnswer> pieces_;  // null except for a large answer
};

// The handler's handle on a stream. Its destruction without Finish ends the stream.
class StreamHandle final : public ServerStream {
 public:
  explicit StreamHandle(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~StreamHandle() override { call_->Finish(NoAnswerError()); }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

  CallContext& context() override { return *call_; }
  void Read(ReadCallback callback) override { call_->Read(std::move(callback)); }
  void Write(ByteChain message, WriteCallback callback) override {
    call_->Write(std::move(message), std::move(callback));
  }
  void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) override {
    call_->WriteFrames(std::move(frames), messages, std::move(callback));
  }
  std::size_t buffered_bytes() const override { return call_->buffered_bytes(); }
  void Finish(Error status) override { call_->Finish(std::move(status)); }
  void Cut(Error reason) override { call_->Cut(std::move(reason)); }

 private:
  const std::shared_ptr<Call> call_;
};

}  // namespace kvorum::rpc
