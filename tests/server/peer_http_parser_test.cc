#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "server/peer/http_parser.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMaxHeadBytes = 4096;

TEST(PeerHttpParserTest, AConnectionThatEndsBeforeItsFirstByteIsAnError) {
  for (const auto kind : {HttpParser::Kind::kRequest, HttpParser::Kind::kResponse}) {
    HttpParser parser(kind, kMaxHeadBytes);
    const auto ended = parser.PutEnd();
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(parser.done());
  }
}

TEST(PeerHttpParserTest, AConnectionThatEndsWithinTheHeadIsAnError) {
  HttpParser parser(HttpParser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  ASSERT_TRUE(parser.Put("HTTP/1.1 200 OK\r\nContent-", body).has_value());
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(PeerHttpParserTest, ABodyShorterThanItsLengthIsAnError) {
  HttpParser parser(HttpParser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
  std::string body;
  while (!input.empty()) {
    const auto used = parser.Put(input, body);
    ASSERT_TRUE(used.has_value());
    input.erase(0, *used);
  }
  EXPECT_EQ(body, "ab");
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(PeerHttpParserTest, ABodyWithoutLengthEndsWithTheConnection) {
  HttpParser parser(HttpParser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\n\r\nall of it";
  std::string body;
  while (!input.empty()) {
    const auto used = parser.Put(input, body);
    ASSERT_TRUE(used.has_value());
    input.erase(0, *used);
  }
  EXPECT_FALSE(parser.done());
  EXPECT_TRUE(parser.PutEnd().has_value());
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "all of it");
}

}  // namespace
}  // namespace kvorum::server
