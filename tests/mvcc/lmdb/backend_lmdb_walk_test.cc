// LmdbCheck::kAllPages. Fault model: any byte of the file may be another. A file that passes the
// check can be opened, and has the content that was written, or names the record that is damaged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/rng.h"
#include "mvcc/lmdb/backend_lmdb_check.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using testing::HasSubstr;

constexpr off_t kFilePageBytes = 4096;

class LmdbWalkTest : public testing::Test {
 protected:
  Result<void> Check() const {
    const int fd = ::open(world_.path.c_str(), O_RDONLY);
    const Result<void> checked = CheckLmdbFile(fd, world_.path, LmdbCheck::kAllPages);
    ::close(fd);
    return checked;
  }
  Result<Content> ReadChecked() const {
    KV_TRY(const auto backend,
           OpenLmdbBackend(
               {.path = world_.path, .map_size_bytes = 4 << 20, .check = LmdbCheck::kAllPages}));
    KV_TRY(const Reader reader, backend->NewReader());
    return ReadContent(*reader);
  }
  // Several levels, overflow pages, free pages, several buckets.
  Content MakeDatabase() {
    const auto backend = world_.Open().value();
    std::int64_t main = 1;
    for (int commit = 0; commit < 6; ++commit) {
      OwnedBatch batch;
      for (int i = 0; i < 12; ++i) {
        ++main;
        batch.Append({main, 0}, "value " + std::to_string(main) +
                                    std::string(static_cast<std::size_t>(main * 37 % 400), '.'));
      }
      batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(10'000'000 + commit));
      batch.Put(Bucket::kAuthUsers, "user " + std::to_string(commit), "x");
      if (commit % 3 == 1) batch.Append({++main, 0}, std::string(6000, 'L'));
      Commit(*backend, batch);
    }
    OwnedBatch last;
    for (std::int64_t gone = 2; gone < main; gone += 3) last.Delete({gone, 0});
    Commit(*backend, last);
    return ContentOf(*backend);
  }

  LmdbWorld world_;
};

TEST_F(LmdbWalkTest, EachStateOfASoundFilePasses) {
  Rng rng(5);
  for (int round = 0; round < 6; ++round) {
    std::filesystem::remove(world_.path);
    auto backend = world_.Open().value();
    ASSERT_TRUE(Check().has_value()) << "a new one: " << Check().error().message;
    std::int64_t main = 1;
    for (int commit = 0; commit < 40; ++commit) {
      OwnedBatch batch;
      for (std::uint64_t i = rng.Below(60); i > 0; --i)
        batch.Append({++main, 0}, std::string(rng.Below(rng.OneIn(20) ? 20'000 : 300), 'v'));
      for (std::uint64_t i = rng.Below(40); i > 0 && main > 2; --i)
        batch.Delete(
            {static_cast<std::int64_t>(2 + rng.Below(static_cast<std::uint64_t>(main - 1))), 0});
      // Values that shrink and grow in their places.
      for (int i = 0; i < 3; ++i)
        batch.Put(Bucket::kAuthUsers, "user " + std::to_string(rng.Below(10)),
                  std::string(rng.Below(rng.OneIn(2) ? 9000 : 200), 'u'));
      if (rng.OneIn(3)) batch.Remove(Bucket::kAuthUsers, "user " + std::to_string(rng.Below(10)));
      Commit(*backend, batch);
      if (commit % 20 == 19) {
        ASSERT_TRUE(Defragment(*backend).has_value());
      }
      const auto checked = Check();
      ASSERT_TRUE(checked.has_value()) << commit << ": " << checked.error().message;
    }
  }
}

TEST_F(LmdbWalkTest, NoFlippedByteCrashesOrChangesWhatIsRead) {
  const Content content = MakeDatabase();
  const int fd = ::open(world_.path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  const off_t end = ::lseek(fd, 0, SEEK_END);
  ASSERT_GT(end, 10 * kFilePageBytes);
  int found_by_walk = 0;
  int found_by_reading = 0;
  int without_effect = 0;
  for (off_t at = 0; at < end; ++at) {
    char sound = 0;
    ASSERT_EQ(::pread(fd, &sound, 1, at), 1);
    const int mask = at % 2 == 0 ? 0xff : 1 << (at / 2 % 8);
    const char flipped = static_cast<char>(sound ^ mask);
    ASSERT_EQ(::pwrite(fd, &flipped, 1, at), 1);
    if (!CheckLmdbFile(fd, world_.path, LmdbCheck::kAllPages).has_value()) {
      ++found_by_walk;
    } else if (at % 31 == 0 || at % kFilePageBytes < 48) {  // the rest is slow, and the same
      const auto read = ReadChecked();
      if (read.has_value()) {
        ASSERT_EQ(*read, content) << "byte " << at;
        ++without_effect;
      } else {
        ASSERT_EQ(read.error().code, Code::kDataLoss) << "byte " << at;
        ++found_by_reading;
      }
    }
    ASSERT_EQ(::pwrite(fd, &sound, 1, at), 1);
  }
  ::close(fd);
  // Free pages, padding, the older of the two headers.
  EXPECT_GT(without_effect, 200);
  EXPECT_GT(found_by_walk, 1000);
  EXPECT_GT(found_by_reading, 200);
  EXPECT_EQ(ReadChecked(), content);
}

TEST_F(LmdbWalkTest, APageInAnothersPlaceIsFound) {
  const Content content = MakeDatabase();
  const int fd = ::open(world_.path.c_str(), O_RDWR);
  const off_t pages = ::lseek(fd, 0, SEEK_END) / kFilePageBytes;
  int found = 0;
  for (off_t from = 0; from < pages; ++from) {
    for (off_t to = 0; to < pages; ++to) {
      std::string sound(kFilePageBytes, '\0');
      std::string other(kFilePageBytes, '\0');
      ASSERT_EQ(::pread(fd, sound.data(), kFilePageBytes, to * kFilePageBytes), kFilePageBytes);
      ASSERT_EQ(::pread(fd, other.data(), kFilePageBytes, from * kFilePageBytes), kFilePageBytes);
      ASSERT_EQ(::pwrite(fd, other.data(), kFilePageBytes, to * kFilePageBytes), kFilePageBytes);
      const auto read = ReadChecked();
      if (read.has_value()) {
        ASSERT_EQ(*read, content) << from << " to " << to;
      } else {
        ++found;
      }
      ASSERT_EQ(::pwrite(fd, sound.data(), kFilePageBytes, to * kFilePageBytes), kFilePageBytes);
    }
  }
  ::close(fd);
  EXPECT_GT(found, static_cast<int>(pages * pages / 4));
}

TEST_F(LmdbWalkTest, NoLengthIsTakenForTheWholeFile) {
  const Content content = MakeDatabase();
  const auto whole = static_cast<off_t>(std::filesystem::file_size(world_.path));
  for (off_t length = whole - 1; length >= 0; length -= length % kFilePageBytes == 0 ? 1 : 511) {
    ASSERT_EQ(::truncate(world_.path.c_str(), length), 0);
    const auto read = ReadChecked();
    if (read.has_value()) {
      ASSERT_EQ(*read, content) << length;
    } else {
      ASSERT_THAT(read.error().message, HasSubstr("truncated")) << length;
    }
  }
}

}  // namespace
}  // namespace kvorum::mvcc
