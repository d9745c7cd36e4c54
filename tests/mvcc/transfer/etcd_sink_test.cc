// A snapshot that an etcd member sends becomes a backend, or leaves nothing behind.
#include "mvcc/transfer/etcd_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "mvcc/records/key_value.h"
#include "tests/bbolt/image.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class EtcdSinkTest : public testing::Test {
 protected:
  EtcdSinkTest() {
    Rng rng{1};
    for (const std::string_view name : kBucketNames) content_[std::string(name)];
    for (std::int64_t main = 2; main < 200; ++main) {
      const std::string key = "key" + std::to_string(main % 10);
      content_["key"][std::string(RevisionKey({main, 0}).view())] =
          Encode(KeyValue{.key = key,
                          .create_revision = main,
                          .mod_revision = main,
                          .version = 1,
                          .value = bbolt::RandomBytes(rng, rng.Below(1000)),
                          .lease = 0});
    }
    content_["meta"]["consistent_index"] = std::string("\0\0\0\0\0\0\0\x46", 8);
  }

  Result<void> Send(const std::string& bytes, std::size_t step, bool finishes = true) {
    auto made =
        MakeEtcdSink(world_.files, {.sink = {.open =
                                                 [this](const std::string& path) {
                                                   return OpenMemoryBackend(world_.files, path);
                                                 },
                                             .path = kPath,
                                             .check =
                                                 [this](Snapshot&) {
                                                   ++checks_;
                                                   return check_;
                                                 }},
                                    .meta = {.consistent_index = 77,
                                             .term = 3,
                                             .conf_state = "{}",
                                             .storage_version = "3.7.0"},
                                    .check_meta = [this](const EtcdMeta& meta) -> Result<void> {
                                      told_ = meta;
                                      return meta_check_;
                                    }});
    KV_TRY(const auto sink, std::move(made));
    for (std::size_t at = 0; at < bytes.size(); at += step)
      KV_RETURN_IF_ERROR(sink->Write(std::string_view(bytes).substr(at, step)));
    if (!finishes) return {};
    while (true) {
      ++parts_;
      KV_TRY(const bool done, sink->FinishPart());
      if (done) return {};
    }
  }
  std::vector<std::string> Files() {
    auto names = world_.files.List("/data").value();
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("1.snap.db"); });
    return names;
  }

  int parts_ = 0;  // of the finish
  static constexpr const char* kPath = "/data/1.snap.db";
  MemoryWorld world_;
  bbolt::Content content_;
  Result<void> check_;
  Result<void> meta_check_;
  std::optional<EtcdMeta> told_;
  int checks_ = 0;
};

TEST_F(EtcdSinkTest, AWholeFileBecomesABackendHoweverItIsCut) {
  const std::string image = bbolt::ImageOf(content_).value();
  for (const std::size_t step : {std::size_t{1}, std::size_t{4097}, image.size()}) {
    const auto sent = Send(image, step);
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
    EXPECT_THAT(Files(), testing::ElementsAre("1.snap.db")) << "and no other file";
    const auto backend = OpenMemoryBackend(world_.files, kPath).value();
    Content built = ContentOf(*backend);
    EXPECT_EQ((built[{Bucket::kMeta, "confState"}]), "{}");
    std::erase_if(built, [](const auto& each) { return each.first.first == Bucket::kMeta; });
    EXPECT_EQ(built.size(), content_["key"].size());
    for (const auto& [key, value] : content_["key"]) EXPECT_EQ((built[{Bucket::kKey, key}]), value);
  }
  EXPECT_EQ(told_->consistent_index, 70U) << "the file's own word";
  EXPECT_EQ(checks_, 3);
}

// The check of the pages, the import and the reading back alike.
TEST_F(EtcdSinkTest, FinishesInParts) {
  for (std::int64_t main = 200; main < 240; ++main) {
    content_["key"][std::string(RevisionKey({main, 0}).view())] =
        Encode(KeyValue{.key = "large",
                        .create_revision = 200,
                        .mod_revision = main,
                        .version = main - 199,
                        .value = std::string(1'000'000, 'v'),
                        .lease = 0});
  }
  const auto sent = Send(bbolt::ImageOf(content_).value(), 1 << 20);
  ASSERT_TRUE(sent.has_value()) << sent.error().message;
  constexpr int kMebibytes = 38;
  EXPECT_GE(parts_, (kMebibytes / 4) + (kMebibytes / 9) + kMebibytes);
  EXPECT_EQ(checks_, 1);
}

TEST_F(EtcdSinkTest, WhatIsNoFileOfEtcdsIsRefusedAtItsFirstBytes) {
  const auto sent = Send(std::string(100, 'x'), 20, /*finishes=*/false);
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, Code::kDataLoss);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(EtcdSinkTest, AMetaPageThatIsDamagedIsRefusedAtOnce) {
  std::string image = bbolt::ImageOf(content_).value();
  image[30] ^= 1;
  EXPECT_FALSE(Send(image.substr(0, 4096), 4096, /*finishes=*/false).has_value());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(EtcdSinkTest, BytesBehindTheLastPageAreRefusedBeforeTheyFillTheDisk) {
  const std::string image = bbolt::ImageOf(content_).value();
  EXPECT_TRUE(Send(image, 4096, /*finishes=*/false).has_value());
  const auto sent = Send(image + "x", 4096, /*finishes=*/false);
  ASSERT_FALSE(sent.has_value());
  EXPECT_THAT(sent.error().message, HasSubstr("behind its last page"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(EtcdSinkTest, AFileThatIsCutOffAnywhereLeavesNothing) {
  const std::string image = bbolt::ImageOf(content_).value();
  for (std::size_t size = 0; size < image.size(); size += 1000) {
    ASSERT_FALSE(Send(image.substr(0, size), 4096).has_value()) << size;
    ASSERT_THAT(Files(), IsEmpty());
  }
  EXPECT_EQ(checks_, 0);
}

TEST_F(EtcdSinkTest, TheCallersChecksRefuse) {
  const std::string image = bbolt::ImageOf(content_).value();
  check_ = Fail(Code::kDataLoss, "not this one");
  EXPECT_EQ(Send(image, 4096).error().message, "not this one");
  EXPECT_THAT(Files(), IsEmpty());
  meta_check_ = Fail(Code::kFailedPrecondition, "of a later version");
  EXPECT_EQ(Send(image, 4096).error().message, "of a later version");
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(EtcdSinkTest, APageThatBelongsNowhereIsDamage) {
  std::string image = bbolt::ImageOf(content_).value();
  const std::string page = image.substr(image.size() - 4096);
  // One page more than anything refers to, by metas that say so.
  const auto reader = bbolt::OpenImage(image).value();
  bbolt::Meta meta = reader->meta();
  meta.high_water += 1;
  image += page;
  for (const std::uint64_t txid : {std::uint64_t{0}, std::uint64_t{1}}) {
    meta.txid = txid;
    image.replace(txid * 4096, 4096, bbolt::EncodeMetaPage(meta));
  }
  const auto sent = Send(image, 4096);
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, Code::kDataLoss);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(EtcdSinkTest, AFullDiskIsToldAndLeavesNothing) {
  for (std::size_t i = 0; i < 3000; ++i)
    content_["alarm"]["key" + std::to_string(i)] = std::string(500, 'v');
  const std::string image = bbolt::ImageOf(content_).value();
  for (const std::uint64_t capacity : {image.size() / 2, image.size() + (image.size() / 2)}) {
    world_.files.SetCapacity(capacity);
    const auto sent = Send(image, 4096);
    ASSERT_FALSE(sent.has_value());
    EXPECT_EQ(sent.error().code, Code::kResourceExhausted) << sent.error().message;
    EXPECT_THAT(Files(), IsEmpty());
  }
}

}  // namespace
}  // namespace kvorum::mvcc
