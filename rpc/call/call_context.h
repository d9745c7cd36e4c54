// The information that a handler has about the call it serves: the caller, the metadata, the
// deadline, and whether anybody still waits for the answer.
//
// Built by the transport (or by the JSON gateway and tests, with the setters) on one thread, then
// shared: from then on everything but OnCancel, Cancel and Done is read-only, and all of it is
// thread-safe. One object per call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/packed_metadata.h"

namespace kvorum::rpc {

class Loop;
struct MethodInfo;

// The caller, as an interceptor found out; rpc itself does not use it.
struct Caller {
  // The limits of the token's validity. Revisions are the auth state's.
  struct Token {
    std::uint64_t revision = 0;  // at which it was issued; 0: any
    // The revision at which the caller's session was seen to be valid; 0: it needs none.
    std::uint64_t session_revision = 0;
    std::int64_t ends_s = 0;  // the Unix time at which it expires; 0: never
  };

  SharedBytes name;
  Token token;
  // The auth state in which all this was last found valid, and its revision; 0: none.
  std::uint64_t counted_in = 0;
  std::uint64_t counted_revision = 0;
  // True with a token or a certificate, whose name may be empty: a user that does not exist. False:
  // no particular user.
  bool is_identified = false;
  bool token_refused = false;  // its token is not a valid one here
  bool token_void = false;     // nor can it be for a member that knows more
};

class CallContext {
 public:
  using CancelCallback = std::move_only_function<void(const Error& reason)>;

  CallContext() = default;
  virtual ~CallContext() = default;
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  // The registered method; null for a call that did not come through a Router.
  const MethodInfo* method() const { return method_; }
  // "/package.Service/Method", empty without a method.
  std::string_view path() const;
  // "127.0.0.1:5123", "[::1]:5123", "@" for a unix socket.
  std::string_view peer() const { return peer_.view(); }
  // The common name in the client's verified certificate, which may be empty; nullopt without a
  // certificate, and if client certificates are not requested.
  std::optional<SharedBytes> certificate_name() const {
    if (!has_certificate_) return std::nullopt;
    return certificate_name_;
  }
  // The loop that reads the call's connection; null for a call without one. Handlers are called
  // there.
  Loop* loop() const { return loop_; }
  TimePoint started() const { return started_; }
  std::optional<TimePoint> deadline() const { return deadline_; }

  // The first value under a lower-case name. "-bin" values are decoded. Headers of the protocol
  // itself (pseudo headers except :authority, te, content-type, grpc-*) are not metadata.
  // O(entries).
  std::optional<std::string_view> Metadata(std::string_view name) const {
    return metadata_.Find(name);
  }
  template <class Visitor>  // visitor(name, value)
  void ForEachMetadata(Visitor&& visitor) const {
    metadata_.ForEach(std::forward<Visitor>(visitor));
  }

  // True once the answer has no waiter: the client reset the stream or left (Canceled "context
  // canceled"), the deadline passed (DeadlineExceeded "context deadline exceeded"), or the server
  // is shutting down (Unavailable). The call is then answered already; a later answer is dropped.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Meaningful once cancelled() is true.
  Error cancel_reason() const;
  // Runs the callback once if the call is cancelled: on the loop's thread, or at once on the
  // calling thread if it is cancelled already. Dropped unrun when the call ends otherwise.
  void OnCancel(CancelCallback callback);

  // The request, if it is small: for the log lines of a slow call. Kept before the handler is
  // called. Costs an atomic increment, no copy; for as long as the call lasts it holds at most
  // kMaxKeptBytes that its handler may not need any more.
  static constexpr std::size_t kMaxKeptBytes = 16 * 1'024;
  void KeepRequest(const SharedBytes& request) {
    if (request.size() <= kMaxKeptBytes) kept_request_ = request;
  }
  std::string_view kept_request() const { return kept_request_.view(); }
  // The number of keys that the answer is about, for the same lines; -1: unknown.
  void NoteAnswerCount(std::int64_t count) {
    answer_count_.store(count, std::memory_order_relaxed);
  }
  std::int64_t answer_count() const { return answer_count_.load(std::memory_order_relaxed); }

  // The rows of each range of a txn's answer, for the same lines; nullopt: it has none.
  void NoteAnswerRows(std::vector<std::int64_t> rows) {
    std::lock_guard lock(mutex_);
    answer_rows_ = std::move(rows);
    has_answer_rows_ = true;
  }
  std::optional<std::vector<std::int64_t>> answer_rows() const {
    std::lock_guard lock(mutex_);
    if (!has_answer_rows_) return std::nullopt;
    return answer_rows_;
  }

  // The time from which the call did its own work, after it had to wait for others; nullopt: from
  // its start.
  void NoteBegun(TimePoint when) { begun_.store(when.ns, std::memory_order_relaxed); }
  std::optional<TimePoint> begun() const {
    const TimePoint when{begun_.load(std::memory_order_relaxed)};
    if (when == TimePoint{}) return std::nullopt;
    return when;
  }

  // The place that the call's work had in a queue, for the question what it waited for; 0: none.
  void NotePlace(std::uint64_t place) { place_.store(place, std::memory_order_relaxed); }
  std::uint64_t place() const { return place_.load(std::memory_order_relaxed); }

  // Set before the handler is called, and by a stream's handler between its requests.
  Caller caller;

  // For the builder of the context, before it is shared.
  void set_method(const MethodInfo* method) { method_ = method; }
  void set_peer(SharedBytes peer) { peer_ = std::move(peer); }
  void set_certificate_name(SharedBytes name) {
    certificate_name_ = std::move(name);
    has_certificate_ = true;
  }
  void set_loop(Loop* loop) { loop_ = loop; }
  void set_started(TimePoint started) { started_ = started; }
  void set_deadline(TimePoint deadline) { deadline_ = deadline; }
  void set_metadata(PackedMetadata metadata) { metadata_ = std::move(metadata); }
  // Costs O(metadata so far).
  void AddMetadata(std::string_view name, std::string_view value) { metadata_.Add(name, value); }

  // For the builder of the context. The first call of Cancel or Done decides, later ones do
  // nothing.
  void Cancel(Error reason);
  void Done();

 protected:
  // The builder may take it for its short pieces of work.
  std::mutex& mutex() { return mutex_; }

 private:
  enum class State : std::uint8_t { kRunning, kCancelled, kDone };

  const MethodInfo* method_ = nullptr;
  Loop* loop_ = nullptr;
  SharedBytes peer_;
  SharedBytes kept_request_;
  SharedBytes certificate_name_;
  TimePoint started_;
  std::optional<TimePoint> deadline_;
  PackedMetadata metadata_;

  std::atomic<std::int64_t> answer_count_{-1};
  std::atomic<std::int64_t> begun_{0};
  std::atomic<std::uint64_t> place_{0};
  bool has_certificate_ = false;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards what follows
  State state_ = State::kRunning;
  bool has_answer_rows_ = false;
  std::vector<std::int64_t> answer_rows_;
  std::unique_ptr<const Error> cancel_reason_;  // null: not cancelled
  CancelCallback cancel_callback_;              // mostly the only one
  std::unique_ptr<std::vector<CancelCallback>> more_callbacks_;
};

}  // namespace kvorum::rpc
