// One gRPC call on one HTTP/2 stream: the object that its handler holds (as CallContext, UnarySink
// or through a ServerStream), and the stream's state for its session.
//
// Two sides. The handler's side (Complete, Read, Write, Finish, buffered_bytes) is thread-safe: an
// operation is left in the call, and the call pushed to the loop's mailbox. Everything else belongs
// to the loop's thread. The session owns the call while the stream is open; the handler may keep it
// longer, it is then detached and every operation fails.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call_context.h"
#include "rpc/grpc_protocol.h"
#include "rpc/http.h"
#include "rpc/mailbox.h"
#include "rpc/message_reader.h"
#include "rpc/service.h"
#include "rpc/timer_heap.h"

namespace kvorum::rpc {

class Http2Session;

class Call final : public CallContext,
                   public UnarySink,
                   public Mailbox::Item,
                   public Timer,
                   public std::enable_shared_from_this<Call> {
 public:
  Call(Http2Session& session, std::int32_t stream_id, std::shared_ptr<Mailbox> mailbox,
       std::uint32_t max_message_bytes);

  // The handler's side.
  void Complete(Error status, SharedBytes first, ByteChain rest) override;
  void CompleteLarge(LargeAnswer answer) override;
  void Read(ServerStream::ReadCallback callback);
  void Write(ByteChain message, ServerStream::WriteCallback callback);
  void WriteFrames(ByteChain frames, std::size_t messages, ServerStream::WriteCallback callback);
  void Finish(Error status);
  void Cut(Error reason);
  std::size_t buffered_bytes() const { return unsent_bytes_.load(std::memory_order_relaxed); }
  // The bytes of its answer that are not made yet.
  std::size_t to_come_bytes() const { return pieces_ == nullptr ? 0 : pieces_->to_come_bytes; }

  // The loop's side.
  bool is_http() const { return http_ != nullptr; }
  void Deliver() override;
  void OnTimer() override;  // the deadline

 private:
  friend class Http2Session;

  // Operations of a stream's handler that the loop has not processed yet.
  struct Operations {
    ServerStream::ReadCallback read;
    bool has_write = false;
    std::size_t framed_messages = 0;  // messages in `message`, which has their prefixes; 0: it is
                                      // one message
    ByteChain message;
    ServerStream::WriteCallback written;
    bool has_finish = false;
    Error status;
    std::optional<Error> cut;
    // The callbacks of reads and writes that came after Finish.
    std::vector<std::move_only_function<void(Error)>> late;
  };
  // State that only streams need.
  struct StreamSide {
    // The loop's state.
    std::string inbox;  // bytes that no Read asked for yet
    std::size_t inbox_used = 0;
    ServerStream::ReadCallback read_callback;
    ServerStream::WriteCallback write_callback;

    std::mutex mutex;  // guards what follows
    Operations operations;
    bool read_outstanding = false;
    bool write_outstanding = false;
    bool finished = false;
  };

  // State that only a large answer needs. The maker of a piece writes `made` before it pushes the
  // call; the rest is the loop's, once the answer was handed over.
  struct Pieces {
    std::shared_ptr<AnswerRest> rest;
    std::size_t to_come_bytes = 0;  // not made yet
    AnswerMemory::Reservation held;
    bool begun = false;  // the answer's start was delivered
    bool asked = false;  // the next piece was requested
    Result<AnswerPiece> made;
  };

  void Push();
  void DeliverLarge();
  void DeliverOperations();
  void CarryOut(Operations& operations);
  // The error for callbacks when the call ended without another reason.
  Error EndReason() const { return cancelled() ? cancel_reason() : CanceledError(); }
  // Runs all outstanding callbacks with the error.
  void FailCallbacks(const Error& reason);
  void RunRead(Result<std::optional<SharedBytes>> result);
  void RunWritten();

  // Set once.
  const std::shared_ptr<Mailbox> mailbox_;
  const std::int32_t stream_id_;

  // The loop's state.
  Http2Session* session_;           // null once detached
  std::shared_ptr<Call> attached_;  // the session's ownership
  Call* previous_ = nullptr;        // the session's list of open calls
  Call* next_ = nullptr;
  const Router::Method* entry_ = nullptr;
  bool plus_proto_ = false;      // the content type of the answer
  bool remote_ended_ = false;    // END_STREAM was received
  bool dispatched_ = false;      // the handler was called
  bool waiting_ = false;         // ready for its handler, held back by the session
  bool response_begun_ = false;  // HEADERS were submitted
  bool sending_ = false;         // a message is passing through flow control
  bool finish_waits_ = false;    // status_ follows the message that is being sent
  bool cut_ = false;             // over for its handler, though the status may wait to be sent
  bool decided_ = false;         // the call is over for its handler; status_ tells how
  Error status_;
  std::optional<std::uint64_t> content_length_;  // as the client stated it
  MessageReader reader_;
  SharedBytes request_;  // a unary call's, complete
  // For an HTTP request that is not gRPC; null otherwise.
  std::unique_ptr<HttpRequest> http_;
  std::string inbox_;              // its body
  std::size_t head_bytes_ = 0;     // of a header block larger than usual
  std::size_t counted_bytes_ = 0;  // the part of the session's sum of buffered request bytes that
                                   // is ours
  std::array<char, kMessagePrefixBytes> prefix_{};
  std::size_t prefix_sent_bytes_ = 0;
  SharedBytes first_;
  ByteChain rest_;
  std::size_t part_ = 0;  // 0 is first_, then rest_
  std::size_t part_sent_bytes_ = 0;
  std::atomic<std::size_t> unsent_bytes_{0};  // written by the loop
  CallEnd end_;

  // A unary answer, written once by its maker, before the push that hands it over.
  Error answer_status_;
  SharedBytes answer_first_;
  ByteChain answer_rest_;
  std::unique_ptr<Pieces> pieces_;  // null except for a large answer

  std::unique_ptr<StreamSide> stream_;  // made before the handler is called
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
