// Lets callbacks in until it is closed. Once Close has returned, no callback runs and none will, so
// that the objects that they use may go away.
//
// Thread-safe. Close may be called inside a callback: it waits for the callbacks of other threads
// only. Two callbacks on two threads that close each other's gates wait for ever; code that cannot
// exclude that closes without waiting inside of any callback (is_inside_any).
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace kvorum::sync {

class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // The presence of one callback: `if (Gate::Visit visit(gate); visit.is_in()) callback();`
  class Visit {
   public:
    explicit Visit(Gate& gate) : gate_(gate), is_in_(gate.Enter()) {}
    ~Visit() {
      if (is_in_) gate_.Leave();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    bool is_in() const { return is_in_; }

   private:
    Gate& gate_;
    const bool is_in_;
  };

  void Close();
  // Lets no more callbacks in, and leaves those inside alone.
  void CloseWithoutWaiting();
  // This thread is inside a callback of some gate.
  static bool is_inside_any();
  bool is_closed() const;
  // Closed, and no callback is inside any more.
  bool is_deserted() const;

 private:
  bool Enter();
  void Leave();

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::vector<std::thread::id> inside_;  // one for each visit
  bool closed_ = false;
};

}  // namespace kvorum::sync
