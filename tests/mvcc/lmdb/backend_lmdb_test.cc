// Features of the LMDB backend alone: a file that may be foreign, locked or full, a map that grows,
// and a defragmentation that may be killed. The contract itself is in backend_test.cc, damage in
// backend_lmdb_damage_test.cc.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include "base/failpoint/failpoint_control.h"
#include "base/rng.h"
#include "mvcc/lmdb/backend.h"
#include "tests/eventually.h"
#include "tests/mapped_bytes.h"
#include "tests/mvcc/lmdb_backend_fixture.h"

namespace {
// This many of the next syncs fail as they do if space is found missing only when data is written
// back.
std::atomic<int> failing_syncs = 0;
// The next write of a meta page, which are the first two pages of the file, finds no room.
std::atomic<bool> no_room_for_meta_page = false;
// If it is not 0, every disk is as large.
std::atomic<std::uint64_t> told_disk_bytes = 0;
// Runs between the opening of a file and its lock, once.
std::function<void()> before_lock;
}  // namespace

// LMDB's, and ours.
extern "C" int fdatasync(int fd) {
  if (failing_syncs.load() == 0) return static_cast<int>(::syscall(SYS_fdatasync, fd));
  --failing_syncs;
  errno = ENOSPC;
  return -1;
}

extern "C" int flock(int fd, int operation) {
  if (const auto run = std::exchange(before_lock, nullptr)) run();
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  if (offset < off_t{2} * 4096 && no_room_for_meta_page.exchange(false)) {
    errno = ENOSPC;
    return -1;
  }
  return ::syscall(SYS_pwrite64, fd, bytes, count, offset);
}

extern "C" int statvfs(const char* path, struct statvfs* status) noexcept {
  static const auto real =
      reinterpret_cast<int (*)(const char*, struct statvfs*)>(::dlsym(RTLD_NEXT, "statvfs"));
  const int code = real(path, status);
  if (const std::uint64_t bytes = told_disk_bytes.load(); code == 0 && bytes != 0)
    status->f_blocks = bytes / status->f_frsize;
  return code;
}

namespace kvorum::mvcc {
namespace {

using ::testing::HasSubstr;

// ---- files ----

TEST_F(LmdbBackendTest, ItsFilesAreForItsOwnerOnly) {
  const auto backend = MustOpen();
  for (const std::string& path : {world_.path, world_.path + "-lock"}) {
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << path;
  }
  EXPECT_LT(ReadFile(world_.path).size(), 5 * 4096u) << "the file is as long as its data";
}

TEST_F(LmdbBackendTest, OpenedForReadingAloneItIsReadAndNothingElse) {
  const Content content = MakeDatabase(500);
  std::filesystem::remove(world_.path + "-lock");
  ASSERT_EQ(::chmod(world_.path.c_str(), 0400), 0);
  const std::string before = ReadFile(world_.path);
  const auto open = [&] { return OpenLmdbBackend({.path = world_.path, .read_only = true}); };
  {
    const auto first = open();
    ASSERT_TRUE(first.has_value()) << first.error().message;
    const auto second = open();
    ASSERT_TRUE(second.has_value()) << second.error().message;
    for (const auto* each : {&first, &second}) {
      EXPECT_TRUE(ContentOf(***each) == content);
      EXPECT_GT((**each)->SizeInUseBytes(), 0U);
      WriteBatch batch;
      batch.changes.Put(Bucket::kAuth, "authRevision", "2");
      EXPECT_EQ((**each)->Commit(batch).error().code, Code::kPermissionDenied);
      EXPECT_EQ((**each)->StartDefragment().error().code, Code::kPermissionDenied);
    }
    EXPECT_EQ(Open().error().code, Code::kFailedPrecondition);
  }
  EXPECT_EQ(ReadFile(world_.path), before);
  EXPECT_FALSE(std::filesystem::exists(world_.path + "-lock"));
  ASSERT_EQ(::chmod(world_.path.c_str(), 0600), 0);
  const auto writer = MustOpen();
  EXPECT_EQ(open().error().code, Code::kFailedPrecondition);
  std::filesystem::remove(world_.path);
  EXPECT_EQ(open().error().code, Code::kNotFound);
}

TEST_F(LmdbBackendTest, ASecondOpeningIsRefused) {
  const auto backend = MustOpen();
  Commit(*backend, OwnedBatch().Append({2, 0}, "a"));
  const auto second = Open();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("in use by another process"));
  ASSERT_TRUE(Defragment(*backend).has_value());
  EXPECT_FALSE(Open().has_value()) << "the new file is locked too";
  Commit(*backend, OwnedBatch().Append({3, 0}, "b"));
  EXPECT_EQ(ContentOf(*backend).size(), 2u);
}

TEST_F(LmdbBackendTest, NoneIsMadeWhereOneMustExist) {
  const auto opened = OpenLmdbBackend({.path = world_.path, .must_exist = true});
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(world_.folder / ""));
  MakeDatabase(3);
  EXPECT_TRUE(OpenLmdbBackend({.path = world_.path, .must_exist = true}).has_value());
}

TEST_F(LmdbBackendTest, OneThatIsMovedAwayWhileItIsOpenedIsRefusedAndNotMadeAnew) {
  MakeDatabase(3);
  before_lock = [&] { std::filesystem::rename(world_.path, world_.folder / "moved"); };
  const auto opened = Open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(opened.error().message, HasSubstr("was moved or replaced"));
  EXPECT_FALSE(std::filesystem::exists(world_.path));
}

TEST_F(LmdbBackendTest, OneThatIsReplacedWhileItIsOpenedIsRefused) {
  MakeDatabase(3);
  std::filesystem::copy_file(world_.path, world_.folder / "other");
  before_lock = [&] { std::filesystem::rename(world_.folder / "other", world_.path); };
  const auto opened = Open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(Open().has_value());
}

TEST_F(LmdbBackendTest, AMissingFolderIsAnError) {
  const auto opened = OpenLmdbBackend({.path = world_.folder / "absent/db"});
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, HasSubstr("No such file or directory"));
}

TEST_F(LmdbBackendTest, LeftoversOfAnInterruptedCopyAreRemoved) {
  const Content content = MakeDatabase(50);
  WriteFile(world_.path + ".tmp", "half a copy");
  WriteFile(world_.path + ".tmp-lock", "x");
  EXPECT_EQ(ContentOf(*MustOpen()), content);
  EXPECT_FALSE(std::filesystem::exists(world_.path + ".tmp"));
  EXPECT_FALSE(std::filesystem::exists(world_.path + ".tmp-lock"));
}

TEST_F(LmdbBackendTest, ForeignFilesAreRefused) {
  WriteFile(world_.path, "");
  ExpectRefused("truncated");
  WriteFile(world_.path, std::string(16384, '\0'));
  ExpectRefused("not an LMDB file");
  Rng rng(7);
  std::string garbage(16384, '\0');
  for (char& c : garbage) c = static_cast<char>(rng.Below(256));
  WriteFile(world_.path, garbage);
  ExpectRefused("not an LMDB file");
}

TEST_F(LmdbBackendTest, AFileOfEtcdIsNamedAsSuch) {
  std::string bolt(16384, '\0');
  bolt[8] = 4;  // a meta page
  const unsigned char header[] = {0xed, 0xda, 0x0c, 0xed, 2, 0, 0, 0, 0, 0x10, 0, 0};
  std::copy(std::begin(header), std::end(header), bolt.begin() + 16);
  WriteFile(world_.path, bolt);
  ExpectRefused("bbolt file");
}

TEST_F(LmdbBackendTest, AnotherVersionOrPageSizeIsRefused) {
  MakeDatabase(10);
  const std::string sound = ReadFile(world_.path);
  std::string changed = sound;
  changed[20] = 2;  // the first meta page's version
  WriteFile(world_.path, changed);
  ExpectRefused("LMDB data version 2");
  changed = sound;
  changed[16 + 24 + 1] = 0x20;  // 8 KiB
  WriteFile(world_.path, changed);
  ExpectRefused("pages of 8192 bytes");
}

TEST_F(LmdbBackendTest, AnLmdbFileOfAnotherProgramIsRefused) {
  MDB_env* env = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, world_.path.c_str(), MDB_NOSUBDIR, 0600), 0);
  MDB_txn* txn = nullptr;
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  MDB_val key{3, const_cast<char*>("abc")};
  ASSERT_EQ(mdb_put(txn, 1, &key, &key, 0), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
  ExpectRefused("another program");
}

// ---- limits ----

TEST_F(LmdbBackendTest, TheMapGrowsWhileReadersComeAndGo) {
  auto opened = OpenLmdbBackend({.path = world_.path, .map_size_bytes = 1 << 20});
  ASSERT_TRUE(opened.has_value());
  Backend& backend = **opened;
  std::atomic<std::int64_t> committed{1};
  std::atomic<bool> stop{false};
  std::thread reading([&] {
    while (!stop.load()) {
      const std::int64_t newest = committed.load();
      const auto reader = backend.NewReader();
      ASSERT_TRUE(reader.has_value());
      if (newest < 2) continue;
      const auto record = (*reader)->GetRevision({newest, 0});
      ASSERT_TRUE(record.has_value() && record->has_value());
      ASSERT_EQ((*record)->value, std::string(40'000, static_cast<char>('a' + newest % 26)));
    }
  });
  for (std::int64_t main = 2; main < 200; ++main) {
    Commit(backend,
           OwnedBatch().Append({main, 0}, std::string(40'000, static_cast<char>('a' + main % 26))));
    committed.store(main);
  }
  stop.store(true);
  reading.join();
  EXPECT_GT(backend.SizeBytes(), 7u << 20);
  EXPECT_EQ(ContentOf(backend).size(), 198u);
}

// A saved snapshot's reader lives between the tasks of a thread on which others read, too: these
// must not wait for the map while the map waits for the first.
TEST_F(LmdbBackendTest, OthersReadWhileTheMapWaitsForAReaderToEnd) {
  auto backend = OpenLmdbBackend({.path = world_.path, .map_size_bytes = 1 << 20}).value();
  Commit(*backend, OwnedBatch().Append({2, 0}, "first"));
  std::optional<Reader> held = backend->NewReader().value();
  std::thread writer(
      [&] { Commit(*backend, OwnedBatch().Append({3, 0}, std::string(4 << 20, 'x'))); });
  EXPECT_TRUE(Eventually([&] { return (*held)->MustEnd(); }));
  std::atomic<int> taken{0};
  std::thread others([&] {
    for (int i = 0; i < 100; ++i) {
      const Reader reader = backend->NewReader().value();
      EXPECT_TRUE(reader->GetRevision({2, 0}).value().has_value());
      taken.fetch_add(1);
    }
  });
  EXPECT_TRUE(Eventually([&] { return taken.load() == 100; }));
  EXPECT_TRUE((*held)->GetRevision({2, 0}).value().has_value()) << "its pages are there";
  held.reset();
  writer.join();
  others.join();
  EXPECT_TRUE(backend->NewReader().value()->GetRevision({3, 0}).value().has_value());
}

// Readers that come later are asked to end in their turn, so that the map grows at last though one
// overlaps the next.
TEST_F(LmdbBackendTest, TheMapGrowsUnderReadersThatOverlapAndEndWhenToldTo) {
  auto backend = OpenLmdbBackend({.path = world_.path, .map_size_bytes = 1 << 20}).value();
  Commit(*backend, OwnedBatch().Append({2, 0}, "first"));
  std::atomic<bool> has_grown{false};
  std::atomic<int> ends{0};
  const auto read_on = [&] {
    while (!has_grown.load()) {
      const Reader reader = backend->NewReader().value();
      while (!reader->MustEnd() && !has_grown.load())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ends.fetch_add(1);
    }
  };
  std::thread one(read_on);
  std::thread two(read_on);
  std::thread writer([&] {
    Commit(*backend, OwnedBatch().Append({3, 0}, std::string(4 << 20, 'x')));
    has_grown.store(true);
  });
  const bool grew = Eventually([&] { return has_grown.load(); });
  has_grown.store(true);
  one.join();
  two.join();
  writer.join();
  EXPECT_TRUE(grew);
  EXPECT_GE(ends.load(), 2);
}

TEST_F(LmdbBackendTest, MoreReadersThanPlacesAreRefused) {
  auto opened = OpenLmdbBackend({.path = world_.path, .max_readers = 4});
  ASSERT_TRUE(opened.has_value());
  std::vector<Reader> readers;
  for (int i = 0; i < 4; ++i) readers.push_back((*opened)->NewReader().value());
  const auto refused = (*opened)->NewReader();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  readers.pop_back();
  EXPECT_TRUE((*opened)->NewReader().has_value());
}

// A holder beyond its task gives it up by a timer, even if its thread is busy.
TEST_F(LmdbBackendTest, AThreadOfAServerHasOneReaderBesideThoseThatOutliveATask) {
  std::atomic<unsigned> counted{0};
  auto opened = OpenLmdbBackend({.path = world_.path, .readers = &counted});
  ASSERT_TRUE(opened.has_value());
  Reader saved = (*opened)->NewReader().value();
  saved->OutlivesTask();
  std::optional<Reader> read = (*opened)->NewReader().value();
#ifndef NDEBUG
  EXPECT_DEATH(static_cast<void>((*opened)->NewReader()), "a second reader");
#endif
  read.reset();
  EXPECT_TRUE((*opened)->NewReader().has_value());
}

// A map that grows waits for every reader, so it is made as large as the file can become.
TEST_F(LmdbBackendTest, TheMapIsAsLargeAsTheDiskAndTheQuotaLetTheFileBecome) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  constexpr std::uint64_t kTiB = std::uint64_t{1} << 40;
  struct Case {
    std::uint64_t disk_bytes;
    std::uint64_t quota_bytes;
    std::uint64_t file_bytes;
    std::uint64_t map_bytes;
  };
  for (const Case& one : std::vector<Case>{
           {.disk_bytes = kGiB, .quota_bytes = 0, .file_bytes = 0, .map_bytes = 16 * kGiB},
           {.disk_bytes = 8 * kGiB, .quota_bytes = 0, .file_bytes = 0, .map_bytes = 16 * kGiB},
           // Twice the disk, which may be made larger while it is used.
           {.disk_bytes = 9 * kGiB, .quota_bytes = 0, .file_bytes = 0, .map_bytes = 18 * kGiB},
           {.disk_bytes = 3 * kTiB,
            .quota_bytes = 2 * kGiB,
            .file_bytes = 0,
            .map_bytes = 6 * kTiB},
           {.disk_bytes = 100 * kTiB, .quota_bytes = 0, .file_bytes = 0, .map_bytes = 8 * kTiB},
           {.disk_bytes = 9 * kGiB,
            .quota_bytes = 5 * kGiB,
            .file_bytes = 0,
            .map_bytes = 20 * kGiB},
           {.disk_bytes = kGiB, .quota_bytes = 0, .file_bytes = 11 * kGiB, .map_bytes = 22 * kGiB},
       }) {
    std::filesystem::remove(world_.path);
    told_disk_bytes.store(one.disk_bytes);
    const auto open = [&] {
      return OpenLmdbBackend({.path = world_.path, .quota_bytes = one.quota_bytes}).value();
    };
    auto backend = open();
    if (one.file_bytes != 0) {  // a hole at its end
      backend.reset();
      std::filesystem::resize_file(world_.path, one.file_bytes);
      backend = open();
    }
    EXPECT_EQ(MappedBytesOf(world_.path), one.map_bytes) << one.disk_bytes;
    Commit(*backend, OwnedBatch().Append({2, 0}, "fits"));
    ASSERT_TRUE(Defragment(*backend).has_value());
    EXPECT_EQ(MappedBytesOf(world_.path), one.map_bytes) << "also of its copy";
  }
  told_disk_bytes.store(0);
}

TEST_F(LmdbBackendTest, LittleAddressSpaceMakesASmallerMap) {
  auto opened = OpenLmdbBackend({.path = world_.path, .map_size_bytes = std::uint64_t{1} << 50});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  Commit(**opened, OwnedBatch().Append({2, 0}, "fits"));
  EXPECT_EQ(ContentOf(**opened).size(), 1u);
}

TEST_F(LmdbBackendTest, ACommitNeedsNoneOfThePlacesThatReadersUseUp) {
  auto opened = OpenLmdbBackend({.path = world_.path, .max_readers = 4});
  ASSERT_TRUE(opened.has_value());
  Backend& backend = **opened;
  std::vector<Reader> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(backend.NewReader().value());
  const std::uint64_t before = backend.SizeInUseBytes();
  Commit(backend, OwnedBatch().Append({2, 0}, std::string(100'000, 'x')));
  Commit(backend, OwnedBatch().Append({3, 0}, "y"));
  EXPECT_GT(backend.SizeInUseBytes(), before + 100'000) << "the sizes are refreshed as well";
  EXPECT_FALSE(backend.NewReader().has_value());
  const auto reserved = backend.OpenReader(ReaderPlace::kReserved);
  ASSERT_TRUE(reserved.has_value()) << "apply and compaction cannot do without";
  EXPECT_TRUE((*reserved)->GetRevision({3, 0}).value().has_value());
}

TEST_F(LmdbBackendTest, AFullDiskFailsTheCommitWhichMayBeDoneAgainAndLosesNothing) {
  const std::string mounted = world_.folder / "small";
  ASSERT_EQ(::mkdir(mounted.c_str(), 0700), 0);
  if (::mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "needs the right to mount a file system";
  }
  const std::unique_ptr<const std::string, void (*)(const std::string*)> unmount(
      &mounted, [](const std::string* m) { ::umount2(m->c_str(), MNT_DETACH); });
  const std::string path = mounted + "/db";
  {
    auto backend = OpenLmdbBackend({.path = path}).value();
    Result<void> done;
    std::int64_t main = 1;
    while (done.has_value()) {
      ++main;
      done = backend->Commit(OwnedBatch().Append({main, 0}, std::string(30'000, 'f')).batch());
    }
    EXPECT_EQ(done.error().code, Code::kResourceExhausted) << done.error().message;
    EXPECT_THAT(done.error().message, HasSubstr("No space left on device"));
    EXPECT_GT(main, 10);
    OwnedBatch refused;
    refused.Append({main, 0}, std::string(30'000, 'f'));
    for (int i = 0; i < 3; ++i) {
      const Result<void> again = backend->Commit(refused.batch());
      ASSERT_FALSE(again.has_value());
      EXPECT_EQ(again.error().code, Code::kResourceExhausted) << again.error().message;
    }
    EXPECT_EQ(ContentOf(*backend).size(), static_cast<std::size_t>(main - 2)) << "reads go on";
    backend.reset();
    backend = OpenLmdbBackend({.path = path}).value();
    EXPECT_EQ(ContentOf(*backend).size(), static_cast<std::size_t>(main - 2));
    EXPECT_EQ(backend->Commit(refused.batch()).error().code, Code::kResourceExhausted);
    const Result<void> no_room = Defragment(*backend);
    ASSERT_FALSE(no_room.has_value());
    EXPECT_EQ(no_room.error().code, Code::kResourceExhausted) << no_room.error().message;
    OwnedBatch compaction;
    for (std::int64_t gone = 2; gone < main; ++gone) compaction.Delete({gone, 0});
    Commit(*backend, compaction);
    EXPECT_EQ(ContentOf(*backend).size(), 0u);

    // With more space the very commit that was refused goes through, in the same process.
    ASSERT_EQ(::mount("tmpfs", mounted.c_str(), "tmpfs", MS_REMOUNT, "size=4m"), 0);
    Commit(*backend, refused);
    EXPECT_EQ(ContentOf(*backend).size(), 1u);
    backend.reset();
    backend = OpenLmdbBackend({.path = path}).value();
    EXPECT_EQ(ContentOf(*backend).size(), 1u);
  }
}

// Writes that come meanwhile would meet the disk that the copy has filled.
TEST_F(LmdbBackendTest, ADiskWithoutRoomForACopyIsNotFilledByOne) {
  const std::string mounted = world_.folder / "small";
  ASSERT_EQ(::mkdir(mounted.c_str(), 0700), 0);
  if (::mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=40m") != 0) {
    GTEST_SKIP() << "needs the right to mount a file system";
  }
  const std::unique_ptr<const std::string, void (*)(const std::string*)> unmount(
      &mounted, [](const std::string* m) { ::umount2(m->c_str(), MNT_DETACH); });
  {
    auto backend = OpenLmdbBackend({.path = mounted + "/db"}).value();
    Commit(*backend, OwnedBatch().Append({2, 0}, std::string(15 << 20, 'x')));
    const Result<void> refused = Defragment(*backend);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message, HasSubstr("no room for a copy"));
    ASSERT_EQ(::mount("tmpfs", mounted.c_str(), "tmpfs", MS_REMOUNT, "size=60m"), 0);
    EXPECT_TRUE(Defragment(*backend).has_value());
  }
}

TEST_F(LmdbBackendTest, AFailedSyncIsNotTakenForAFullDisk) {
  auto backend = MustOpen();
  Commit(*backend, OwnedBatch().Append({2, 0}, "durable"));
  failing_syncs = 2;  // each open descriptor gets the error once: LMDB's, and ours that asks after
                      // it
  const Result<void> done = backend->Commit(OwnedBatch().Append({3, 0}, "lost").batch());
  EXPECT_EQ(failing_syncs, 0);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kDataLoss) << done.error().message;
  const Result<void> later = backend->Commit(OwnedBatch().Append({3, 0}, "lost").batch());
  ASSERT_FALSE(later.has_value()) << "a failed sync is never tried again";
  EXPECT_EQ(later.error(), done.error());
}

// A retry could not succeed, and until then every read would fail.
TEST_F(LmdbBackendTest, AMetaPageWithoutRoomIsNotTakenForAFullDisk) {
  auto backend = MustOpen();
  Commit(*backend, OwnedBatch().Append({2, 0}, "durable"));
  no_room_for_meta_page = true;
  const Result<void> done = backend->Commit(OwnedBatch().Append({3, 0}, "lost").batch());
  EXPECT_FALSE(no_room_for_meta_page);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kDataLoss) << done.error().message;
  EXPECT_EQ(backend->Commit(OwnedBatch().Append({3, 0}, "lost").batch()).error(), done.error());
  backend.reset();
  backend = MustOpen();
  EXPECT_EQ(ContentOf(*backend).size(), 1U);
  Commit(*backend, OwnedBatch().Append({3, 0}, "written again"));
}

// A caller may stop at any of them, so few are read that it does not want.
TEST_F(LmdbBackendTest, LargeRevisionsAreFoundByTheFew) {
  auto backend = MustOpen();
  OwnedBatch batch;
  std::vector<Revision> wanted;
  for (int i = 0; i < 20; ++i) {
    wanted.push_back({i + 2, 0});
    batch.Append(wanted.back(), std::string(i < 10 ? 40'000 : 400, 'v'));
  }
  Commit(*backend, batch);
  const auto reader = backend->NewReader();
  std::array<std::optional<RevisionRecord>, 20> found;
  const auto count = [&](std::size_t from) {
    return (*reader)->GetRevisions(std::span(wanted).subspan(from), found).value();
  };
  EXPECT_EQ(count(0), 2U);
  EXPECT_EQ(count(9), 11U);
  EXPECT_EQ(count(10), 10U);
}

// ---- killed while it defragments ----

TEST_F(LmdbBackendTest, ADefragmentationKilledAtAnyStepLeavesTheDatabase) {
  const Content content = MakeDatabase(300);
  for (const char* point : {"defragBeforeCopy", "defragBeforeRename", "backendBetweenRenames",
                            "backendBeforeDirectorySync"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGABRT, SIG_DFL);
      const int null = ::open("/dev/null", O_WRONLY);
      ::dup2(null, STDERR_FILENO);
      auto backend = OpenLmdbBackend({.path = world_.path});
      if (!backend.has_value()) ::_exit(1);
      static_cast<void>(failpoint::Set(point, "panic"));
      static_cast<void>(Defragment(**backend));
      ::_exit(2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << point;
    auto backend = MustOpen();
    EXPECT_EQ(ContentOf(*backend), content) << point;
    EXPECT_FALSE(std::filesystem::exists(world_.path + ".tmp")) << point;
    EXPECT_FALSE(std::filesystem::exists(world_.path + ".tmp-lock")) << point;
  }
  auto backend = MustOpen();
  ASSERT_TRUE(Defragment(*backend).has_value());
  EXPECT_EQ(ContentOf(*backend), content);
}

// The kernel tells of an error once: a sync of the whole copy would succeed.
TEST_F(LmdbBackendTest, ACopyThatIsNotWrittenBackDoesNotTakeThePlace) {
  const Content content = MakeDatabase(300);
  auto backend = MustOpen();
  ASSERT_TRUE(
      failpoint::Set("backendWriteBackError", "return(\"Input/output error\")").has_value());
  const Result<void> failed = Defragment(*backend);
  failpoint::ClearAll();
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("Input/output error"));
  EXPECT_FALSE(std::filesystem::exists(world_.path + ".tmp"));
  EXPECT_EQ(ContentOf(*backend), content);
  EXPECT_TRUE(Defragment(*backend).has_value());
}

}  // namespace
}  // namespace kvorum::mvcc
