// The transport's end of HttpReply: an answer may be given on any thread, and is sent on the loop
// of its connection.
#pragma once

#include <memory>
#include <utility>

#include "rpc/http/http.h"
#include "rpc/io/loop.h"

namespace kvorum::rpc {

class LoopHttpSink : public HttpSink, public std::enable_shared_from_this<LoopHttpSink> {
 public:
  explicit LoopHttpSink(Loop& loop) : loop_(&loop), mailbox_(loop.mailbox()) {}

  void Complete(HttpResponse response) final {
    if (Loop::Current() == loop_) return Deliver(std::move(response));
    mailbox_->Post([self = shared_from_this(), response = std::move(response)]() mutable {
      self->Deliver(std::move(response));
    });
  }

 private:
  // Called on the loop; the connection may be gone.
  virtual void Deliver(HttpResponse response) = 0;

  Loop* const loop_;  // compared only
  const std::shared_ptr<Mailbox> mailbox_;
};

// A sink on HTTP/1's connection, which carries one answer at a time, with the answer's body. Used
// by the loop but for Complete.
class LoopHttpBody : public LoopHttpSink, public HttpBody {
 public:
  explicit LoopHttpBody(Loop& loop) : LoopHttpSink(loop), loop_(loop) {}

  // The client sends no more, and as a rule reads no more.
  void OnClientEnd() {
    if (gone_ != nullptr) std::exchange(gone_, nullptr)();
  }
  // The connection has taken all bytes.
  void OnOutputTaken() { Tell({}); }
  void OnGone(std::move_only_function<void()> callback) final { gone_ = std::move(callback); }

 protected:
  void set_written(Written written) { written_ = std::move(written); }
  // In the next wake-up, so that the handler's work finds this loop's hooks still to come.
  void Tell(Result<void> result) {
    if (written_ == nullptr) return;
    loop_.Post([written = std::exchange(written_, nullptr), result = std::move(result)]() mutable {
      written(std::move(result));
    });
  }

 private:
  Loop& loop_;
  std::move_only_function<void()> gone_;
  Written written_;
};

}  // namespace kvorum::rpc
