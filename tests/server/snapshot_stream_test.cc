// Maintenance.Snapshot: the messages as etcd's clients expect them, the file in them, slow clients.
#include "server/services/maintenance/snapshot_stream.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "api/maintenance_encode.h"
#include "base/api_errors.h"
#include "mvcc/transfer/etcd_image.h"
#include "proto/rpc.pb.h"
#include "tests/bbolt/image.h"
#include "tests/disk/memory_backend.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kSnapshotMethod = "/etcdserverpb.Maintenance/Snapshot";

std::string Sha256(std::string_view bytes) {
  std::string hash(32, '\0');
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()), nullptr,
             EVP_sha256(), nullptr);
  return hash;
}

struct Saved {
  std::string file;
  std::string hash;
  Error status;
  std::set<std::string> versions;
};

class SnapshotStreamTest : public testing::Test {
 protected:
  SnapshotStreamTest() {
    served_.member().OnBackend([this](mvcc::Backend& backend) { backend_ = &backend; });
    EXPECT_TRUE(served_.Start().has_value());
  }

  void Fill(int keys, std::size_t value_bytes) {
    for (int i = 0; i < keys; ++i)
      ASSERT_TRUE(served_
                      .Call("/etcdserverpb.KV/Put",
                            PutBody("key" + std::to_string(i), std::string(value_bytes, 'v')))
                      .has_value());
  }
  std::shared_ptr<FakeStream> Open() { return served_.OpenStream(kSnapshotMethod, ""); }
  // Checks the messages' form on the way.
  Saved Finish(const FakeStream& stream) {
    EXPECT_TRUE(served_.RunUntilFinished(stream));
    Saved saved;
    saved.status = stream.status().value_or(Error{});
    std::vector<etcdserverpb::SnapshotResponse> messages;
    for (const std::string& bytes : stream.messages())
      EXPECT_TRUE(messages.emplace_back().ParseFromString(bytes));
    if (messages.empty()) return saved;
    saved.hash = messages.back().blob();
    messages.pop_back();
    std::uint64_t remaining = 0;
    for (const auto& message : messages) remaining += message.blob().size();
    for (const auto& message : messages) {
      saved.file += message.blob();
      remaining -= message.blob().size();
      saved.versions.insert(message.version());
      EXPECT_EQ(message.remaining_bytes(), remaining);
      EXPECT_FALSE(message.has_header());
      if (remaining > 0) {
        EXPECT_EQ(message.blob().size(), 32768U);
      }
    }
    return saved;
  }

  ServedMember served_;
  mvcc::Backend* backend_ = nullptr;
};

TEST_F(SnapshotStreamTest, SendsTheFileInPiecesAndThenItsHash) {
  bool decided = false;
  served_.member().Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"),
                           [&](const Result<ApplyResult::Value>&) { decided = true; });
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return decided; }));
  Fill(300, 20'000);
  const Saved saved = Finish(*Open());
  EXPECT_EQ(saved.versions, (std::set<std::string>{"3.7.0"}));
  EXPECT_EQ(saved.status.code, Code::kOk);
  EXPECT_EQ(saved.hash, Sha256(saved.file));
  EXPECT_EQ(saved.file.size() % 4096, 0U);
  const bbolt::Content content = bbolt::ContentOf(saved.file).value();
  EXPECT_EQ(content.size(), 10U);
  EXPECT_EQ(content.at("key").size(), 300U);
  EXPECT_EQ(content.at("meta").at("consistent_index").size(), 8U);
  EXPECT_EQ(content.at("members").size(), 1U);
}

TEST_F(SnapshotStreamTest, StatesTheStorageVersionOfTheCluster) {
  for (const char* version : {"3.7.0", "3.6.0"}) {
    bool decided = false;
    served_.member().Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion(version),
                             [&](const Result<ApplyResult::Value>&) { decided = true; });
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return decided; }));
    const Saved saved = Finish(*Open());
    EXPECT_EQ(saved.versions, (std::set<std::string>{version})) << "the messages";
    EXPECT_EQ(bbolt::ContentOf(saved.file).value().at("meta").at("storageVersion"), version);
  }
}

TEST_F(SnapshotStreamTest, HoldsEveryWriteThatWasAnswered) {
  Fill(1, 10);
  EXPECT_EQ(bbolt::ContentOf(Finish(*Open()).file).value().at("key").size(), 1U);
  Fill(3, 10);
  EXPECT_EQ(bbolt::ContentOf(Finish(*Open()).file).value().at("key").size(), 4U);
}

TEST_F(SnapshotStreamTest, WaitsForItsClientWithAFewMessagesInMemory) {
  Fill(300, 20'000);
  const auto stream = Open();
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return !stream->messages().empty(); }));
  const std::size_t first = stream->messages().size();
  EXPECT_LE(first * mvcc::kImageUnitBytes, std::size_t{2} << 20);
  Fill(10, 10);
  EXPECT_EQ(stream->messages().size(), first);
  stream->SetReading(true);
  const Saved saved = Finish(*stream);
  EXPECT_EQ(saved.hash, Sha256(saved.file));
  EXPECT_EQ(bbolt::ContentOf(saved.file).value().at("key").size(), 300U) << "one state";
}

TEST_F(SnapshotStreamTest, ThreeMebibytesAreMadeBeforeTheyCanBeSent) {
  Fill(300, 20'000);
  const auto stream = Open();
  stream->SetReading(false);
  served_.lanes().RunFor(std::chrono::seconds(1));
  // One piece is being written, the others wait: they go out though the hasher is busy.
  served_.lanes().Hold(served_.lanes().readers(), true);
  stream->SetReading(true);
  served_.lanes().RunFor(std::chrono::seconds(1));
  const std::size_t made = stream->messages().size() * mvcc::kImageUnitBytes;
  EXPECT_GE(made, std::size_t{3} << 20);
  EXPECT_LE(made, std::size_t{4} << 20);
  served_.lanes().Hold(served_.lanes().readers(), false);
  const Saved saved = Finish(*stream);
  EXPECT_EQ(saved.status.code, Code::kOk);
  EXPECT_EQ(saved.hash, Sha256(saved.file));
}

TEST_F(SnapshotStreamTest, WritesLargeValuesInPiecesToo) {
  Fill(4, 1'500'000);
  const auto stream = Open();
  std::size_t most = 0;
  std::size_t before = 0;
  ASSERT_TRUE(served_.lanes().RunUntil([&] {
    most = std::max(most, stream->messages().size() - before);
    before = stream->messages().size();
    return stream->status().has_value();
  }));
  EXPECT_LE(most * mvcc::kImageUnitBytes, std::size_t{1} << 20);
  const Saved saved = Finish(*stream);
  EXPECT_EQ(saved.hash, Sha256(saved.file));
}

TEST_F(SnapshotStreamTest, AClientThatTakesNothingForLongIsCutOff) {
  Fill(300, 20'000);
  const auto stream = Open();
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return !stream->messages().empty(); }));
  served_.lanes().RunFor(SnapshotStream::kLongestStall - std::chrono::seconds(1));
  EXPECT_FALSE(stream->status().has_value());
  served_.lanes().RunFor(SnapshotStream::kLongestStall + std::chrono::seconds(2));
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_EQ(stream->status()->code, Code::kUnavailable);
  EXPECT_TRUE(stream->status()->message.contains("has not read for too long"));
  // Its place is free, also before its bytes are let go.
  EXPECT_EQ(Finish(*Open()).status.code, Code::kOk);
  stream->SetReading(true);
  served_.lanes().RunFor(std::chrono::seconds(1));
}

// The database's map waits for each reader before it grows, and everybody's writes wait with it.
TEST_F(SnapshotStreamTest, AClientThatTakesNothingDoesNotHoldTheDatabaseUp) {
  Fill(300, 20'000);
  const auto stream = Open();
  stream->SetReading(false);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return !stream->messages().empty(); }));
  served_.lanes().RunFor(std::chrono::seconds(10));
  ASSERT_EQ(mvcc::ReadersOf(*backend_), 1);
  mvcc::TellReadersToEnd(*backend_, true);
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(mvcc::ReadersOf(*backend_), 0);
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_EQ(*stream->status(), mvcc::kReaderMustEnd.ToError());
  mvcc::TellReadersToEnd(*backend_, false);
  stream->SetReading(true);
  EXPECT_EQ(Finish(*Open()).status.code, Code::kOk);
}

TEST_F(SnapshotStreamTest, AClientThatTakesALittleNowAndThenIsNot) {
  Fill(300, 20'000);
  const auto stream = Open();
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = stream->messages().size();
    stream->SetReading(true);
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return stream->messages().size() > before; }));
    stream->SetReading(false);
    served_.lanes().RunFor(SnapshotStream::kLongestStall - std::chrono::seconds(10));
  }
  stream->SetReading(true);
  EXPECT_EQ(Finish(*stream).status.code, Code::kOk);
}

TEST_F(SnapshotStreamTest, ALimitSpreadsItOverTime) {
  Fill(300, 20'000);  // about 6 MB
  served_.limits().snapshot_bytes_per_second = std::uint64_t{1} << 20;
  const TimePoint begun = served_.lanes().clock().Now();
  const Saved saved = Finish(*Open());
  const Duration took = served_.lanes().clock().Now() - begun;
  EXPECT_EQ(saved.hash, Sha256(saved.file));
  EXPECT_GT(took, std::chrono::seconds(5));
  EXPECT_LT(took, std::chrono::seconds(8));
  const auto counts = served_.store().metrics().snapshot.values().counts;
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 1U);
}

TEST_F(SnapshotStreamTest, RefusesMoreThanAFewAtOnce) {
  Fill(300, 20'000);
  std::vector<std::shared_ptr<FakeStream>> streams;
  for (int i = 0; i < SnapshotStream::kMaxAtOnce; ++i) {
    streams.push_back(Open());
    streams.back()->SetReading(false);
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return !streams.back()->messages().empty(); }));
  }
  EXPECT_EQ(Finish(*Open()).status, kErrTooManyRequests.ToError());
  for (const auto& stream : streams) {
    stream->SetReading(true);
    EXPECT_EQ(Finish(*stream).status.code, Code::kOk);
  }
  EXPECT_EQ(Finish(*Open()).status.code, Code::kOk);
}

TEST_F(SnapshotStreamTest, RefusesAMalformedRequest) {
  const auto stream = served_.OpenStream(kSnapshotMethod, "\xff");
  EXPECT_NE(Finish(*stream).status.code, Code::kOk);
}

}  // namespace
}  // namespace kvorum::server
