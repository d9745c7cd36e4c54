// Any bytes as a DNS packet: the answer is empty, or a response of the packet's id within its
// bounds, and a good question is answered afterwards as before.
//
// The first byte of the input: even, over UDP; odd, over TCP.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dns/responder.h"
#include "tests/dns/fake_directory.h"

namespace {

using namespace kvorum::dns;

void Require(bool condition) {
  if (!condition) std::abort();
}

const Directory& Services() {
  static const FakeDirectory directory = [] {
    FakeDirectory services;
    for (int i = 0; i < 24; ++i) services.Add("web", "10.0.0." + std::to_string(i) + ":80");
    services.Add("web", "[2001:db8::1]:80").Add("web", "db.example.org:5432");
    return services;
  }();
  return directory;
}

constexpr std::string_view kGood(
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03web\x07service\x06kvorum\x00\x00\x21\x00"
    "\x01",
    36);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Responder responder(Services(), 1);
  const Transport transport = data[0] % 2 == 0 ? Transport::kUdp : Transport::kTcp;
  const std::string_view packet(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string reply = responder.Answer(packet, transport);
  if (!reply.empty()) {
    Require(reply.size() >= 12 && reply.size() <= (transport == Transport::kUdp ? 1232U : 65535U));
    Require(reply.substr(0, 2) == packet.substr(0, 2));
    Require((static_cast<unsigned char>(reply[2]) & 0x80U) != 0);
  }
  Require(responder.Answer(kGood, Transport::kUdp).size() > 400);
  return 0;
}
