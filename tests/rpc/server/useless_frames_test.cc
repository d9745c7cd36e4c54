// Frames that cost no memory and bring nothing, without an end: decision 0064.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

// Frames that cost no memory and bring nothing, by a client that reads: each kind without an end.
TEST(UselessFramesTest, FramesThatBringNothingAreCutOff) {
  const std::string open = OpenStream(1, "/test.Echo/Chat");
  const std::string reset = Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel));
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {open, Frame(FrameType::kPriority, 0, 1, std::string("\0\0\0\0\x0f", 5))},
      {open, Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(1))},
      {open, Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1))},
      {open, Frame(FrameType::kData, 0, 1, "")},
      {open, Frame(FrameType::kData, 8, 1, std::string(1, '\0'))},  // padded with nothing
      {open + Frame(FrameType::kData, 0, 1, std::string("\0\0\x0f\xff\xff", 5)),
       Frame(FrameType::kData, 0, 1, "x")},
      {open + reset, Frame(FrameType::kData, 0, 1, "after the end")},
      {open + reset, Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1))},
      {"", Frame(FrameType::kSettings, 0, 0, "")},
      {"", Frame(FrameType::kSettings, 0, 0, std::string("\0\4", 2) + BigEndian32(70'000))},
      {"", Frame(FrameType::kPing, kAck, 0, "12345678")},
      {open, Frame(FrameType::kGoAway, 0, 0, BigEndian32(0) + BigEndian32(0))},
      {"", Frame(static_cast<FrameType>(0x77), 0, 0, "")},
      {"", Frame(static_cast<FrameType>(0x77), 0, 9, std::string(100, 'u'))},
  };
  TestServer server;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Http2Client client(server.port(), Handshake() + kinds[i].first);
    // Answers are read while it sends, so that no full socket ends this.
    std::thread sender([&] {
      std::string flood;
      for (int j = 0; j < 1000; ++j) flood += kinds[i].second;
      for (int j = 0; j < 1000 && client.Send(flood); ++j) {
      }
      client.socket().CloseWriting();
    });
    std::string received;
    for (std::string piece; !(piece = client.socket().Receive()).empty();) received += piece;
    sender.join();
    EXPECT_NE(received.find("too_many_frames"), std::string::npos) << "kind " << i;
  }
  EXPECT_TRUE(Http2Client(server.port()).Works(1));
}

// CVE-2019-9511: a large answer, let out byte by byte.
TEST(UselessFramesTest, AnAnswerThatIsTakenByteByByteIsCutOff) {
  TestServer server;
  Http2Client client(server.port(), std::string(kPreface) +
                                        Frame(FrameType::kSettings, 0, 0,
                                              std::string("\0\4", 2) + BigEndian32(0)) +
                                        UnaryCall(1, "/test.Echo/Size", "1000000"));
  std::thread sender([&] {
    std::string flood;
    for (int j = 0; j < 1000; ++j) flood += Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1));
    for (int j = 0; j < 60 && client.Send(flood); ++j) {
    }
    client.socket().CloseWriting();
  });
  std::string received;
  for (std::string piece; !(piece = client.socket().Receive()).empty();) received += piece;
  sender.join();
  EXPECT_NE(received.find("too_many_frames"), std::string::npos);
  EXPECT_TRUE(Http2Client(server.port()).Works(1));
}

// Ten times the frames that any client has for its messages: both windows for each DATA frame.
TEST(UselessFramesTest, WindowsMayBeGivenBackForEachMessageTenTimes) {
  TestServer server;
  Http2Client client(server.port());
  client.Send(OpenStream(1, "/test.Echo/Chat"));
  std::string windows;
  for (int i = 0; i < 10; ++i)
    windows += Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(8)) +
               Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(8));
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(client.Send(Frame(FrameType::kData, 0, 1, Message("event")) + windows));
    ASSERT_TRUE(client.NextOf(FrameType::kData)) << i;
  }
  EXPECT_TRUE(client.Works(3));
}

}  // namespace
}  // namespace kvorum::rpc
