// Services as the transport sees them: methods by their exact path, each a handler that gets the
// request's bytes and answers with a chain of shared slices. Nothing here knows HTTP/2, so that
// gRPC, the JSON gateway and tests call the same handlers.
//
// Handlers are called on the thread of the connection's loop, several loops at a time, and must not
// block there. They may answer from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/call_context.h"
#include "rpc/call/large_answer.h"

namespace kvorum::rpc {

// Receives a unary answer. Implemented by the transport; called once.
class UnarySink {
 public:
  virtual ~UnarySink() = default;
  // The message is `first` followed by `rest`; both are empty when the status is not ok.
  virtual void Complete(Error status, SharedBytes first, ByteChain rest) = 0;
  // Answers ok, with one message that is not complete yet.
  virtual void CompleteLarge(LargeAnswer answer) = 0;
  // Before the answer: the number of keys that it is about (CallContext::answer_count).
  virtual void NoteCount(std::int64_t /*count*/) {}
  // Also before it: the rows of each of its ranges (CallContext::answer_rows).
  virtual void NoteRows(std::vector<std::int64_t> /*rows*/) {}
  // Also before it (CallContext::begun).
  virtual void NoteBegun(TimePoint /*when*/) {}
  virtual void NotePlace(std::uint64_t /*place*/) {}
};

// The right to answer one unary call, once, from any thread. If it is dropped without an answer, it
// answers with an Internal error, so no caller waits for ever.
//
// Cost from the call's own loop: no lock, no allocation. From another thread: one atomic push, and
// a wake-up of the loop only if it sleeps.
class UnaryReply {
 public:
  explicit UnaryReply(std::shared_ptr<UnarySink> sink) : sink_(std::move(sink)) {}
  // For the gateway and tests: the answer goes to a function.
  static UnaryReply ToFunction(std::move_only_function<void(Result<ByteChain>)> function);
  UnaryReply(UnaryReply&&) noexcept = default;
  UnaryReply& operator=(UnaryReply&& other) noexcept;
  ~UnaryReply();

  void NoteCount(std::int64_t count) {
    if (sink_ != nullptr) sink_->NoteCount(count);
  }
  void NoteRows(std::vector<std::int64_t> rows) {
    if (sink_ != nullptr) sink_->NoteRows(std::move(rows));
  }
  void NoteBegun(TimePoint when) {
    if (sink_ != nullptr) sink_->NoteBegun(when);
  }
  void NotePlace(std::uint64_t place) {
    if (sink_ != nullptr) sink_->NotePlace(place);
  }
  // Call exactly one of these, once.
  void Send(SharedBytes message);
  void Send(ByteChain message);
  void Send(LargeAnswer answer);
  void Fail(Error error);
  void operator()(Result<ByteChain> answer);

  // False once answered (or moved from).
  explicit operator bool() const { return sink_ != nullptr; }

 private:
  std::shared_ptr<UnarySink> sink_;
};

// One stream of a client-, server- or bidirectional streaming method, seen from the handler.
//
// Thread-safe: any thread may call; callbacks run on the stream's loop, at most one at a time,
// never from within the function that took them. When the call is cancelled (see
// context().OnCancel), they run with the reason as their error and the stream is finished. Late
// calls do no harm: on a finished stream a Read or a Write only runs its callback with an error. A
// callback usually holds a shared_ptr to the stream: it is dropped when it has run, so no cycle
// remains. A stream that is dropped without Finish ends with an Internal error.
class ServerStream {
 public:
  // A message; nothing after the client's last one; or the error that broke the stream.
  using ReadCallback = std::move_only_function<void(Result<std::optional<SharedBytes>>)>;
  using WriteCallback = std::move_only_function<void(Result<void>)>;

  virtual ~ServerStream() = default;
  virtual CallContext& context() = 0;

  // Requests the next message; one Read may be outstanding. The client's flow-control window is
  // given back only for messages that were read, so a stream's memory is bounded by its window. A
  // message that breaks the protocol (too large, bad compression) finishes the stream with that
  // error before the callback runs with it. One that cannot be a message (malformed JSON) leaves
  // the stream to its handler: the callback runs with the error, and the handler finishes with it.
  virtual void Read(ReadCallback callback) = 0;

  // Sends one message; one Write may be outstanding. The callback runs once the message has passed
  // flow control into the connection's bounded output: a client that does not read delays it.
  // Messages go out in order; slices are shared, not copied, where that pays off.
  virtual void Write(ByteChain message, WriteCallback callback) = 0;

  // Like Write, for several messages at once, each after its prefix (grpc_protocol.h). For handlers
  // that send much at a time: the messages share HTTP/2 frames and one wake-up.
  virtual void WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) = 0;

  // Bytes of the outstanding Write that the client's windows do not let through yet.
  virtual std::size_t buffered_bytes() const = 0;

  // Ends the stream with this status (code kOk for success) after the outstanding Write; an
  // outstanding Read ends with a Canceled error. The first Finish counts, later ones do nothing.
  virtual void Finish(Error status) = 0;
  void FinishOk() { Finish(Error{Code::kOk, {}}); }

  // Ends the stream from outside of its handler: the client gets the status, after any message
  // being sent, and to the handler it is as if the client had left, with this reason. Does nothing
  // to a stream that has ended.
  virtual void Cut(Error reason) = 0;
};

// The request is the message's bytes; they are copied once out of the socket's buffer, so keeping
// them (or slices of them) pins nothing else.
using UnaryMethod = std::move_only_function<void(std::shared_ptr<CallContext> context,
                                                 SharedBytes request, UnaryReply reply) const>;
using StreamMethod = std::move_only_function<void(std::shared_ptr<ServerStream> stream) const>;

enum class MethodKind : std::uint8_t { kUnary, kClientStream, kServerStream, kBidiStream };

// Lives as long as its Router.
struct MethodInfo {
  std::string path;     // "/etcdserverpb.KV/Range"
  std::string service;  // "etcdserverpb.KV"
  std::string name;     // "Range"
  MethodKind kind = MethodKind::kUnary;
  std::uint32_t index = 0;  // counts up from 0 in the order of registration, for tables of counters
};

// The outcome of a call, for counters and the slow-request log.
struct CallEnd {
  Code code = Code::kOk;
  std::string_view message;
  Duration duration{};
  std::uint64_t received_messages = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t sent_bytes = 0;
};

// Methods by exact path. Filled by one thread, then handed to the server and read-only.
class Router {
 public:
  using StartHook = std::move_only_function<void(CallContext& context) const>;
  using EndHook = std::move_only_function<void(const CallContext& context, const CallEnd&) const>;
  using StreamHook = std::move_only_function<void(const MethodInfo& method, std::uint64_t received,
                                                  std::uint64_t sent) const>;

  struct Method {
    MethodInfo info;
    UnaryMethod unary;    // set for kUnary
    StreamMethod stream;  // set for the other kinds
  };

  Router() = default;
  Router(Router&&) = default;
  Router& operator=(Router&&) = default;

  // Returns the method's index. A path may be registered once.
  std::uint32_t AddUnary(std::string_view service, std::string_view name, UnaryMethod method);
  std::uint32_t AddStream(std::string_view service, std::string_view name, MethodKind kind,
                          StreamMethod method);
  // Both run on the call's loop: the first before the handler of a registered method, the second
  // once when the status is decided (also when the client has left). At most one of each.
  void SetStartHook(StartHook hook) { start_hook_ = std::move(hook); }
  void SetEndHook(EndHook hook) { end_hook_ = std::move(hook); }
  // Runs for the messages of streams as they are read and written, on the stream's loop.
  void SetStreamHook(StreamHook hook) { stream_hook_ = std::move(hook); }
  void CountMessages(const MethodInfo& method, std::uint64_t received, std::uint64_t sent) const {
    if (stream_hook_) stream_hook_(method, received, sent);
  }

  // Null if there is no such method; MissingMethod gives the error for the client.
  const Method* Find(std::string_view path) const;
  // The error that grpc-go's server gives for a path that is not registered.
  Error MissingMethod(std::string_view path) const;
  const std::vector<std::unique_ptr<Method>>& methods() const { return methods_; }
  const StartHook& start_hook() const { return start_hook_; }
  const EndHook& end_hook() const { return end_hook_; }

 private:
  Method& Add(std::string_view service, std::string_view name, MethodKind kind);

  std::vector<std::unique_ptr<Method>> methods_;
  // The keys refer to methods_.
  std::unordered_map<std::string_view, const Method*> by_path_;
  std::unordered_set<std::string_view> services_;
  StartHook start_hook_;
  EndHook end_hook_;
  StreamHook stream_hook_;
};

}  // namespace kvorum::rpc
