#include "rpc/call/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {
namespace {

constexpr std::uint32_t kMaxMessageBytes = 1'000'000;

// The messages that come out when the bytes arrive in portions of this size.
std::vector<std::string> Read(std::string_view bytes, std::size_t portion_bytes) {
  MessageReader reader(kMaxMessageBytes);
  std::vector<std::string> messages;
  while (!bytes.empty()) {
    std::string_view portion = bytes.substr(0, portion_bytes);
    bytes.remove_prefix(portion.size());
    while (!portion.empty()) {
      const auto used = reader.Feed(portion);
      EXPECT_TRUE(used.has_value());
      portion.remove_prefix(*used);
      if (reader.complete()) messages.emplace_back(reader.Take().view());
    }
  }
  EXPECT_EQ(reader.held_bytes(), 0);
  return messages;
}

TEST(MessageReaderTest, AnyPortionsGiveTheSameMessages) {
  const std::vector<std::string> messages{
      "", "a", std::string(300, 'b'), "", std::string(200'000, 'c'), "end"};
  std::string bytes;
  for (const std::string& message : messages) bytes += Message(message);
  for (const std::size_t portion : {1UL, 2UL, 5UL, 6UL, 100UL, 65'536UL, bytes.size()})
    EXPECT_EQ(Read(bytes, portion), messages) << portion;
}

TEST(MessageReaderTest, LengthIsCheckedBeforeAnyByteOfIt) {
  MessageReader reader(10);
  EXPECT_EQ(reader.Feed(Message(std::string(10, 'x'))), 15);
  (void)reader.Take();
  EXPECT_EQ(
      reader.Feed(Message(std::string(11, 'x')).substr(0, 5)).error(),
      (Error{Code::kResourceExhausted, "grpc: received message larger than max (11 vs. 10)"}));
}

TEST(MessageReaderTest, ALengthAllocatesNothing) {
  MessageReader reader(UINT32_MAX);
  ASSERT_EQ(reader.Feed(std::string("\0\xff\xff\xff\xff"
                                    "abc",
                                    8)),
            8);
  EXPECT_EQ(reader.held_bytes(), 8);
}

TEST(MessageReaderTest, FlagsMustFitTheEncoding) {
  EXPECT_EQ(MessageReader(10).Feed(Message("x", 1)).error().message,
            "grpc: compressed flag set with identity or empty encoding");
  EXPECT_EQ(MessageReader(10).Feed(Message("x", 7)).error().message,
            "grpc: received unexpected payload format 7");
}

}  // namespace
}  // namespace kvorum::rpc
