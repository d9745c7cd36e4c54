// Waits for other threads: checks again and again until the condition holds, with a time limit that
// only a test that would wait for ever reaches.
#pragma once

#include <chrono>
#include <concepts>
#include <thread>

namespace kvorum {

template <std::predicate Condition>
bool Eventually(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kvorum
