// The operations of a stream's handler on their way to the stream's loop: at most one Read and one
// Write at a time, and a Finish or Cut that ends it.
//
// The first part is thread-safe; each of its operations is followed by a push of the call, which
// lets the loop Take them. The callbacks run on the loop.
// Invariants: every callback runs once. Nothing is accepted after Finish: late operations are
// handed over apart, to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/service.h"

namespace kvorum::rpc {

class StreamOperations {
 public:
  // The operations that the loop has not processed yet.
  struct Batch {
    enum class Ending : std::uint8_t { kNone, kFinish, kCut };

    ServerStream::ReadCallback read;
    std::size_t framed_messages = 0;  // messages in `message`, which has their prefixes; 0: it is
                                      // one message
    ByteChain message;
    ServerStream::WriteCallback written;
    bool has_write = false;
    Ending ending = Ending::kNone;
    Error status;  // of the Finish, or the reason of the Cut
    // The callbacks of reads and writes that came after Finish.
    std::vector<std::move_only_function<void(Error)>> late;
  };

  // Takes the mutex for moments, and calls nothing meanwhile: it may be another object's.
  explicit StreamOperations(std::mutex& mutex) : mutex_(mutex) {}
  StreamOperations(const StreamOperations&) = delete;
  StreamOperations& operator=(const StreamOperations&) = delete;

  // ---- the handler's side ----
  void Read(ServerStream::ReadCallback callback);
  void Write(ByteChain message, std::size_t framed_messages, ServerStream::WriteCallback callback);
  // False if it was finished already: there is nothing to push.
  bool Finish(Error status);
  bool Cut(Error reason);

  // ---- the loop's side ----
  Batch Take();
  void SetReader(ServerStream::ReadCallback callback) { reader_ = std::move(callback); }
  void SetWriter(ServerStream::WriteCallback callback) { writer_ = std::move(callback); }
  bool has_reader() const { return reader_ != nullptr; }
  bool has_writer() const { return writer_ != nullptr; }
  // Run the outstanding callback; the handler may then start the next such operation, also from
  // within.
  void RunReader(Result<std::optional<SharedBytes>> result);
  void RunWriter(Result<void> result);
  // Runs both, where outstanding, with the error. Operations that they start fail in the same way,
  // in a later batch.
  void FailAll(const Error& reason);

 private:
  // Returns the batch that the loop takes next. The caller holds the mutex.
  Batch& Next();

  std::mutex& mutex_;             // guards what follows, up to the loop's part
  std::unique_ptr<Batch> batch_;  // null while there are no operations, which is most of the time
  bool read_outstanding_ = false;
  bool write_outstanding_ = false;
  bool finished_ = false;

  ServerStream::ReadCallback reader_;
  ServerStream::WriteCallback writer_;
};

}  // namespace kvorum::rpc
