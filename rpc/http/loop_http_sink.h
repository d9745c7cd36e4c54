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

}  // namespace kvorum::rpc
