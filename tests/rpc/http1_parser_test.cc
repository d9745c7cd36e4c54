#include "rpc/http1_parser.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace kvorum::rpc {
namespace {

constexpr std::size_t kMaxHeadBytes = 4096;

// Feeds the parser until it needs more, as its owners do; `input` keeps the rest.
void PutAll(Http1Parser& parser, std::string& input, std::string& body) {
  while (!input.empty() && !parser.done()) {
    const auto used = parser.Put(input, body);
    ASSERT_TRUE(used.has_value());
    if (*used == 0) return;
    input.erase(0, *used);
  }
}

TEST(Http1ParserTest, AConnectionThatEndsBeforeItsFirstByteIsAnError) {
  for (const auto kind : {Http1Parser::Kind::kRequest, Http1Parser::Kind::kResponse}) {
    Http1Parser parser(kind, kMaxHeadBytes);
    const auto ended = parser.PutEnd();
    ASSERT_FALSE(ended.has_value());
    EXPECT_EQ(ended.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(parser.done());
  }
}

TEST(Http1ParserTest, AConnectionThatEndsWithinTheHeadIsAnError) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  ASSERT_TRUE(parser.Put("HTTP/1.1 200 OK\r\nContent-", body).has_value());
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(Http1ParserTest, ABodyShorterThanItsLengthIsAnError) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_EQ(body, "ab");
  EXPECT_FALSE(parser.PutEnd().has_value());
}

TEST(Http1ParserTest, ABodyWithoutLengthEndsWithTheConnection) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string input = "HTTP/1.1 200 OK\r\n\r\nall of it";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_FALSE(parser.done());
  EXPECT_TRUE(parser.PutEnd().has_value());
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "all of it");
}

// The last chunk's header byte by byte, as in the pieces that a socket may give out.
TEST(Http1ParserTest, AChunkedBodyMayComeByteByByte) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input;
  std::string body;
  for (const char byte :
       std::string("POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n1\r\nd\r\n0\r\na: b\r\n\r\n")) {
    EXPECT_FALSE(parser.done());
    input += byte;
    PutAll(parser, input, body);
  }
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "abcd");
}

TEST(Http1ParserTest, ABodyOfOnlyTheLastChunkMayComeInPieces) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input;
  std::string body;
  for (const std::string_view piece :
       {"POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n", "a",
        ": b\r\n\r\n"}) {
    input += piece;
    PutAll(parser, input, body);
  }
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(body, "");
}

// rpc/http1_rules.h has the rules, and tests/rpc/http1_test.cc tests them.
TEST(Http1ParserTest, AHeadThatCanBeReadInTwoWaysIsRefused) {
  const auto code = [](std::string_view head) {
    Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
    std::string body;
    const auto used = parser.Put(head, body);
    return used.has_value() ? Code::kOk : used.error().code;
  };
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Code::kOk);
  EXPECT_EQ(code("GET / HTTP/1.0\r\n\r\n"), Code::kOk);
  EXPECT_EQ(code("GET / HTTP/1.1\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), Code::kInvalidArgument);
  EXPECT_EQ(code("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
            Code::kUnimplemented);
  EXPECT_EQ(code("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n"),
            Code::kInvalidArgument);
}

TEST(Http1ParserTest, AnAnswerNeedsNoHost) {
  Http1Parser parser(Http1Parser::Kind::kResponse, kMaxHeadBytes);
  std::string body;
  EXPECT_TRUE(parser.Put("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body).has_value());
  EXPECT_TRUE(parser.done());
}

// Such a field after the body does not affect the framing.
TEST(Http1ParserTest, TrailersAreNotJudged) {
  Http1Parser parser(Http1Parser::Kind::kRequest, kMaxHeadBytes);
  std::string input =
      "POST /raft HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1\r\na\r\n0\r\nHost: b\r\n\r\n";
  std::string body;
  PutAll(parser, input, body);
  EXPECT_TRUE(parser.done());
}

}  // namespace
}  // namespace kvorum::rpc
