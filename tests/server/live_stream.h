// A stream whose client goes on: it sends when the test says so, and ends when the test does.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/task.h"
#include "rpc/call/service.h"

namespace kvorum::server {

class LiveStream final : public rpc::ServerStream, public std::enable_shared_from_this<LiveStream> {
 public:
  explicit LiveStream(Executor& io) : io_(io) {}

  rpc::CallContext& context() override { return context_; }
  void Read(ReadCallback callback) override {
    if (before_read_) before_read_();
    if (status_) return Refuse(std::move(callback));
    KV_CHECK(!reader_, "one read at a time");
    reader_ = std::move(callback);
    PassRead();
  }
  void Write(ByteChain message, WriteCallback callback) override {
    if (status_) return Refuse(std::move(callback));
    KV_CHECK(!writing_, "one write at a time");
    writing_ = true;
    messages_.push_back(Join(message));
    io_.Post([self = shared_from_this(), callback = std::move(callback)]() mutable {
      self->writing_ = false;
      callback({});
    });
  }
  void WriteFrames(ByteChain, std::size_t, WriteCallback) override {
    KV_CHECK(false, "nobody here writes frames");
  }
  std::size_t buffered_bytes() const override { return 0; }
  void Finish(Error status) override {
    if (status_) return;
    status_ = std::move(status);
    Break();
  }
  void Cut(Error reason) override {
    if (status_) return;
    status_ = reason;
    context_.Cancel(std::move(reason));
    Break();
  }

  void Send(std::string message) {
    sent_.push_back(std::move(message));
    PassRead();
  }
  void EndSending() {
    sent_.push_back(std::nullopt);
    PassRead();
  }
  // The client is gone.
  void Break() {
    io_.Post([self = shared_from_this()] {
      if (self->reader_)
        std::exchange(self->reader_, nullptr)(Fail(Code::kCanceled, "context canceled"));
    });
  }
  // A hook between the server's decision to read and its Read.
  void BeforeRead(std::function<void()> hook) { before_read_ = std::move(hook); }
  // For a test's end: the server's pending operations hold the stream, which holds them.
  void Drop() { reader_ = nullptr; }
  const std::vector<std::string>& messages() const { return messages_; }
  const std::optional<Error>& status() const { return status_; }
  // Sent and not read by the server.
  std::size_t unread() const { return sent_.size(); }

 private:
  // For operations after the end.
  template <class Callback>
  void Refuse(Callback callback) {
    io_.Post([callback = std::move(callback)]() mutable {
      callback(Fail(Code::kCanceled, "context canceled"));
    });
  }
  void PassRead() {
    io_.Post([self = shared_from_this()] {
      if (!self->reader_ || self->sent_.empty()) return;
      std::optional<std::string> next = std::move(self->sent_.front());
      self->sent_.pop_front();
      ReadCallback reader = std::exchange(self->reader_, nullptr);
      if (!next.has_value()) return reader(std::nullopt);
      reader(SharedBytes::Own(*std::move(next)));
    });
  }

  Executor& io_;
  rpc::CallContext context_;
  std::function<void()> before_read_;
  ReadCallback reader_;
  bool writing_ = false;
  std::deque<std::optional<std::string>> sent_;
  std::vector<std::string> messages_;
  std::optional<Error> status_;
};

}  // namespace kvorum::server
