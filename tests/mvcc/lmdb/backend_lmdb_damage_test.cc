// Damage to the LMDB backend's file.
//
// Fault model: bytes of the file may be flipped, its end may be missing. Damage must be refused,
// named or end the process (LMDB reads through a map, so a bad page number may raise a signal); a
// wrong value must never be returned. The state after a power cut depends on LMDB's own commit
// order, which a killed process cannot show; the in-memory twin stands for it in the simulation.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "base/rng.h"
#include "mvcc/lmdb/backend.h"
#include "tests/mvcc/lmdb_backend_fixture.h"

namespace kvorum::mvcc {
namespace {

using ::testing::HasSubstr;

TEST_F(LmdbBackendTest, ATruncatedFileIsRefusedAtEachLength) {
  const Content content = MakeDatabase(400);
  const std::string sound = ReadFile(world_.path);
  int opened_whole = 0;
  for (std::size_t length = sound.size(); length-- > 0;) {
    // Every page's edges and places within the pages.
    if (length % 4096 > 1 && length % 4096 != 4095 && length % 1000 != 0) continue;
    WriteFile(world_.path, std::string_view(sound).substr(0, length));
    if (const auto opened = Open(); opened.has_value()) {
      // Only where nothing but free pages is missing.
      ++opened_whole;
      ASSERT_EQ(ContentOf(**opened), content) << "length " << length;
      Commit(**opened, OwnedBatch().Append({10'000, 0}, std::string(50'000, 'x')));
      ASSERT_EQ(ContentOf(**opened).size(), content.size() + 1);
    } else {
      ASSERT_THAT(opened.error().message, HasSubstr("truncated")) << "length " << length;
      ASSERT_EQ(ReadFile(world_.path).size(), length);
    }
  }
  EXPECT_LT(opened_whole, 40);
}

// A transaction that takes pages at the end of the file and frees them again leaves a file that
// ends before the last page its header names.
TEST_F(LmdbBackendTest, AFileThatEndsWithinFreePagesIsAccepted) {
  int short_files = 0;
  Rng rng(3);
  for (int round = 0; round < 40 && short_files < 3; ++round) {
    std::filesystem::remove(world_.path);
    auto backend = MustOpen();
    std::int64_t main = 1;
    for (int commits = 0; commits < 6; ++commits) {
      OwnedBatch batch;
      for (std::uint64_t i = 20 + rng.Below(200); i > 0; --i) {
        batch.Append({++main, 0}, std::string(rng.Below(500), 'v'));
      }
      // Most of the appended records are deleted again, so that pages become empty within the
      // transaction.
      const std::int64_t from = rng.OneIn(2) ? main - 15 : 2;
      for (std::int64_t gone = from; gone < main; ++gone) batch.Delete({gone, 0});
      Commit(*backend, batch);
      const std::uint64_t told = backend->SizeBytes();
      if (std::filesystem::file_size(world_.path) >= told) continue;
      ++short_files;
      const Content content = ContentOf(*backend);
      backend.reset();
      backend = MustOpen();
      EXPECT_EQ(ContentOf(*backend), content);
    }
  }
  EXPECT_GT(short_files, 0) << "the case was not met; the test shows nothing";
}

TEST_F(LmdbBackendTest, AFlippedByteOfAValueIsNamedAndTheValueNotServed) {
  MakeDatabase(20);
  const std::string sound = ReadFile(world_.path);
  const std::string value = ValueOf(18);
  const std::size_t at = sound.rfind(value);
  ASSERT_NE(at, std::string::npos);
  for (std::size_t i = 0; i < value.size() + 4; ++i) {
    std::string flipped = sound;
    // All copies of the page: an older one may be the live one.
    for (std::size_t copy = sound.find(value); copy != std::string::npos;
         copy = sound.find(value, copy + 1)) {
      flipped[copy + i] = static_cast<char>(flipped[copy + i] ^ (1 << (i % 8)));
    }
    WriteFile(world_.path, flipped);
    const auto backend = MustOpen();
    const auto reader = backend->NewReader();
    const auto got = (*reader)->GetRevision({18, 0});
    ASSERT_FALSE(got.has_value()) << i;
    EXPECT_EQ(got.error().code, Code::kDataLoss);
    EXPECT_THAT(got.error().message,
                HasSubstr("checksum mismatch in bucket key at key 0000000000000012"));
    EXPECT_THAT(got.error().message, HasSubstr(world_.path));
    EXPECT_EQ((*reader)->GetRevision({19, 0}).value()->value, ValueOf(19)) << "others are served";
    std::array<std::optional<RevisionRecord>, 3> found;
    const auto several =
        (*reader)->GetRevisions(std::array<Revision, 3>{{{17, 0}, {18, 0}, {19, 0}}}, found);
    ASSERT_FALSE(several.has_value());
    EXPECT_EQ(several.error(), got.error());
    const auto all = ReadContent(**reader);
    ASSERT_FALSE(all.has_value());
    EXPECT_EQ(all.error().code, Code::kDataLoss);
    EXPECT_FALSE(Defragment(*backend).has_value()) << "damage is not copied";
  }
}

TEST_F(LmdbBackendTest, RecordsThatChangedPlacesAreNoticed) {
  MakeDatabase(200);
  std::string file = ReadFile(world_.path);
  int swapped = 0;
  for (std::size_t page = 2 * 4096; page + 4096 <= file.size(); page += 4096) {
    constexpr char kLeaf = 2;
    if (file[page + 10] != kLeaf) continue;
    // A leaf's records are found through offsets after its header; the first begins with its key.
    unsigned char* const offsets = reinterpret_cast<unsigned char*>(file.data()) + page + 16;
    const std::size_t first = offsets[0] + std::size_t{256} * offsets[1];
    if (file[page + first + 8] != '\x7f') continue;
    std::swap_ranges(offsets, offsets + 2, offsets + 2);
    ++swapped;
  }
  ASSERT_GT(swapped, 2);
  WriteFile(world_.path, file);
  const auto backend = MustOpen();
  const auto content = ReadContent(**backend->NewReader());
  ASSERT_FALSE(content.has_value());
  EXPECT_EQ(content.error().code, Code::kDataLoss);
}

// The records as a start sees them: every record, their number, and each revision looked up.
enum class Seen { kSound, kNamed, kWrong };
Seen LookAtAll(const LmdbWorld& world, const Content& newest, const Content& previous) {
  auto backend = OpenLmdbBackend({.path = world.path});
  if (!backend.has_value()) return Seen::kNamed;
  auto reader = (*backend)->NewReader();
  if (!reader.has_value()) return Seen::kNamed;
  const Result<Content> content = ReadContent(**reader);
  const Result<std::uint64_t> count = (*reader)->CountRevisions();
  if (!content.has_value() || !count.has_value()) return Seen::kNamed;
  std::uint64_t revisions = 0;
  for (const auto& [key, value] : *content) revisions += key.first == Bucket::kKey ? 1u : 0u;
  if (revisions != *count) return Seen::kNamed;
  for (const auto& [key, value] : *content) {
    if (key.first != Bucket::kKey) continue;
    const auto found = (*reader)->GetRevision(RevisionKey::Decode(key.second)->revision);
    if (!found.has_value() || !found->has_value()) return Seen::kNamed;
    if ((*found)->value != value) return Seen::kWrong;
  }
  if (*content == newest) return Seen::kSound;
  // A flipped transaction id makes LMDB take the other meta page, the commit before: the replica
  // sees from the consistent index that the log no longer reaches back so far, or replays it.
  return *content == previous ? Seen::kNamed : Seen::kWrong;
}

TEST_F(LmdbBackendTest, AFlippedBitAnywhereNeverMakesAWrongValue) {
  MakeDatabase(400);
  Content previous;
  Content newest;
  {
    const auto backend = MustOpen();
    previous = ContentOf(*backend);
    Commit(*backend, OwnedBatch().Append({1000, 0}, "the newest"));
    newest = ContentOf(*backend);
  }
  const std::string sound = ReadFile(world_.path);
  Rng rng(11);
  int named = 0;
  int crashed = 0;
  for (int round = 0; round < 200; ++round) {
    std::string flipped = sound;
    // Half of them where pages and headers keep their structure.
    std::size_t at = rng.Below(sound.size());
    if (round % 2 == 0) at = at / 4096 * 4096 + rng.Below(96);
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << rng.Below(8)));
    WriteFile(world_.path, flipped);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(signal, SIG_DFL);
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, STDERR_FILENO);
      ::alarm(20);
      ::_exit(static_cast<int>(LookAtAll(world_, newest, previous)));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
      ASSERT_NE(WTERMSIG(status), SIGALRM) << "byte " << at;
      ++crashed;
      continue;
    }
    ASSERT_NE(WEXITSTATUS(status), static_cast<int>(Seen::kWrong)) << "byte " << at;
    if (WEXITSTATUS(status) == static_cast<int>(Seen::kNamed)) ++named;
  }
  EXPECT_GT(named, 20);
  RecordProperty("crashed", crashed);
}

}  // namespace
}  // namespace kvorum::mvcc
