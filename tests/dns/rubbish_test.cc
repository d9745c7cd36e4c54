// Packets that are not questions: each gets an error or no answer, and the next good one its own.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/rng.h"
#include "dns/responder.h"
#include "dns/wire.h"
#include "tests/damage.h"
#include "tests/dns/dns_client.h"
#include "tests/dns/fake_directory.h"

namespace kvorum::dns {
namespace {

class DnsRubbish : public testing::Test {
 protected:
  DnsRubbish() {
    for (int i = 0; i < 40; ++i) directory_.Add("web", "10.0.0." + std::to_string(i) + ":80");
  }
  std::string Answer(const std::string& packet) {
    return responder_.Answer(packet, Transport::kUdp);
  }
  // The error alone, under the packet's id.
  int RcodeOf(const std::string& packet) {
    const std::string reply = Answer(packet);
    EXPECT_EQ(reply.substr(0, 2), packet.substr(0, 2));
    return Read(reply).rcode;
  }
  // Every answer is well-formed and within its bounds.
  void Survive(const std::string& packet) {
    const std::string reply = Answer(packet);
    if (reply.empty()) return;
    ASSERT_GE(packet.size(), 12);
    EXPECT_LE(reply.size(), 1232);
    EXPECT_EQ(reply.substr(0, 2), packet.substr(0, 2));
    EXPECT_TRUE(Read(reply).is_response);
  }

  FakeDirectory directory_;
  Responder responder_{directory_, 3};
};

const Ask kGood{.name = "web.service.kvorum", .edns_bytes = 1232};

TEST_F(DnsRubbish, LessThanAHeaderAndResponsesGetNoAnswer) {
  const std::string good = PacketOf(kGood);
  ForEachCut(good.substr(0, 12),
             [this](std::string_view cut) { EXPECT_EQ(Answer(std::string(cut)), ""); });
  EXPECT_EQ(Answer(PacketOf({.name = "web.service.kvorum", .flags = 0x8000})), "");
  EXPECT_EQ(Answer(std::string(64, '\xff')), "");
}

TEST_F(DnsRubbish, OtherOpcodesAreNotImplemented) {
  for (unsigned opcode = 1; opcode < 16; ++opcode)
    EXPECT_EQ(RcodeOf(PacketOf({.name = "web.service.kvorum", .flags = opcode << 11U})),
              ns_r_notimpl);
}

TEST_F(DnsRubbish, AnotherFormThanOneQuestionIsAFormatError) {
  const std::string good = PacketOf(kGood);
  ForEachCut(good, [this](std::string_view cut) {
    if (cut.size() >= 12) {
      EXPECT_EQ(RcodeOf(std::string(cut)), ns_r_formerr);
    }
  });
  EXPECT_EQ(RcodeOf(good + "x"), ns_r_formerr);
  EXPECT_EQ(RcodeOf(PacketOf({.name = "web.service.kvorum", .questions = 0})), ns_r_formerr);
  EXPECT_EQ(RcodeOf(PacketOf({.name = "web.service.kvorum", .questions = 65535})), ns_r_formerr);
  std::string two = PacketOf({.name = "web.service.kvorum", .questions = 2});
  EXPECT_EQ(RcodeOf(two + two.substr(12)), ns_r_formerr);
  for (const int count : {7, 9, 11}) {  // an answer, an authority, a second additional record
    std::string counted = good;
    ++counted[static_cast<std::size_t>(count)];
    EXPECT_EQ(RcodeOf(counted), ns_r_formerr);
  }
  EXPECT_EQ(RcodeOf(PacketOf({.name = "kvorum", .type = ns_t_opt})), ns_r_formerr);
  EXPECT_EQ(RcodeOf(PacketOf({.name = "a", .behind = std::string(kMaxQueryBytes, 'a')})),
            ns_r_formerr);
}

TEST_F(DnsRubbish, NamesThatLoopOrAreTooLongAreAFormatError) {
  const std::string header = PacketOf(kGood).substr(0, 10) + Bytes16(0);
  const std::string tail = Bytes16(ns_t_a) + Bytes16(ns_c_in);
  EXPECT_EQ(RcodeOf(header + "\xc0\x0c" + tail), ns_r_formerr);  // itself
  EXPECT_EQ(RcodeOf(header +
                    "\x01"
                    "a\xc0\x0c" +
                    tail),
            ns_r_formerr);  // its own beginning
  EXPECT_EQ(RcodeOf(header + Bytes16(0xc000) + tail), ns_r_formerr);
  EXPECT_EQ(RcodeOf(header + "\x40" + std::string(64, 'a') + '\0' + tail), ns_r_formerr);
  std::string longest;
  for (int i = 0; i < 127; ++i)
    longest +=
        "\x01"
        "a";
  EXPECT_EQ(RcodeOf(header + longest + '\0' + tail), ns_r_refused);  // 255 bytes, not ours
  EXPECT_EQ(RcodeOf(header + longest +
                    "\x01"
                    "a" +
                    '\0' + tail),
            ns_r_formerr);
}

TEST_F(DnsRubbish, OneByteFlippedIsSurvived) {
  const std::string good = PacketOf(kGood);
  const auto survive = [this](std::string_view flipped, std::size_t /*at*/) {
    Survive(std::string(flipped));
  };
  ForEachFlip(good, survive);
  ForEachFlip(good, survive, std::array{0xff});
  EXPECT_FALSE(Read(Answer(good)).answers.empty());
}

TEST_F(DnsRubbish, RandomPacketsAreSurvived) {
  Rng rng(18);
  const std::string good = PacketOf(kGood);
  for (int round = 0; round < 20'000; ++round) {
    // Rubbish behind a true beginning of random length.
    std::string packet = good.substr(0, rng.Below(good.size() + 1));
    const std::size_t more = rng.Below(rng.OneIn(10) ? 5000 : 60);
    for (std::size_t i = 0; i < more; ++i) packet += static_cast<char>(rng());
    Survive(packet);
  }
  EXPECT_FALSE(Read(Answer(good)).answers.empty());
}

}  // namespace
}  // namespace kvorum::dns
