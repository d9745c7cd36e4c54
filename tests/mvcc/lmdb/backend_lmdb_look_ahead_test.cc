// LmdbMappedTree over images of LMDB's files, sound and damaged.
#include "mvcc/lmdb/backend_lmdb_look_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "mvcc/lmdb/backend_lmdb_pages.h"
#include "mvcc/records/look_ahead.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using lmdb_pages::Load;
using lmdb_pages::Meta;
using lmdb_pages::PageHeader;

constexpr std::size_t kPageBytes = 4096;

std::string LmdbKeyOf(std::int64_t main) {
  return "\x7f" + std::string(RevisionKey({main, 0}).view());
}

// Between inaccessible pages.
class Image {
 public:
  explicit Image(const std::string& file) : size_bytes_(file.size()) {
    void* const all = ::mmap(nullptr, size_bytes_ + 2 * kPageBytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    KV_CHECK(all != MAP_FAILED, "no memory for an image");
    bytes_ = static_cast<char*>(all) + kPageBytes;
    ::mprotect(bytes_, size_bytes_, PROT_READ | PROT_WRITE);
    std::ranges::copy(file, bytes_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { ::munmap(bytes_ - kPageBytes, size_bytes_ + 2 * kPageBytes); }

  std::size_t pages() const { return size_bytes_ / kPageBytes; }
  char* page(std::uint64_t number) const { return bytes_ + number * kPageBytes; }
  PageHeader HeaderOf(std::uint64_t number) const { return Load<PageHeader>(page(number)); }
  Meta MetaOf(std::uint64_t number) const { return Load<Meta>(page(number) + sizeof(PageHeader)); }
  template <class T>
  void Store(char* at, T value) const {
    std::memcpy(at, &value, sizeof(value));
  }
  // The newest state has this one.
  std::uint64_t transaction() const {
    return std::max(MetaOf(0).transaction, MetaOf(1).transaction);
  }
  std::uint64_t root() const { return MetaOf(transaction() % 2).main.root; }
  std::optional<LmdbMappedTree> Find(std::uint64_t transaction) const {
    return LmdbMappedTree::Find(
        {.begin = bytes_, .page_bytes = kPageBytes, .size_bytes = size_bytes_}, transaction);
  }

 private:
  std::size_t size_bytes_;
  char* bytes_;
};

// The number of the keys that are found, asked for by sixteen.
std::size_t FindAll(const LmdbMappedTree& tree, const std::vector<std::string>& keys) {
  std::size_t found = 0;
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (std::size_t i = 0; i < views.size(); i += kMostAhead) {
    const std::size_t count = std::min(kMostAhead, views.size() - i);
    found += tree.LookAhead(std::span(views).subspan(i, count));
  }
  return found;
}

class LmdbLookAheadTest : public testing::Test {
 protected:
  // Three levels, values of all sizes, some in pages of their own, records of other buckets.
  LmdbLookAheadTest() {
    const auto backend = world_.Open().value();
    Rng rng(3);
    for (int commit = 0; commit < 4; ++commit) {
      OwnedBatch batch;
      for (int i = 0; i < 600; ++i) {
        main_ += 2;
        batch.Append({main_, 0}, std::string(rng.Below(rng.OneIn(50) ? 9000 : 500), 'v'));
        keys_.push_back(LmdbKeyOf(main_));
        absent_.push_back(LmdbKeyOf(main_ - 1));
      }
      batch.Put(Bucket::kAuthUsers, "user", std::string(100, 'u'));
      Commit(*backend, batch);
    }
    absent_.push_back(LmdbKeyOf(main_ + 1));
    absent_.emplace_back();
    Shuffle(rng, keys_);
    std::ifstream file(world_.path, std::ios::binary);
    file_.assign(std::istreambuf_iterator<char>(file), {});
  }

  static void Shuffle(Rng& rng, std::vector<std::string>& keys) {
    for (std::size_t i = keys.size() - 1; i > 0; --i) std::swap(keys[i], keys[rng.Below(i + 1)]);
  }

  LmdbWorld world_;
  std::int64_t main_ = 2;
  std::vector<std::string> keys_;
  std::vector<std::string> absent_;
  std::string file_;
};

TEST_F(LmdbLookAheadTest, TheKeysOfTheTreeAreFoundAndNoOthers) {
  const Image image(file_);
  const auto tree = image.Find(image.transaction());
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(FindAll(*tree, keys_), keys_.size());
  EXPECT_EQ(FindAll(*tree, absent_), 0);
  EXPECT_EQ(tree->LookAhead({}), 0);
}

TEST_F(LmdbLookAheadTest, TheStateBeforeIsThereUntilItsMetaPageIsOverwritten) {
  const Image image(file_);
  const auto before = image.Find(image.transaction() - 1);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(FindAll(*before, keys_), 1800);
  EXPECT_FALSE(image.Find(image.transaction() - 2).has_value());
  EXPECT_FALSE(image.Find(image.transaction() + 2).has_value());
}

TEST_F(LmdbLookAheadTest, NothingBeyondTheEndOfTheFileIsRead) {
  const std::size_t all = file_.size() / kPageBytes;
  for (std::size_t pages = 0; pages < all; pages += 7) {
    const Image image(file_.substr(0, pages * kPageBytes));
    const Image whole(file_);
    const auto tree = image.Find(whole.transaction());
    const std::size_t found = tree.has_value() ? FindAll(*tree, keys_) : 0;
    EXPECT_LE(found, keys_.size());
    if (pages < all / 2) {
      EXPECT_LT(found, keys_.size()) << pages;
    }
  }
}

// Each number that leads the walk gets values that lead astray.
TEST_F(LmdbLookAheadTest, NoDamageLeadsOutOfTheFile) {
  const Image image(file_);
  const std::uint64_t transaction = image.transaction();
  std::size_t found_less = 0;
  const auto walk = [&] {
    const auto tree = image.Find(transaction);
    if (tree.has_value() && FindAll(*tree, keys_) < keys_.size()) ++found_less;
  };
  // Then puts the sound value back.
  const auto damage = [&]<class T>(char* at, std::initializer_list<T> values) {
    const T sound = Load<T>(at);
    for (const T value : values) {
      image.Store(at, value);
      walk();
    }
    image.Store(at, sound);
  };
  const std::uint64_t end = image.pages();
  char* const root_at = image.page(transaction % 2) + sizeof(PageHeader) + offsetof(Meta, main) +
                        offsetof(lmdb_pages::TreeInfo, root);
  damage(root_at, {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, end - 1, end, end + 1,
                   ~std::uint64_t{0}, std::uint64_t{1} << 52});
  const auto spoil_page = [&](std::uint64_t number) {
    char* const page = image.page(number);
    const PageHeader header = image.HeaderOf(number);
    const bool is_leaf = header.flags == lmdb_pages::kLeafFlag;
    damage(page + offsetof(PageHeader, number), {std::uint64_t{0}, number + 1});
    damage(page + offsetof(PageHeader, flags),
           {std::uint16_t{0}, std::uint16_t{3}, lmdb_pages::kOverflowFlag, lmdb_pages::kMetaFlag,
            is_leaf ? lmdb_pages::kBranchFlag : lmdb_pages::kLeafFlag});
    damage(page + offsetof(PageHeader, lower),
           {std::uint16_t{0}, std::uint16_t{15}, std::uint16_t{16}, std::uint16_t{17},
            std::uint16_t{4095}, std::uint16_t{4096}, std::uint16_t{4097}, std::uint16_t{65535}});
    const std::size_t nodes = (header.lower - sizeof(header)) / 2;
    for (const std::size_t node : {std::size_t{0}, nodes / 2, nodes - 1}) {
      char* const offset_at = page + sizeof(header) + 2 * node;
      char* const at = page + Load<std::uint16_t>(offset_at);
      damage(offset_at, {std::uint16_t{0}, std::uint16_t{4080}, std::uint16_t{4088},
                         std::uint16_t{4089}, std::uint16_t{4095}, std::uint16_t{65535}});
      damage(at, {std::uint32_t{0}, std::uint32_t{1}, static_cast<std::uint32_t>(number),
                  static_cast<std::uint32_t>(image.root()), static_cast<std::uint32_t>(end - 1),
                  static_cast<std::uint32_t>(end), ~std::uint32_t{0}});
      damage(at + 4, {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{65535}});
      damage(at + 6,
             {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{4096}, std::uint16_t{65535}});
    }
  };
  spoil_page(image.root());
  const char* const first_child =
      image.page(image.root()) + Load<std::uint16_t>(image.page(image.root()) + sizeof(PageHeader));
  spoil_page(Load<std::uint32_t>(first_child));
  std::uint64_t leaf = 2;
  while (image.HeaderOf(leaf).flags != lmdb_pages::kLeafFlag) ++leaf;
  spoil_page(leaf);
  EXPECT_GT(found_less, 50);
  walk();
  EXPECT_EQ(FindAll(*image.Find(transaction), keys_), keys_.size()) << "all is sound again";
}

TEST_F(LmdbLookAheadTest, TheFileIsFoundFromAnyPlaceOfItsMap) {
  const int fd = ::open(world_.path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  void* const map = ::mmap(nullptr, 8 * kPageBytes, PROT_READ, MAP_SHARED, fd, kPageBytes);
  ::close(fd);
  ASSERT_NE(map, MAP_FAILED);
  // The kernel keeps parts with advice of their own apart.
  ::madvise(static_cast<char*>(map) + 2 * kPageBytes, kPageBytes, MADV_SEQUENTIAL);
  const char* const begin = static_cast<const char*>(map) - kPageBytes;
  for (std::size_t place = 0; place < 8 * kPageBytes; place += 1000)
    EXPECT_TRUE(FindMapOf(begin + kPageBytes + place) == begin) << place;
  ::munmap(map, 8 * kPageBytes);
  EXPECT_TRUE(FindMapOf(nullptr) == nullptr);
}

class LmdbSnapshotLookAheadTest : public testing::Test {
 protected:
  // All of them, before and while they are read.
  static void ExpectFound(Backend& backend, std::int64_t from, std::int64_t to) {
    std::vector<Revision> revisions;
    for (std::int64_t main = from; main < to; ++main) revisions.push_back({main, 0});
    const Reader reader = backend.NewReader().value();
    for (std::size_t i = 0; i < revisions.size(); i += 10) {
      const auto asked =
          std::span(revisions).subspan(i, std::min<std::size_t>(16, revisions.size() - i));
      EXPECT_EQ(reader->LookAhead(asked), asked.size());
      EXPECT_TRUE(reader->GetRevision(asked[0]).value().has_value());
    }
  }
  static void Append(Backend& backend, std::int64_t from, std::int64_t to) {
    OwnedBatch batch;
    for (std::int64_t main = from; main < to; ++main)
      batch.Append({main, 0}, std::string(1000, 'v'));
    Commit(backend, batch);
  }
};

TEST_F(LmdbSnapshotLookAheadTest, ItFindsTheRecordsAfterEveryChangeOfTheMap) {
  LmdbWorld world;
  const auto open = [&] {
    return OpenLmdbBackend({.path = world.path, .map_size_bytes = 1 << 20}).value();
  };
  auto backend = open();
  Append(*backend, 2, 100);
  ExpectFound(*backend, 2, 100);
  for (std::int64_t main = 100; main < 5'000; main += 100) Append(*backend, main, main + 100);
  ExpectFound(*backend, 2, 5'000);  // the map grew
  ASSERT_TRUE(Defragment(*backend).has_value());
  ExpectFound(*backend, 2, 5'000);
  backend.reset();
  backend = open();
  ExpectFound(*backend, 2, 5'000);
}

TEST_F(LmdbSnapshotLookAheadTest, AnOldStateIsLookedUpAsLongAsItsMetaPageIsThere) {
  LmdbWorld world;
  const auto backend = world.Open().value();
  Append(*backend, 2, 100);
  const Reader before = backend->NewReader().value();
  Append(*backend, 100, 101);
  const std::vector<Revision> asked{{2, 0}, {99, 0}, {100, 0}};
  EXPECT_EQ(before->LookAhead(asked), 2);
  const Reader old = backend->NewReader().value();
  Append(*backend, 101, 102);
  Append(*backend, 102, 103);
  EXPECT_EQ(old->LookAhead(asked), 0);
  EXPECT_EQ(before->LookAhead(asked), 2);  // it knows its tree
}

}  // namespace
}  // namespace kvorum::mvcc
