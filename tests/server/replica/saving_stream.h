// A save's stream. The client takes a write when the test says so, on the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "rpc/call/service.h"
#include "tests/eventually.h"

namespace kvorum::server {

class SavingStream final : public rpc::ServerStream {
 public:
  rpc::CallContext& context() override { return context_; }
  void Read(ReadCallback callback) override { callback(SharedBytes()); }
  void Write(ByteChain, WriteCallback) override { ADD_FAILURE() << "not by single messages"; }
  void WriteFrames(ByteChain frames, std::size_t, WriteCallback callback) override {
    const std::lock_guard lock(mutex_);
    for (const SharedBytes& frame : frames) bytes_ += frame.size();
    outstanding_ = std::move(callback);
  }
  std::size_t buffered_bytes() const override { return 0; }
  void Finish(Error status) override {
    const std::lock_guard lock(mutex_);
    if (!status_) status_ = std::move(status);
  }
  void Cut(Error reason) override { Finish(std::move(reason)); }

  // False if nothing waits to be taken.
  bool Take(const Result<void>& taken = {}) {
    WriteCallback callback;
    {
      const std::lock_guard lock(mutex_);
      callback = std::exchange(outstanding_, nullptr);
    }
    if (callback == nullptr) return false;
    callback(taken);
    return true;
  }
  void TakeAll() {
    EXPECT_TRUE(Eventually([this] {
      Take();
      return status().has_value();
    }));
  }
  bool waits() const {
    const std::lock_guard lock(mutex_);
    return outstanding_ != nullptr;
  }
  std::optional<Error> status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  std::uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  rpc::CallContext context_;
  mutable std::mutex mutex_;
  WriteCallback outstanding_;
  std::optional<Error> status_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kvorum::server
