// Signals as calls on a thread of the watch. Unblock belongs to it, all else to the creating one.
//
// To be created before any other thread, which inherits that the signals are blocked.
#pragma once

#include <functional>
#include <initializer_list>
#include <thread>
#include <vector>

namespace kvorum::ctl {

class SignalWatch {
 public:
  // Blocks the signals: they wait until Listen.
  explicit SignalWatch(std::initializer_list<int> signals);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Once. `on_signal` gets the signal that came, and may wait.
  void Listen(std::function<void(int signal)> on_signal);
  // Nothing is called any more once it has returned.
  void Stop();
  // Lets the signals do what they do by default, on this thread.
  void Unblock() const;

 private:
  void Wait(const std::function<void(int signal)>& on_signal) const;

  const std::vector<int> signals_;
  int wake_fd_ = -1;  // signalled when the thread is to end
  std::thread thread_;
};

}  // namespace kvorum::ctl
