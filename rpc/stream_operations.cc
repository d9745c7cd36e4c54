#include "rpc/stream_operations.h"

#include "base/check.h"

namespace kvorum::rpc {

void StreamOperations::Read(ServerStream::ReadCallback callback) {
  std::lock_guard lock(mutex_);
  if (finished_) {
    batch_.late.emplace_back([callback = std::move(callback)](Error reason) mutable {
      callback(Fail(std::move(reason)));
    });
  } else {
    KV_CHECK(!read_outstanding_, "a second Read on a stream");
    read_outstanding_ = true;
    batch_.read = std::move(callback);
  }
}

void StreamOperations::Write(ByteChain message, std::size_t framed_messages,
                             ServerStream::WriteCallback callback) {
  std::lock_guard lock(mutex_);
  if (finished_) {
    batch_.late.emplace_back([callback = std::move(callback)](Error reason) mutable {
      if (callback) callback(Fail(std::move(reason)));
    });
  } else {
    KV_CHECK(!write_outstanding_, "a second Write on a stream");
    write_outstanding_ = true;
    batch_.has_write = true;
    batch_.framed_messages = framed_messages;
    batch_.message = std::move(message);
    batch_.written = std::move(callback);
  }
}

bool StreamOperations::Finish(Error status) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  finished_ = true;
  // The loop has not seen the Cut yet, and its reason counts.
  if (batch_.ending == Batch::Ending::kCut) return true;
  batch_.ending = Batch::Ending::kFinish;
  batch_.status = std::move(status);
  return true;
}

bool StreamOperations::Cut(Error reason) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  batch_.ending = Batch::Ending::kCut;
  batch_.status = std::move(reason);
  return true;
}

StreamOperations::Batch StreamOperations::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(batch_, {});
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
