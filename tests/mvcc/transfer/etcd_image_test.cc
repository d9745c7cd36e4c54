// A store's content as etcd's file: the same buckets, keys and values as in the backend, also under
// writes; the size is known before the first byte.
#include "mvcc/transfer/etcd_image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/rng.h"
#include "mvcc/lmdb/long_key.h"
#include "tests/bbolt/image.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

template <class World>
class EtcdImageTest : public testing::Test {
 protected:
  EtcdImageTest() : backend(world.Open().value()) {}

  std::unique_ptr<EtcdImage> Image() {
    return MakeEtcdImage(backend->NewReader().value(), nullptr);
  }

  // The content that a reader of the backend sees.
  bbolt::Content Content() {
    bbolt::Content content;
    const Reader reader = backend->NewReader().value();
    for (std::size_t i = 0; i < kBucketNames.size(); ++i) {
      bbolt::Records& records = content[std::string(kBucketNames[i])];
      EXPECT_TRUE(reader
                      ->Scan(static_cast<Bucket>(i), {}, {},
                             [&](std::string_view key, std::string_view value) {
                               records.emplace(key, value);
                               return true;
                             })
                      .has_value());
    }
    return content;
  }
  void PutRevisions(std::int64_t begin, std::int64_t end, std::size_t max_value_bytes) {
    OwnedBatch batch;
    for (std::int64_t main = begin; main < end; ++main)
      batch.Append({main, 0}, bbolt::RandomBytes(rng, rng.Below(max_value_bytes + 1)),
                   main % 7 == 0);
    Commit(*backend, batch);
  }
  void PutSmallBuckets() {
    OwnedBatch batch;
    for (std::size_t i = 1; i < kBucketNames.size(); i += 2) {
      if (static_cast<Bucket>(i) == Bucket::kAuth) continue;
      batch.Put(static_cast<Bucket>(i), "a key", "its value");
      batch.Put(static_cast<Bucket>(i), std::string(kMaxPlainKeySizeBytes, 'k'), "");
    }
    batch.Put(Bucket::kAuth, "authRevision", "12345678");
    Commit(*backend, batch);
  }
  std::string Drain(EtcdImage& image) {
    std::string bytes;
    while (true) {
      const auto chunk = image.Next();
      EXPECT_TRUE(chunk.has_value()) << chunk.error().message;
      if (!chunk.has_value() || chunk->empty()) return bytes;
      EXPECT_EQ(bytes.size() % kImageUnitBytes, 0U) << "only the last is none of whole units";
      EXPECT_LE(chunk->size(), (std::size_t{2} << 20) + max_value_bytes_);
      bytes += chunk->view();
    }
  }

  World world;
  std::unique_ptr<Backend> backend;
  Rng rng{1};
  std::size_t max_value_bytes_ = 0;
};

TYPED_TEST_SUITE(EtcdImageTest, Worlds);

TYPED_TEST(EtcdImageTest, HoldsAllBucketsOfAnEmptyDatabase) {
  const auto image = this->Image();
  const std::string bytes = this->Drain(*image);
  EXPECT_EQ(bytes.size(), image->size_bytes());
  EXPECT_EQ(bbolt::ContentOf(bytes).value(), this->Content());
  EXPECT_EQ(this->Content().size(), 10U);
}

TYPED_TEST(EtcdImageTest, HoldsWhatTheBackendHolds) {
  this->PutSmallBuckets();
  this->PutRevisions(2, 5000, 2000);
  this->PutRevisions(5000, 5010, 3'000'000);
  this->max_value_bytes_ = 3'000'000;
  const auto image = this->Image();
  const std::string bytes = this->Drain(*image);
  EXPECT_EQ(bytes.size(), image->size_bytes());
  EXPECT_TRUE(bbolt::ContentOf(bytes).value() == this->Content());
  EXPECT_TRUE(image->Next()->empty()) << "the end lasts";
}

TYPED_TEST(EtcdImageTest, LeavesOutWhatIsOursAlone) {
  this->PutSmallBuckets();
  const bbolt::Content before = this->Content();
  OwnedBatch batch;
  for (const char* key : {"roleRevision:r", "tokenRevision", "userRevision:u"})
    batch.Put(Bucket::kAuth, key, "12345678");
  Commit(*this->backend, batch);
  const auto image = this->Image();
  EXPECT_EQ(bbolt::ContentOf(this->Drain(*image)).value(), before);
}

TYPED_TEST(EtcdImageTest, StatesTheStorageVersionThatItIsTold) {
  OwnedBatch batch;
  batch.Put(Bucket::kMeta, meta_key::kStorageVersion, "3.7.0");
  batch.Put(Bucket::kCluster, meta_key::kStorageVersion, "another bucket's");
  Commit(*this->backend, batch);
  const auto stated = [&](std::optional<std::string> version) {
    // By the way of members, too: the source that becomes an image.
    const auto source = MakeSnapshotSource(this->backend->NewReader().value(), nullptr,
                                           {.storage_version = std::move(version)});
    EXPECT_TRUE(source->Use(SnapshotFormat::kEtcd).has_value());
    std::string bytes;
    for (auto chunk = source->Next(); !chunk->empty(); chunk = source->Next())
      bytes += chunk->view();
    bbolt::Content content = bbolt::ContentOf(bytes).value();
    EXPECT_EQ(content["cluster"].size(), 1U);
    return content["meta"].contains("storageVersion") ? content["meta"]["storageVersion"] : "none";
  };
  EXPECT_EQ(stated(std::nullopt), "3.7.0");
  EXPECT_EQ(stated("3.6.0"), "3.6.0");
  EXPECT_EQ(stated(""), "none");
}

TYPED_TEST(EtcdImageTest, IsOfOneStateWhileWritesGoOn) {
  this->PutSmallBuckets();
  this->PutRevisions(2, 6000, 1000);
  const bbolt::Content before = this->Content();
  const auto image = this->Image();
  std::string bytes(image->Next()->view());
  this->PutRevisions(6000, 7000, 1000);
  OwnedBatch batch;
  batch.Put(Bucket::kMeta, "a key", "another value");
  Commit(*this->backend, batch);
  bytes += this->Drain(*image);
  EXPECT_EQ(bytes.size(), image->size_bytes());
  EXPECT_TRUE(bbolt::ContentOf(bytes).value() == before);
}

TYPED_TEST(EtcdImageTest, IsPreparedInParts) {
  this->PutSmallBuckets();
  this->PutRevisions(2, 100'000, 20);
  const auto image = this->Image();
  int parts = 1;
  for (auto done = image->Prepare(); !done.value(); done = image->Prepare()) ++parts;
  EXPECT_GE(parts, 5);
  EXPECT_TRUE(image->Prepare().value()) << "that lasts";
  const std::uint64_t size_bytes = image->size_bytes();
  const std::string bytes = this->Drain(*image);
  EXPECT_EQ(bytes.size(), size_bytes);
  EXPECT_TRUE(bbolt::ContentOf(bytes).value() == this->Content());
}

// Planning does not read values, so their damage shows when the value is to be sent.
TEST(EtcdImageDamage, AValueWithAWrongChecksumEndsIt) {
  LmdbWorld world;
  const std::string value = "a value that is in the file once";
  {
    const auto backend = world.Open().value();
    OwnedBatch batch;
    for (std::int64_t main = 2; main < 2000; ++main)
      batch.Append({main, 0}, main == 1500 ? value : std::string(1000, 'v'));
    Commit(*backend, batch);
  }
  {
    std::fstream file(world.path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t at = bytes.find(value);
    ASSERT_NE(at, std::string::npos);
    file.seekp(static_cast<std::streamoff>(at)).put('A');
  }
  const auto backend = world.Open().value();
  const auto image = MakeEtcdImage(backend->NewReader().value(), nullptr);
  EXPECT_TRUE(image->Next().has_value());
  for (int i = 0; i < 2; ++i) {
    const auto chunk = image->Next();
    ASSERT_FALSE(chunk.has_value());
    EXPECT_EQ(chunk.error().code, Code::kDataLoss);
    EXPECT_TRUE(chunk.error().message.contains("checksum mismatch")) << chunk.error().message;
  }
}

}  // namespace
}  // namespace kvorum::mvcc
