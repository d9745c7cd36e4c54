// A member that accepts a connection and its calls, and then takes no more than so many bytes of
// requests in each of them: its HTTP/2 windows are never opened again, as those of a process that
// is frozen. It answers nothing.
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
  // Until its calls have sent so many bytes in all.
  void AwaitBytes(std::uint32_t wanted) const;
  // Whether it has been sent anything at all.
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
