// KV.RangeStream: how the chunks are cut, and their combined content.
#include "server/services/kv/range_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "api/kv_decode.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

constexpr std::string_view kEverything{"\0", 1};

struct Streamed {
  std::vector<int> chunk_rows;
  std::vector<std::string> keys;
  etcdserverpb::RangeResponse last;
  Error status;
};

class RangeStreamTest : public testing::Test {
 protected:
  RangeStreamTest() {
    const auto started = served_.Start();
    EXPECT_TRUE(started.has_value());
  }
  static std::string Key(int i) { return "key" + std::to_string(1'000 + i); }
  void Fill(int keys, std::size_t value_bytes) {
    for (int i = 0; i < keys; ++i) PutKey(Key(i), std::string(value_bytes, 'v'));
  }
  void PutKey(std::string_view key, std::string_view value) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Put", PutBody(key, value)).has_value());
  }
  std::shared_ptr<FakeStream> Open(const std::string& request) {
    return served_.OpenStream(kRangeStreamPath, request);
  }
  // Parses the stream; header, more and count may be in the last chunk only.
  Streamed Finish(const FakeStream& stream) {
    Streamed result;
    EXPECT_TRUE(served_.RunUntilFinished(stream));
    result.status = stream.status().value_or(Error{});
    const auto& messages = stream.messages();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      etcdserverpb::RangeStreamResponse chunk;
      EXPECT_TRUE(chunk.ParseFromString(messages[i]));
      const auto& range = chunk.range_response();
      result.chunk_rows.push_back(range.kvs_size());
      for (const auto& kv : range.kvs()) result.keys.push_back(kv.key());
      if (i + 1 < messages.size()) {
        EXPECT_FALSE(range.has_header());
        EXPECT_FALSE(range.more());
        EXPECT_EQ(range.count(), 0);
      }
      result.last = range;
    }
    return result;
  }
  Streamed Stream(const std::string& request) { return Finish(*Open(request)); }
  Error Refusal(const std::string& request) {
    const auto streamed = Stream(request);
    EXPECT_THAT(streamed.chunk_rows, testing::IsEmpty());
    return streamed.status;
  }

  ServedMember served_;
};

// The number of rows doubles while they are small; then come large ones.
TEST_F(RangeStreamTest, AChunkIsBoundedInBytes) {
  served_.limits().max_request_bytes = 2'000;
  Fill(70, 1);
  for (int i = 0; i < 100; ++i) PutKey("large" + std::to_string(100 + i), std::string(1'000, 'l'));
  const auto stream = Open(RangeBody({.key = kEverything, .range_end = kEverything}));
  const auto streamed = Finish(*stream);
  EXPECT_EQ(streamed.keys.size(), 170);
  EXPECT_TRUE(std::ranges::is_sorted(streamed.keys));
  EXPECT_EQ(streamed.last.count(), 170);
  for (const std::string& chunk : stream->messages()) EXPECT_LE(chunk.size(), 8 * 2'000 + 200);
}

// A row that is larger than a chunk may be is a chunk.
TEST_F(RangeStreamTest, ALargerRowIsAChunkOfItsOwn) {
  served_.limits().max_request_bytes = 2'000;
  PutKey("a", "small");
  PutKey("b", std::string(1'900, 'b'));
  served_.limits().max_request_bytes = 100;
  EXPECT_THAT(Stream(RangeBody({.key = kEverything, .range_end = kEverything})).chunk_rows,
              ElementsAre(1, 1));
}

TEST_F(RangeStreamTest, SmallRowsDoubleTheChunks) {
  Fill(200, 10);
  const Streamed all = Stream(RangeBody({.key = kEverything, .range_end = kEverything}));
  EXPECT_EQ(all.status.code, Code::kOk);
  EXPECT_THAT(all.chunk_rows, ElementsAre(10, 20, 40, 80, 50));
  EXPECT_EQ(all.keys.size(), 200);
  EXPECT_TRUE(std::ranges::is_sorted(all.keys));
  EXPECT_EQ(std::ranges::adjacent_find(all.keys), all.keys.end()) << "no key twice";
  EXPECT_EQ(all.last.header().revision(), 201);
  EXPECT_NE(all.last.header().cluster_id(), 0u);
  EXPECT_NE(all.last.header().member_id(), 0u);
  EXPECT_NE(all.last.header().raft_term(), 0u);
  EXPECT_EQ(all.last.count(), 200);
  EXPECT_FALSE(all.last.more());
}

TEST_F(RangeStreamTest, ChunksAimAtTheLargestRequest) {
  Fill(60, 300);  // about 330 bytes a row
  const auto rows = [&](std::size_t target_bytes) {
    served_.limits().max_request_bytes = target_bytes;
    return Stream(RangeBody({.key = kEverything, .range_end = kEverything})).chunk_rows;
  };
  EXPECT_THAT(rows(5'000), ElementsAre(10, 10, 10, 10, 10, 10)) << "from half of it to twice";
  EXPECT_THAT(rows(8'000), ElementsAre(10, 20, 20, 10));
  EXPECT_THAT(rows(1'000), ElementsAre(10, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5));
  const auto tiny = rows(1);
  EXPECT_EQ(tiny.back(), 1) << "never less than a row";
  EXPECT_EQ(std::accumulate(tiny.begin(), tiny.end(), 0), 60);
}

TEST_F(RangeStreamTest, TheLimitIsOfAllChunksTogether) {
  Fill(50, 10);
  Streamed some = Stream(RangeBody({.key = kEverything, .range_end = kEverything, .limit = 25}));
  EXPECT_THAT(some.chunk_rows, ElementsAre(10, 15));
  EXPECT_TRUE(some.last.more());
  EXPECT_EQ(some.last.count(), 50);
  some = Stream(RangeBody({.key = kEverything, .range_end = kEverything, .limit = 3}));
  EXPECT_THAT(some.chunk_rows, ElementsAre(3));
  EXPECT_TRUE(some.last.more());
  EXPECT_EQ(some.last.count(), 50);
  some = Stream(RangeBody({.key = kEverything, .range_end = kEverything, .limit = 50}));
  EXPECT_THAT(some.chunk_rows, ElementsAre(10, 20, 20));
  EXPECT_FALSE(some.last.more());
}

TEST_F(RangeStreamTest, AnEmptyRangeAndACountAreOneMessage) {
  Fill(30, 10);
  Streamed streamed = Stream(RangeBody({.key = "nothing"}));
  EXPECT_THAT(streamed.chunk_rows, ElementsAre(0));
  EXPECT_EQ(streamed.last.header().revision(), 31);
  EXPECT_EQ(streamed.last.count(), 0);
  streamed = Stream(
      RangeBody({.key = kEverything, .range_end = kEverything, .limit = 4, .count_only = true}));
  EXPECT_THAT(streamed.chunk_rows, ElementsAre(0));
  EXPECT_EQ(streamed.last.header().revision(), 31);
  EXPECT_EQ(streamed.last.count(), 30);
}

TEST_F(RangeStreamTest, AllChunksAreOfTheRevisionOfTheFirst) {
  Fill(40, 10);
  const auto stream = Open(RangeBody({.key = kEverything, .range_end = kEverything}));
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return stream->messages().size() == 1; }));
  PutKey("key1500", "late");
  PutKey(Key(39), "changed");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/DeleteRange", DeleteBody(Key(30))).has_value());
  stream->SetReading(true);
  const Streamed streamed = Finish(*stream);
  EXPECT_EQ(streamed.keys.size(), 40);
  EXPECT_EQ(streamed.keys.back(), Key(39));
  EXPECT_EQ(streamed.last.kvs(streamed.last.kvs_size() - 1).value(), std::string(10, 'v'));
  EXPECT_EQ(streamed.last.header().revision(), 41);
  EXPECT_EQ(streamed.last.count(), 40);
}

TEST_F(RangeStreamTest, AnOldRevisionIsReadUnderTodaysHeader) {
  Fill(20, 10);
  const Streamed streamed =
      Stream(RangeBody({.key = kEverything, .range_end = kEverything, .revision = 13}));
  EXPECT_THAT(streamed.chunk_rows, ElementsAre(10, 2));
  EXPECT_EQ(streamed.last.header().revision(), 21);
  EXPECT_EQ(streamed.last.count(), 12);
}

TEST_F(RangeStreamTest, ACompactionPastItEndsTheStream) {
  Fill(40, 10);
  const auto stream = Open(RangeBody({.key = kEverything, .range_end = kEverything}));
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return stream->messages().size() == 1; }));
  PutKey("key1500", "late");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(42)).has_value());
  stream->SetReading(true);
  EXPECT_EQ(Finish(*stream).status, kErrCompacted);
  EXPECT_EQ(stream->messages().size(), 1);
}

// Etcd does the same while all fits into the first chunk.
TEST_F(RangeStreamTest, ATargetWithoutAnOrderSortsOneChunk) {
  constexpr int kByModRevision = 3;
  for (int i = 9; i >= 0; --i) PutKey(Key(i), "v");  // by key is the other way round than by time
  const auto keys = [&](std::int64_t target, std::int64_t limit) {
    const Streamed streamed = Stream(RangeBody(
        {.key = kEverything, .range_end = kEverything, .limit = limit, .sort_target = target}));
    EXPECT_EQ(streamed.status.code, Code::kOk) << streamed.status.message;
    EXPECT_EQ(streamed.chunk_rows.size(), 1);
    EXPECT_EQ(streamed.last.count(), 10);
    EXPECT_EQ(streamed.last.more(), limit != 0);
    return streamed.keys;
  };
  std::vector<std::string> down;
  for (int i = 9; i >= 0; --i) down.push_back(Key(i));
  EXPECT_EQ(keys(kByModRevision, 0), down);
  std::ranges::reverse(down);
  EXPECT_EQ(keys(/*target=*/0, 0), down);
  // A limit takes one key more, sorts them, and then leaves that one out, as Range does.
  EXPECT_THAT(keys(kByModRevision, 3), ElementsAre(Key(3), Key(2), Key(1)));
}

// There etcd goes on after the last key of a sorted chunk, and sends rows twice or not at all.
TEST_F(RangeStreamTest, MoreThanOneChunkIsInTheOrderOfKeysWhateverTheTarget) {
  for (int i = 49; i >= 0; --i) PutKey(Key(i), "v");
  for (int target = 0; target <= 4; ++target) {
    const Streamed all =
        Stream(RangeBody({.key = kEverything, .range_end = kEverything, .sort_target = target}));
    EXPECT_EQ(all.status.code, Code::kOk) << all.status.message;
    EXPECT_EQ(all.keys.size(), 50) << "target " << target;
    EXPECT_TRUE(std::ranges::is_sorted(all.keys)) << "target " << target;
    EXPECT_EQ(all.last.count(), 50) << "target " << target;
  }
}

TEST_F(RangeStreamTest, AClientThatLeftCostsNothingMore) {
  Fill(40, 10);
  const auto stream = Open(RangeBody({.key = kEverything, .range_end = kEverything}));
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return stream->messages().size() == 1; }));
  stream->context().Cancel({Code::kCanceled, "context canceled"});
  stream->SetReading(true);
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(stream->messages().size(), 1);
  EXPECT_EQ(stream.use_count(), 1) << "nobody holds it";
}

TEST_F(RangeStreamTest, WhatItDoesNotOfferIsRefused) {
  Fill(1, 1);
  EXPECT_EQ(Refusal(RangeBody({.key = "k", .sort_order = 2})), kErrStreamSortOrder.ToError());
  EXPECT_EQ(Refusal(RangeBody({.key = "k", .sort_order = 1, .sort_target = 3})),
            kErrStreamSortOrder.ToError());
  EXPECT_EQ(Refusal(RangeBody({.key = "k", .min_mod_revision = 1})), kErrStreamFilters.ToError());
  EXPECT_EQ(Refusal(RangeBody({.key = ""})), kErrEmptyKey);
  EXPECT_EQ(Refusal(RangeBody({.key = "k", .revision = 99})), kErrFutureRev);
  EXPECT_EQ(Refusal(RangeBody({.key = "k", .revision = 99, .count_only = true})), kErrFutureRev);
  EXPECT_EQ(Refusal("\x0a"), (Error{Code::kInternal,
                                    "grpc: failed to unmarshal the received message: proto: cannot "
                                    "parse invalid wire-format data"}));
  const auto silent = std::make_shared<FakeStream>(served_.lanes().io(), std::deque<std::string>{});
  served_.router().Find(kRangeStreamPath)->stream(silent);
  EXPECT_EQ(Finish(*silent).status,
            (Error{Code::kInternal, "grpc: no request message was received"}));
}

TEST_F(RangeStreamTest, ASerializableOneNeedsNoQuorum) {
  Fill(1, 1);
  served_.member().local_member().Stop([] {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Refusal(RangeBody({.key = Key(0)})), kErrStopped.ToError());
  EXPECT_EQ(Stream(RangeBody({.key = Key(0), .serializable = true})).last.count(), 1);
}

}  // namespace
}  // namespace kvorum::server
