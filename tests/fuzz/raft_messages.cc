// Peers' messages as bytes, into a member that runs: a message that decodes may be refused or may
// mislead the member, but never breaks it (tests/raft/victim.h checks).
//
// Input: one byte that says what happens next; for a message two bytes of length and its bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/raft/victim.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kvorum::raft::Victim;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto take = [&]() -> std::size_t {
    if (input.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(input.front());
    input.remove_prefix(1);
    return byte;
  };
  Victim victim(take());
  while (!input.empty()) {
    switch (take() % 8) {
      case 0:
        victim.Tick();
        break;
      case 1:
        victim.TakeReady();
        break;
      case 2:
        victim.PersistOne();
        break;
      case 3:
        victim.ApplyOne();
        break;
      case 4:
        victim.Work();
        break;
      case 5:
        victim.node().Campaign();
        break;
      default: {
        const std::size_t length = (take() << 8) + take();
        const std::string_view bytes = input.substr(0, length);
        input.remove_prefix(bytes.size());
        auto message = kvorum::raft::DecodeMessage(kvorum::SharedBytes::Copy(bytes));
        if (message.has_value()) victim.Receive(*std::move(message));
      }
    }
  }
  victim.Work();
  return 0;
}
