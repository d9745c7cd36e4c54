// A base's image in its parts: what is read is what was written, or an object is named.
#include "archive/restore/base_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/frame.h"
#include "archive/restore/listing.h"
#include "archive/store/folder_store.h"
#include "base/digest/sha256.h"
#include "tests/disk/sim_file_system.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

using testing::HasSubstr;

constexpr HistoryId kImageHistory = 0x1;
constexpr BaseName kImageBase = {.index = 5, .revision = 5, .time_ms = 50};
constexpr std::size_t kPartBytes = 100;

class BaseReaderTest : public testing::TestWithParam<Ahead> {
 protected:
  BaseReaderTest() {
    store_ = std::move(FolderStore::Open(disk_, clock_, stop_, {.folder = "/archive", .seed = 7}))
                 .value();
    for (int i = 0; i < 350; ++i) image_ += static_cast<char>('a' + i % 23);
    manifest_ = {.history = kImageHistory,
                 .base = kImageBase,
                 .end = {.size_bytes = image_.size(), .sha256 = Sha256Hex(image_), .term = 3},
                 .parts = {}};
    for (std::uint32_t number = 0; number * kPartBytes < image_.size(); ++number) {
      const PartHeader header = HeaderOf(number);
      manifest_.parts.push_back({.raw_bytes = header.raw_bytes, .sha256 = header.sha256});
      PutPart(header);
    }
    Put(ManifestKey(), ToJson(manifest_));
  }

  PartHeader HeaderOf(std::uint32_t number) const {
    const std::string content = ContentOf(number);
    PartHeader header = {.history = kImageHistory,
                         .name = {.base = kImageBase, .number = number},
                         .offset = number * kPartBytes,
                         .raw_bytes = content.size(),
                         .sha256 = Sha256Hex(content),
                         .end = {}};
    if (header.offset + kPartBytes >= image_.size()) header.end = manifest_.end;
    return header;
  }
  std::string ContentOf(std::uint32_t number) const {
    return image_.substr(number * kPartBytes, kPartBytes);
  }
  void PutPart(const PartHeader& header) {
    Put(PartKey(header.name.number), Frame(ToJson(header), ContentOf(header.name.number)));
  }
  void Put(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->Put(key, bytes, {}).has_value());
  }
  std::string Get(const std::string& key) {
    return ReadObject(*store_, key, kMaxObjectBytes).value();
  }
  void Delete(const std::string& key) {
    const std::array keys = {key};
    ASSERT_TRUE(store_->Delete(keys).has_value());
  }
  static std::string PartKey(std::uint32_t number) {
    return KeyText(
        {.history = kImageHistory, .name = PartName{.base = kImageBase, .number = number}});
  }
  static std::string ManifestKey() {
    return KeyText({.history = kImageHistory, .name = ManifestName{kImageBase}});
  }

  // The image, or the key of the object to blame.
  std::string ReadOrBlame(bool has_manifest = true) {
    std::string image;
    const auto end = ReadBase(
        *store_, {.history = kImageHistory, .name = kImageBase, .has_manifest = has_manifest},
        [&](std::uint64_t offset, std::string_view bytes) -> Result<void> {
          EXPECT_EQ(offset, image.size());
          image += bytes;
          return {};
        },
        [&](std::uint64_t done, std::uint64_t) { EXPECT_EQ(done, image.size()); }, GetParam());
    if (!end.has_value()) {
      EXPECT_THAT(end.error().error.message, HasSubstr(end.error().object));
      return end.error().object;
    }
    EXPECT_EQ(*end, manifest_.end);
    return image;
  }

  SimFileSystem disk_;
  ManualClock clock_;
  StopSignal stop_;
  std::unique_ptr<ObjectStore> store_;
  std::string image_;
  Manifest manifest_;
};

TEST_P(BaseReaderTest, TheImageIsThatOfTheParts) {
  EXPECT_EQ(ReadOrBlame(), image_);
  EXPECT_EQ(ReadOrBlame(/*has_manifest=*/false), image_);
  Delete(ManifestKey());
  EXPECT_EQ(ReadOrBlame(), image_);
}

TEST_P(BaseReaderTest, EveryDamagedByteIsFoundAndNamed) {
  for (const std::string& key : {PartKey(0), PartKey(3), ManifestKey()}) {
    const std::string bytes = Get(key);
    for (std::size_t i = 0; i < bytes.size(); i += 5) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      Put(key, damaged);
      const std::string blamed = ReadOrBlame();
      // The manifest is compared with the parts, which may be blamed then.
      ASSERT_TRUE(blamed == key || (key == ManifestKey() && blamed != image_)) << key << " " << i;
    }
    Put(key, bytes.substr(0, bytes.size() / 2));
    EXPECT_EQ(ReadOrBlame(), key);
    Put(key, bytes);
  }
}

TEST_P(BaseReaderTest, MissingAndSwappedPartsAreNamed) {
  const std::string second = Get(PartKey(1));
  Put(PartKey(1), Get(PartKey(2)));
  EXPECT_EQ(ReadOrBlame(), PartKey(1));
  EXPECT_EQ(ReadOrBlame(/*has_manifest=*/false), PartKey(1));
  Delete(PartKey(1));
  EXPECT_EQ(ReadOrBlame(), PartKey(1));
  Put(PartKey(1), second);
  Delete(PartKey(3));
  EXPECT_EQ(ReadOrBlame(), PartKey(3));
  EXPECT_EQ(ReadOrBlame(/*has_manifest=*/false), PartKey(3));
}

// Each part is whole, and the image is not that of the manifest.
TEST_P(BaseReaderTest, APartOfAnotherImageIsNamed) {
  PartHeader header = HeaderOf(1);
  const std::string content(kPartBytes, 'x');
  header.sha256 = Sha256Hex(content);
  Put(PartKey(1), Frame(ToJson(header), content));
  EXPECT_EQ(ReadOrBlame(), PartKey(1));
  EXPECT_EQ(ReadOrBlame(/*has_manifest=*/false), PartKey(3)) << "the whole has another SHA-256";
}

TEST_P(BaseReaderTest, ABaseWhosePartsAreAllThereCountsWithoutItsManifest) {
  Delete(ManifestKey());
  auto listing = ReadListing(*store_);
  ASSERT_TRUE(listing.has_value());
  Contents& contents = listing->contents;
  ASSERT_TRUE(CountWholeBases(*store_, contents).has_value());
  EXPECT_TRUE(contents.histories.at(kImageHistory).bases.front().has_manifest);
  Delete(PartKey(3));
  listing = ReadListing(*store_);
  ASSERT_TRUE(CountWholeBases(*store_, listing->contents).has_value());
  EXPECT_FALSE(listing->contents.histories.at(kImageHistory).bases.front().has_manifest);
}

INSTANTIATE_TEST_SUITE_P(Ahead, BaseReaderTest, testing::Values(Ahead::kNone, Ahead::kThread));

}  // namespace
}  // namespace kvorum::archive
