// The bytes of the two streams between members: pinned, cut anywhere, damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "server/peer/codec/append_stream.h"
#include "server/peer/codec/message_stream.h"
#include "tests/damage.h"
#include "tests/hex.h"

namespace kvorum::server {
namespace {

using raft::Message;
using raft::MessageType;

constexpr std::size_t kMaxFrame = 1 << 20;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string EncodeAll(StreamKind kind, const std::vector<Message>& messages) {
  const auto encoder = StreamEncoder::Create(kind);
  ChainWriter out;
  for (const Message& message : messages) encoder->Encode(message, out);
  return Join(out.Take());
}

std::unique_ptr<StreamDecoder> Decoder(StreamKind kind) {
  return StreamDecoder::Create(kind, /*local=*/2, /*remote=*/1, kMaxFrame);
}

Message AppOfTerm(raft::Term term, raft::Term log_term, raft::Index index,
                  std::vector<std::string> data, raft::Index commit) {
  Message message{.type = MessageType::kApp,
                  .to = 2,
                  .from = 1,
                  .term = term,
                  .log_term = log_term,
                  .index = index,
                  .commit = commit};
  for (std::string& each : data) {
    message.entries.push_back(
        {.term = term, .index = ++index, .data = SharedBytes::Own(std::move(each))});
  }
  return message;
}

TEST(PeerStreamCodecTest, AMessageFrameIsALengthAndTheMessage) {
  const Message heartbeat{
      .type = MessageType::kHeartbeat, .to = 2, .from = 1, .term = 3, .commit = 300};
  EXPECT_EQ(Hex(EncodeAll(StreamKind::kMessage, {heartbeat})),
            "000000000000000b"
            "0808"      // type
            "1002"      // to
            "1801"      // from
            "2003"      // term
            "40ac02");  // commit
  MessageStreamEncoder encoder;
  ChainWriter out;
  encoder.EncodeLinkHeartbeat(out);
  EXPECT_EQ(Hex(Join(out.Take())),
            "0000000000000002"
            "0808");
}

TEST(PeerStreamCodecTest, AnAppendThatContinuesSaysOnlyWhatIsNew) {
  const std::vector<Message> messages = {
      AppOfTerm(5, 4, 9, {"x"}, 9),        // other term: whole
      AppOfTerm(5, 5, 10, {"y", ""}, 10),  // continues
      AppOfTerm(5, 5, 12, {}, 12),         // so does a commit index alone
      AppOfTerm(5, 5, 11, {}, 12),         // a step back does not
  };
  EXPECT_EQ(Hex(EncodeAll(StreamKind::kAppend, messages)),
            "02"
            "0000000000000017"
            "0803"
            "1002"
            "1801"
            "2005"
            "2804"
            "3009"
            "3a07"
            "1005"
            "180a"
            "220178"
            "4009"
            "01"
            "0000000000000002"
            "0000000000000007"
            "1005"
            "180b"
            "220179"
            "0000000000000004"
            "1005"
            "180c"
            "000000000000000a"
            "01"
            "0000000000000000"
            "000000000000000c"
            "02"
            "000000000000000e"
            "0803"
            "1002"
            "1801"
            "2005"
            "2805"
            "300b"
            "400c");
  AppendStreamEncoder encoder;
  ChainWriter out;
  encoder.EncodeLinkHeartbeat(out);
  EXPECT_EQ(Hex(Join(out.Take())), "00");
}

TEST(PeerStreamCodecTest, LinkHeartbeatsAreDroppedInBothSpellings) {
  std::vector<Message> out;
  // Members up to 3.6 write zero fields too, and an empty snapshot.
  const std::string old_spelling =
      Bytes({0x08, 8, 0x10, 0, 0x18, 0, 0x20, 0, 0x28, 0, 0x30, 0, 0x40, 0,
             0x4a, 8, 0x12, 6, 0x0a, 0, 0x10, 0, 0x18, 0, 0x50, 0, 0x58, 0});
  std::string frame;
  AppendBig64(frame, old_spelling.size());
  EXPECT_TRUE(Decoder(StreamKind::kMessage)->Feed(frame + old_spelling, out).has_value());
  EXPECT_TRUE(Decoder(StreamKind::kMessage)->Feed(Bytes({0, 0, 0, 0, 0, 0, 0, 2, 8, 8}), out));
  EXPECT_TRUE(Decoder(StreamKind::kAppend)->Feed(Bytes({0, 0, 0}), out).has_value());
  EXPECT_TRUE(out.empty());
}

TEST(PeerStreamCodecTest, LargeDataIsSharedAndNotCopied) {
  const Message message = AppOfTerm(5, 4, 9, {std::string(5000, 'a'), "small"}, 9);
  for (const int times : {1, 2}) {  // the second one continues
    AppendStreamEncoder encoder;
    ChainWriter out;
    Message next = message;
    encoder.Encode(next, out);
    if (times == 2) {
      out.Take();
      next.log_term = 5;
      next.index = 11;
      encoder.Encode(next, out);
    }
    const ByteChain chain = out.Take();
    EXPECT_TRUE(std::ranges::any_of(chain, [&](const SharedBytes& piece) {
      return piece.data() == message.entries[0].data.data();
    }));
    EXPECT_FALSE(std::ranges::any_of(chain, [&](const SharedBytes& piece) {
      return piece.data() == message.entries[1].data.data();
    }));
  }
}

TEST(PeerStreamCodecTest, EntriesOfOneReadShareItsBlock) {
  const std::string bytes = EncodeAll(
      StreamKind::kAppend, {AppOfTerm(5, 4, 9, {"first"}, 9), AppOfTerm(5, 5, 10, {"second"}, 9)});
  std::vector<Message> out;
  ASSERT_TRUE(Decoder(StreamKind::kAppend)->Feed(bytes, out).has_value());
  ASSERT_EQ(out.size(), 2);
  const auto distance = out[1].entries[0].data.data() - out[0].entries[0].data.data();
  EXPECT_GT(distance, 0);
  EXPECT_LT(distance, static_cast<std::ptrdiff_t>(bytes.size()));
}

Message RandomMessage(Rng& rng, StreamKind kind, raft::Index& index) {
  if (kind == StreamKind::kMessage && rng.Below(2) == 0) {
    return {.type = MessageType::kAppResp,
            .reject = rng.Below(2) == 0,
            .to = 2,
            .from = 1,
            .term = raft::Term{1 + rng.Below(3)},
            .index = raft::Index{rng.Below(1000)},
            .context = SharedBytes::Copy(std::string(rng.Below(20), 'c'))};
  }
  const raft::Term term{7 + rng.Below(5) / 4};
  std::vector<std::string> data;
  for (std::uint64_t i = rng.Below(4); i > 0; --i)
    data.push_back(std::string(rng.Below(8) == 0 ? 3000 : rng.Below(40), 'd'));
  const raft::Index before = rng.Below(4) == 0 ? raft::Index{rng.Below(100)} : index;
  index = before + data.size();
  return AppOfTerm(term, rng.Below(4) == 0 ? term - 1 : term, before, std::move(data),
                   raft::Index{rng.Below(200)});
}

TEST(PeerStreamCodecTest, WhatIsWrittenIsReadBackHoweverItIsCut) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const StreamKind kind = round % 2 == 0 ? StreamKind::kMessage : StreamKind::kAppend;
    std::vector<Message> messages;
    raft::Index index = 0;
    for (std::uint64_t i = 1 + rng.Below(8); i > 0; --i)
      messages.push_back(RandomMessage(rng, kind, index));
    const std::string bytes = EncodeAll(kind, messages);
    const auto decoder = Decoder(kind);
    std::vector<Message> out;
    std::size_t position = 0;
    while (position < bytes.size()) {
      const std::size_t step = std::min<std::size_t>(bytes.size() - position,
                                                     1 + rng.Below(rng.Below(2) == 0 ? 3 : 900));
      ASSERT_TRUE(decoder->Feed(std::string_view(bytes).substr(position, step), out).has_value());
      position += step;
    }
    EXPECT_EQ(out, messages);
    EXPECT_EQ(decoder->buffered_bytes(), 0);
  }
}

TEST(PeerStreamCodecTest, AFlippedByteIsAnErrorOrAnotherMessageButNeverACrash) {
  const std::vector<Message> messages = {AppOfTerm(5, 4, 9, {"data", "more"}, 9),
                                         AppOfTerm(5, 5, 11, {"third"}, 10)};
  for (const StreamKind kind : {StreamKind::kMessage, StreamKind::kAppend}) {
    const std::string bytes = EncodeAll(kind, messages);
    const std::size_t end_of_first = EncodeAll(kind, {messages.front()}).size();
    int errors = 0;
    const auto feed = [&](std::string_view damaged, std::size_t at) {
      const auto decoder = Decoder(kind);
      std::vector<Message> out;
      const Result<void> fed = decoder->Feed(damaged, out);
      EXPECT_LE(decoder->buffered_bytes(), bytes.size());
      if (!fed.has_value()) {
        EXPECT_EQ(fed.error().code, Code::kDataLoss);
        ++errors;
      } else if (at >= end_of_first) {  // the message before the damage has arrived
        ASSERT_FALSE(out.empty());
        EXPECT_EQ(out.front(), messages.front());
      }
    };
    ForEachFlip(bytes, feed, kOuterAndAllBits);
    EXPECT_GT(errors, 10);
  }
}

std::string FeedError(StreamKind kind, const std::string& bytes) {
  std::vector<Message> out;
  const auto decoder = Decoder(kind);
  const Result<void> fed = decoder->Feed(bytes, out);
  EXPECT_LE(decoder->buffered_bytes(), bytes.size());
  return fed.has_value() ? "" : fed.error().message;
}

TEST(PeerStreamCodecTest, LengthsAreBoundedBeforeAnythingIsGathered) {
  const std::string huge = Bytes({0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  const std::string small = Bytes({0, 0, 0, 0, 0, 0x10, 0, 1});  // one past the limit
  for (const std::string& length : {huge, small}) {
    EXPECT_NE(FeedError(StreamKind::kMessage, length), "");
    EXPECT_NE(FeedError(StreamKind::kAppend, Bytes({2}) + length), "");
    // In place of the first entry's length.
    EXPECT_NE(FeedError(StreamKind::kAppend, Bytes({1, 0, 0, 0, 0, 0, 0, 0, 1}) + length), "");
  }
  EXPECT_NE(FeedError(StreamKind::kAppend, Bytes({1}) + huge), "");  // of the count
  // Entries that are each within the limit, and together are not.
  std::string entries = Bytes({1, 0, 0, 0, 0, 0, 0, 0, 3});
  for (int i = 0; i < 3; ++i) {
    AppendBig64(entries, kMaxFrame / 2);
    entries.append(kMaxFrame / 2, '\0');
  }
  EXPECT_NE(FeedError(StreamKind::kAppend, entries), "");
}

TEST(PeerStreamCodecTest, AStreamCarriesNothingButItsOwnKinds) {
  EXPECT_EQ(FeedError(StreamKind::kAppend, Bytes({3})), "a frame of type 3 in a msgapp stream");
  const Message vote{.type = MessageType::kVote, .to = 2, .from = 1, .term = 3};
  EXPECT_EQ(FeedError(StreamKind::kAppend, Bytes({2}) + EncodeAll(StreamKind::kMessage, {vote})),
            "a Vote in a msgapp stream");
  EXPECT_NE(FeedError(StreamKind::kMessage, Bytes({0, 0, 0, 0, 0, 0, 0, 1, 0x08})), "");
}

TEST(PeerStreamCodecTest, AMessageOfTooManyEntriesIsRefused) {
  std::string body = Bytes({0x08, 3});
  for (std::size_t i = 0; i <= raft::kMaxMessageEntries; ++i) body += Bytes({0x3a, 0});
  std::string frame;
  AppendBig64(frame, body.size());
  std::vector<Message> out;
  const auto decoder = StreamDecoder::Create(StreamKind::kMessage, 2, 1, std::size_t{64} << 20);
  EXPECT_FALSE(decoder->Feed(frame + body, out).has_value());
}

}  // namespace
}  // namespace kvorum::server
