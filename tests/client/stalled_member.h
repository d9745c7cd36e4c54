// A member that accepts a connection and its calls, and then reads no more than a fixed number of
// bytes of requests in each of them: its HTTP/2 windows are never opened again, like those of a
// frozen process. It answers nothing.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace kvorum::client {

class StalledMember {
 public:
  explicit StalledMember(std::uint32_t window_bytes);
  ~StalledMember();
  StalledMember(const StalledMember&) = delete;
  StalledMember& operator=(const StalledMember&) = delete;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  void AwaitCall() const { calls_.wait(0); }
  // Waits until its calls have sent this many bytes in all.
  void AwaitBytes(std::uint32_t wanted) const;
  // True if it has been sent anything at all.
  bool was_spoken_to() const { return was_spoken_to_; }

 private:
  void Serve();

  const std::uint32_t window_bytes_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connection_{-1};
  std::atomic<bool> was_spoken_to_{false};
  std::atomic<std::uint32_t> calls_{0};
  std::atomic<std::uint32_t> bytes_{0};
  std::thread thread_;
};

}  // namespace kvorum::client
