#include "rpc/call/stream_operations.h"

#include "base/check.h"

namespace kvorum::rpc {

StreamOperations::Batch& StreamOperations::Next() {
  if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
  return *batch_;
}

void StreamOperations::Read(ServerStream::ReadCallback callback) {
  std::lock_guard lock(mutex_);
  if (finished_) {
    Next().late.emplace_back([callback = std::move(callback)](Error reason) mutable {
      callback(Fail(std::move(reason)));
    });
  } else {
    KV_CHECK(!read_outstanding_, "a second Read on a stream");
    read_outstanding_ = true;
    Next().read = std::move(callback);
  }
}

void StreamOperations::Write(ByteChain message, std::size_t framed_messages,
                             ServerStream::WriteCallback callback) {
  std::lock_guard lock(mutex_);
  if (finished_) {
    Next().late.emplace_back([callback = std::move(callback)](Error reason) mutable {
      if (callback) callback(Fail(std::move(reason)));
    });
  } else {
    KV_CHECK(!write_outstanding_, "a second Write on a stream");
    write_outstanding_ = true;
    Batch& next = Next();
    next.has_write = true;
    next.framed_messages = framed_messages;
    next.message = std::move(message);
    next.written = std::move(callback);
  }
}

bool StreamOperations::Finish(Error status) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  finished_ = true;
  Batch& next = Next();
  // The loop has not seen the Cut yet, and its reason counts.
  if (next.ending == Batch::Ending::kCut) return true;
  next.ending = Batch::Ending::kFinish;
  next.status = std::move(status);
  return true;
}

bool StreamOperations::Cut(Error reason) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  Batch& next = Next();
  next.ending = Batch::Ending::kCut;
  next.status = std::move(reason);
  return true;
}

StreamOperations::Batch StreamOperations::Take() {
  std::unique_ptr<Batch> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(batch_);
  }
  return taken == nullptr ? Batch() : std::move(*taken);
}

void StreamOperations::RunReader(Result<std::optional<SharedBytes>> result) {
  {
    std::lock_guard lock(mutex_);
    read_outstanding_ = false;
  }
  ServerStream::ReadCallback callback = std::exchange(reader_, nullptr);
  callback(std::move(result));
}

void StreamOperations::RunWriter(Result<void> result) {
  {
    std::lock_guard lock(mutex_);
    write_outstanding_ = false;
  }
  ServerStream::WriteCallback callback = std::exchange(writer_, nullptr);
  if (callback) callback(std::move(result));
}

void StreamOperations::FailAll(const Error& reason) {
  if (reader_) RunReader(Fail(reason));
  if (writer_) RunWriter(Fail(reason));
}

}  // namespace kvorum::rpc
