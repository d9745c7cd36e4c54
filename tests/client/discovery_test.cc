#include <gtest/gtest.h>

#include "base/net/srv_records.h"
#include "tests/damage.h"

namespace kvorum::client {
namespace {

// A name server's answer with two records and, as servers do, names that point back into it.
std::vector<std::uint8_t> TwoRecords() {
  std::vector<std::uint8_t> message;
  const auto add = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) message.push_back(static_cast<std::uint8_t>(byte));
  };
  const auto add_record = [&](int priority, int weight, char host) {
    add({0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 10});
    add({0, priority, 0, weight, 0x09, 0x4b, 1, host, 0xc0, 15});
  };
  add({0x12, 0x34, 0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0});  // header: 1 question, 2 answers
  add({2, '_', 's', 2, 'x', 'y', 0, 0, 33, 0, 1});        // at 12: _s.xy SRV IN
  add_record(20, 0, 'b');
  add_record(10, 5, 'a');
  return message;
}

TEST(DiscoveryTest, RecordsComeInTheOrderOfTheirPriority) {
  const auto records = ParseSrvAnswer(TwoRecords());
  ASSERT_TRUE(records);
  EXPECT_EQ(*records, (std::vector<SrvRecord>{{10, 5, 2379, "a.xy"}, {20, 0, 2379, "b.xy"}}));
}

TEST(DiscoveryTest, AnAnswerCutShortIsRefusedAndAFlippedByteDoesNoHarm) {
  const std::vector<std::uint8_t> message = TwoRecords();
  const std::string whole(message.begin(), message.end());
  const auto parse = [](std::string_view bytes) {
    return ParseSrvAnswer(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  };
  ForEachCut(whole, [&](std::string_view cut) { EXPECT_FALSE(parse(cut)); });
  int refused = 0;
  const auto read = [&](std::string_view flipped, std::size_t /*at*/) {
    const auto records = parse(flipped);
    if (!records) {
      ++refused;
      return;
    }
    EXPECT_LE(records->size(), 2U);
    for (const SrvRecord& record : *records)
      EXPECT_TRUE(record.target.size() <= 255 && record.target.find('\0') == std::string::npos);
  };
  ForEachFlip(whole, read, std::array{0xff});
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace kvorum::client
