#include "rpc/http/chunked_body.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/damage.h"

namespace kvorum::rpc {
namespace {

constexpr std::size_t kMaxTrailerBytes = 1000;

struct Outcome {
  std::string body;
  std::string error;
  std::size_t used = 0;
  bool done = false;
};

// Feeds the text in pieces of this size.
Outcome Feed(std::string_view text, std::size_t piece_bytes = std::string_view::npos) {
  ChunkedBody chunks(kMaxTrailerBytes);
  Outcome outcome;
  while (outcome.used < text.size() && !chunks.done()) {
    const auto used = chunks.Put(text.substr(outcome.used, piece_bytes), outcome.body);
    if (!used.has_value()) {
      outcome.error = used.error().message;
      return outcome;
    }
    outcome.used += *used;
  }
  outcome.done = chunks.done();
  return outcome;
}

TEST(ChunkedBodyTest, ItsDataIsTheSameHoweverItIsCut) {
  const std::string_view text =
      "3\r\nabc\r\n00A;x=\"y z\";q\r\n0123456789\r\n1 \r\nd\r\n0;last\r\nA-b: c "
      "d\r\nE:\r\n\r\nnext";
  for (std::size_t piece_bytes = 1; piece_bytes <= text.size(); ++piece_bytes) {
    const Outcome outcome = Feed(text, piece_bytes);
    EXPECT_EQ(outcome.error, "") << piece_bytes;
    EXPECT_TRUE(outcome.done) << piece_bytes;
    EXPECT_EQ(outcome.body, "abc0123456789d") << piece_bytes;
    EXPECT_EQ(text.substr(outcome.used), "next") << piece_bytes;
  }
}

TEST(ChunkedBodyTest, EachLengthCutIsNoErrorYet) {
  const std::string_view text = "2;a=b\r\nok\r\n0\r\nX: y\r\n\r\n";
  ForEachCut(text, [](std::string_view cut) {
    const Outcome outcome = Feed(cut);
    EXPECT_EQ(outcome.error, "");
    EXPECT_FALSE(outcome.done);
    EXPECT_EQ(outcome.used, cut.size()) << "nothing is left to the caller";
  });
}

TEST(ChunkedBodyTest, AnotherFramingIsMalformed) {
  for (const std::string_view text :
       {"\r\n", ";\r\n", "g\r\n", "-1\r\n", "0x2\r\nok", "2\nok\r\n", "2\rok", "2 3\r\n", "2,\r\n",
        "2;a\x01\r\n", "2;a\nb", "2\r\nokay\r\n", "2\r\nok\n0\r\n", "00000000000000001\r\n"})
    EXPECT_EQ(Feed(text).error, "HTTP: bad chunk") << text;
  for (const std::string_view text :
       {"0\r\nno colon\r\n", "0\r\n: b\r\n", "0\r\n b\r\n", "0\r\na: b\n", "0\r\na: b\r\r",
        "0\r\n\n", "0\r\na: \x01\r\n", "0\r\n\rx", "0\r\na : b\r\n"})
    EXPECT_EQ(Feed(text).error, "HTTP: bad trailer") << text;
}

TEST(ChunkedBodyTest, TheLargestSizeIsTakenAsSuch) {
  const Outcome outcome = Feed("ffffffffffffffff\r\nabc");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.body, "abc");
}

TEST(ChunkedBodyTest, WhatStandsAroundTheDataIsBounded) {
  EXPECT_EQ(Feed("1;" + std::string(ChunkedBody::kMaxLineBytes, 'x')).error,
            "HTTP: a chunk's line is too long");
  EXPECT_EQ(Feed("0;" + std::string(ChunkedBody::kMaxLineBytes, 'x')).error,
            "HTTP: a chunk's line is too long");
  EXPECT_EQ(Feed("1" + std::string(ChunkedBody::kMaxLineBytes, ' ')).error,
            "HTTP: a chunk's line is too long");
  EXPECT_EQ(Feed(std::string(100, '0')).error, "HTTP: bad chunk");

  std::string chunk = "1;" + std::string(4000, 'x') + "\r\na\r\n";
  std::string many;
  for (int i = 0; i < 4; ++i) many += chunk;
  EXPECT_EQ(Feed(many).error, "");
  EXPECT_EQ(Feed(many + chunk).error, "HTTP: too much around the chunks");
  // Small chunks are a matter of taste.
  std::string small;
  for (int i = 0; i < 100'000; ++i) small += "1;abc\r\na\r\n";
  EXPECT_EQ(Feed(small).error, "");
}

TEST(ChunkedBodyTest, TrailersAreBounded) {
  const std::string line = "a: " + std::string(95, 'b') + "\r\n";
  std::string lines;
  for (int i = 0; i < 9; ++i) lines += line;
  EXPECT_TRUE(Feed("0\r\n" + lines + "\r\n").done);
  EXPECT_EQ(Feed("0\r\n" + lines + line + line).error, "HTTP: the trailers are too large");
  EXPECT_EQ(Feed("0\r\na: " + std::string(2000, 'b')).error, "HTTP: the trailers are too large");
}

}  // namespace
}  // namespace kvorum::rpc
