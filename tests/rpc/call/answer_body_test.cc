#include "rpc/call/answer_body.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "rpc/call/output_batch.h"
#include "rpc/tls/socket.h"
#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {
namespace {

// A batch whose bytes can be read.
class Sent {
 public:
  Sent() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    write_ = Socket(FileDescriptor(fds[0]));
    read_ = FileDescriptor(fds[1]);
  }

  OutputBatch& batch() { return batch_; }
  std::string Take() {
    std::vector<SharedBytes> rest;
    EXPECT_GE(batch_.WriteTo(write_, &rest), 0);
    std::string bytes;
    std::array<char, 4096> buffer{};
    for (std::ptrdiff_t n = 0; (n = ReceiveBytes(read_.get(), buffer)) > 0;)
      bytes.append(buffer.data(), static_cast<std::size_t>(n));
    return bytes + Join(rest);
  }

 private:
  OutputBatch batch_;
  Socket write_{FileDescriptor()};
  FileDescriptor read_;
};

std::string SendAll(AnswerBody& body, std::size_t portion_bytes) {
  Sent sent;
  std::string bytes;
  while (body.unsent_bytes() > 0) {
    body.MoveTo(sent.batch(), std::min(portion_bytes, body.unsent_bytes()));
    bytes += sent.Take();
  }
  return bytes;
}

SharedBytes Bytes(std::string text) { return SharedBytes::Own(std::move(text)); }

TEST(AnswerBodyTest, AMessageIsTheSameInAnyPortions) {
  const std::string large(10'000, 'l');
  for (const std::size_t portion : {1UL, 3UL, 5UL, 6UL, 4096UL, 100'000UL}) {
    AnswerBody body;
    body.Begin(Bytes("first"), {Bytes(large), Bytes("end")}, /*to_come_bytes=*/0);
    EXPECT_TRUE(body.passing());
    EXPECT_EQ(body.unsent_bytes(), 5 + 5 + large.size() + 3);
    EXPECT_EQ(SendAll(body, portion), Message("first" + large + "end")) << portion;
    EXPECT_EQ(body.unsent_bytes(), 0);
    body.End();
    EXPECT_FALSE(body.passing());
  }
}

TEST(AnswerBodyTest, ThePrefixCountsTheBytesThatAreToCome) {
  AnswerBody body;
  body.Begin({}, {Bytes("begun")}, /*to_come_bytes=*/9);
  EXPECT_EQ(body.unsent_bytes(), 5 + 5);
  body.Add({Bytes("more")});  // while some is unsent
  std::string bytes = SendAll(body, 4);
  body.Add({Bytes("at "), Bytes("la")});  // when nothing is
  bytes += SendAll(body, 4);
  EXPECT_EQ(bytes, Message("begunmoreat la"));
  EXPECT_EQ(body.messages(), 1);
  EXPECT_EQ(body.message_bytes(), 14);
}

TEST(AnswerBodyTest, FramesHaveTheirPrefixes) {
  AnswerBody body;
  body.BeginFramed({Bytes(Message("one")), Bytes(Message("three"))}, 2);
  EXPECT_EQ(SendAll(body, 7), Message("one") + Message("three"));
  EXPECT_EQ(body.messages(), 2);
  EXPECT_EQ(body.message_bytes(), 8);
  body.End();
  body.Begin(Bytes("next"), {}, 0);
  EXPECT_EQ(SendAll(body, 7), Message("next"));
  EXPECT_EQ(body.messages(), 3);
}

TEST(AnswerBodyTest, APlainBodyIsNoMessage) {
  AnswerBody body;
  body.BeginPlain({Bytes("a"), Bytes("b")});
  EXPECT_EQ(SendAll(body, 10), "ab");
  EXPECT_EQ(body.messages(), 0);
}

TEST(AnswerBodyTest, WhatIsDroppedIsCountedOnce) {
  AnswerBody body;
  body.Begin(Bytes("12345"), {}, 0);
  Sent sent;
  body.MoveTo(sent.batch(), 7);
  EXPECT_EQ(body.Drop(), 3);
  EXPECT_EQ(body.Drop(), 0);
}

}  // namespace
}  // namespace kvorum::rpc
