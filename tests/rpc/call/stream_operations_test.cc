#include "rpc/call/stream_operations.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kvorum::rpc {
namespace {

class StreamOperationsTest : public testing::Test {
 protected:
  ServerStream::ReadCallback Reader() {
    return [this](Result<std::optional<SharedBytes>> message) {
      log_.push_back(!message   ? "read: " + message.error().message
                     : *message ? "read " + std::string((*message)->view())
                                : "read the end");
    };
  }
  ServerStream::WriteCallback Writer() {
    return [this](Result<void> written) {
      log_.push_back(written ? "written" : "write: " + written.error().message);
    };
  }
  // The loop takes over the callbacks.
  StreamOperations::Batch Take() {
    StreamOperations::Batch batch = operations_.Take();
    if (batch.read) operations_.SetReader(std::move(batch.read));
    if (batch.has_write) operations_.SetWriter(std::move(batch.written));
    return batch;
  }
  std::vector<std::string> Log() { return std::exchange(log_, {}); }

  std::mutex mutex_;
  StreamOperations operations_{mutex_};
  std::vector<std::string> log_;
};

using Lines = std::vector<std::string>;
using Ending = StreamOperations::Batch::Ending;

TEST_F(StreamOperationsTest, OperationsBetweenTwoTakesAreOneBatch) {
  operations_.Read(Reader());
  operations_.Write({SharedBytes::Static("bytes")}, 3, Writer());
  EXPECT_TRUE(operations_.Finish({Code::kAborted, "done"}));
  EXPECT_FALSE(operations_.has_reader());
  const StreamOperations::Batch batch = Take();
  EXPECT_TRUE(batch.has_write);
  EXPECT_EQ(batch.framed_messages, 3);
  EXPECT_EQ(Join(batch.message), "bytes");
  EXPECT_EQ(batch.ending, Ending::kFinish);
  EXPECT_EQ(batch.status, (Error{Code::kAborted, "done"}));
  EXPECT_TRUE(operations_.has_reader());
  EXPECT_TRUE(operations_.has_writer());
  const StreamOperations::Batch empty = Take();
  EXPECT_FALSE(empty.has_write);
  EXPECT_EQ(empty.ending, Ending::kNone);
}

TEST_F(StreamOperationsTest, EachCallbackRunsOnceAndMayStartTheNext) {
  int reads = 0;
  operations_.Read([&](const auto&) {
    ++reads;
    operations_.Read(Reader());
  });
  Take();
  operations_.RunReader(std::nullopt);
  EXPECT_EQ(reads, 1);
  EXPECT_FALSE(operations_.has_reader());
  Take();
  operations_.RunReader(SharedBytes::Static("hi"));
  operations_.Write({}, 0, Writer());
  Take();
  operations_.RunWriter({});
  EXPECT_EQ(Log(), (Lines{"read hi", "written"}));
}

TEST_F(StreamOperationsTest, TheFirstFinishCounts) {
  EXPECT_TRUE(operations_.Finish({Code::kOk, "first"}));
  EXPECT_FALSE(operations_.Finish({Code::kAborted, "second"}));
  EXPECT_FALSE(operations_.Cut({Code::kAborted, "third"}));
  const StreamOperations::Batch batch = Take();
  EXPECT_EQ(batch.status.message, "first");
  EXPECT_EQ(batch.ending, Ending::kFinish);
}

// A handler that is cut may finish before the loop knows.
TEST_F(StreamOperationsTest, ACutCountsBeforeTheFinishBehindIt) {
  EXPECT_TRUE(operations_.Cut({Code::kUnavailable, "no leader"}));
  EXPECT_TRUE(operations_.Finish({Code::kOk, "done"}));
  EXPECT_FALSE(operations_.Finish({Code::kOk, "again"}));
  const StreamOperations::Batch batch = Take();
  EXPECT_EQ(batch.ending, Ending::kCut);
  EXPECT_EQ(batch.status.message, "no leader");
}

TEST_F(StreamOperationsTest, OperationsAfterFinishFailApart) {
  operations_.Finish({Code::kOk, {}});
  operations_.Read(Reader());
  operations_.Write({SharedBytes::Static("lost")}, 0, Writer());
  operations_.Read(Reader());  // no limit of one: none is outstanding
  StreamOperations::Batch batch = Take();
  EXPECT_FALSE(batch.has_write);
  EXPECT_FALSE(operations_.has_reader());
  for (auto& tell : batch.late) tell({Code::kCanceled, "over"});
  EXPECT_EQ(Log(), (Lines{"read: over", "write: over", "read: over"}));
}

TEST_F(StreamOperationsTest, AFailureRunsWhatIsOutstanding) {
  operations_.FailAll({Code::kCanceled, "nobody"});
  operations_.Read(Reader());
  operations_.Write({}, 0, Writer());
  EXPECT_TRUE(operations_.Cut({Code::kUnavailable, "no leader"}));
  const StreamOperations::Batch batch = Take();
  EXPECT_EQ(batch.ending, Ending::kCut);
  EXPECT_EQ(batch.status.message, "no leader");
  operations_.FailAll({Code::kCanceled, "over"});
  operations_.FailAll({Code::kCanceled, "again"});
  EXPECT_EQ(Log(), (Lines{"read: over", "write: over"}));
}

TEST_F(StreamOperationsTest, TwoAtATimeAreAFaultOfTheHandler) {
  operations_.Read(Reader());
  EXPECT_DEATH(operations_.Read(Reader()), "a second Read");
  operations_.Write({}, 0, Writer());
  EXPECT_DEATH(operations_.Write({}, 0, Writer()), "a second Write");
}

}  // namespace
}  // namespace kvorum::rpc
