// A snapshot's way: the bytes are pinned, each kind of backend makes and takes them, and nothing
// that was cut, flipped, lost or moved is taken for a snapshot.
#include "mvcc/transfer/snapshot_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/rng.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/snapshot_format.h"
#include "tests/damage.h"
#include "tests/disk/memory_backend.h"
#include "tests/eventually.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using testing::HasSubstr;

template <class World>
class Side {
 public:
  Side() : backend(world.Open().value()) {}
  World world;
  std::unique_ptr<Backend> backend;
};

BackendOpener OpenerOf(LmdbWorld&) {
  return [](const std::string& path) { return OpenLmdbBackend({.path = path}); };
}
BackendOpener OpenerOf(MemoryWorld& world) {
  return [&world](const std::string& path) { return OpenMemoryBackend(world.files, path); };
}
FileSystem& FilesOf(LmdbWorld&) { return PosixFileSystem(); }
FileSystem& FilesOf(MemoryWorld& world) { return world.files; }

std::string Drain(SnapshotSource& source) {
  std::string stream;
  while (true) {
    const auto chunk = source.Next();
    EXPECT_TRUE(chunk.has_value()) << chunk.error().message;
    if (!chunk.has_value() || chunk->empty()) return stream;
    stream += chunk->view();
  }
}

std::string StreamOf(Backend& backend) {
  return Drain(*MakeSnapshotSource(backend.NewReader().value(), nullptr));
}

template <class World>
std::unique_ptr<SnapshotSink> SinkTo(World& world, const std::string& path) {
  auto sink =
      MakeSnapshotSink(FilesOf(world), {.open = OpenerOf(world), .path = path, .check = nullptr});
  EXPECT_TRUE(sink.has_value()) << sink.error().message;
  return std::move(*sink);
}

template <class World>
std::vector<std::string> NamesIn(World& world) {
  return FilesOf(world).List(ParentDirectory(world.path)).value();
}

// Something in each bucket, and enough revisions for some chunks and commits.
void Fill(Backend& backend, int revisions) {
  OwnedBatch small;
  for (std::size_t i = 1; i < kBucketNames.size(); ++i) {
    small.Put(static_cast<Bucket>(i), "a key", "its value");
    small.Put(static_cast<Bucket>(i), std::string(kMaxBucketKeySizeBytes, 'k'), "");
  }
  small.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::string("\0\0\0\0\0\0\x01\x02", 8));
  Commit(backend, small);
  Rng rng(1);
  for (int begin = 2; begin < revisions; begin += 1000) {
    OwnedBatch batch;
    for (int main = begin; main < std::min(begin + 1000, revisions); ++main) {
      batch.Append({main, 0}, std::string(rng.Below(700), static_cast<char>(main)), main % 7 == 0);
      if (main % 5 == 0) batch.Append({main, 1}, "");
    }
    Commit(backend, batch);
  }
}

template <class From, class To>
void ExpectCopied() {
  Side<From> from;
  Fill(*from.backend, 12'000);
  const std::string stream = StreamOf(*from.backend);
  EXPECT_GT(stream.size(), 3 * snapshot_format::kChunkBytes);

  To target;
  const std::string path = ParentDirectory(target.path) + "/copy";
  auto sink = SinkTo(target, path);
  Rng rng(2);
  for (std::string_view rest = stream; !rest.empty();) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + rng.Below(200'000));
    ASSERT_TRUE(sink->Write(rest.substr(0, size)).has_value());
    rest.remove_prefix(size);
  }
  const auto finished = sink->Finish();
  ASSERT_TRUE(finished.has_value()) << finished.error().message;
  sink.reset();
  EXPECT_THAT(NamesIn(target), testing::ElementsAre("copy"));

  auto copy = OpenerOf(target)(path);
  ASSERT_TRUE(copy.has_value()) << copy.error().message;
  EXPECT_EQ(ContentOf(**copy), ContentOf(*from.backend));
  EXPECT_EQ(StreamOf(**copy), stream) << "equal content makes equal streams";
  EXPECT_EQ((*copy)->NewReader().value()->Hash().value(),
            from.backend->NewReader().value()->Hash().value());
}

TEST(SnapshotStream, CarriesLmdbToLmdb) { ExpectCopied<LmdbWorld, LmdbWorld>(); }
TEST(SnapshotStream, CarriesMemoryToMemory) { ExpectCopied<MemoryWorld, MemoryWorld>(); }
TEST(SnapshotStream, CarriesLmdbToMemory) { ExpectCopied<LmdbWorld, MemoryWorld>(); }
TEST(SnapshotStream, CarriesMemoryToLmdb) { ExpectCopied<MemoryWorld, LmdbWorld>(); }

TEST(SnapshotStream, ARecordLargerThanAChunkGetsOneOfItsOwn) {
  Side<MemoryWorld> from;
  Commit(*from.backend, OwnedBatch()
                            .Append({2, 0}, "small")
                            .Append({3, 0}, std::string(3 * snapshot_format::kChunkBytes, 'x'))
                            .Append({4, 0}, "small"));
  const auto source = MakeSnapshotSource(from.backend->NewReader().value(), nullptr);
  std::vector<std::size_t> sizes;
  while (true) {
    const SharedBytes chunk = source->Next().value();
    if (chunk.empty()) break;
    sizes.push_back(chunk.size());
  }
  const std::size_t small = snapshot_format::kChunkHeadBytes + 7 + 17 + 5;
  EXPECT_THAT(
      sizes, testing::ElementsAre(
                 snapshot_format::kHeaderBytes, small, 3 * snapshot_format::kChunkBytes + small - 5,
                 small, snapshot_format::kChunkHeadBytes + snapshot_format::kTrailerBodyBytes));
}

TEST(SnapshotStream, ShowsTheStateOfItsReaderWhileWritesGoOn) {
  Side<LmdbWorld> from;
  Fill(*from.backend, 5000);
  const std::string before = StreamOf(*from.backend);
  const auto source = MakeSnapshotSource(from.backend->NewReader().value(), nullptr);
  std::string stream(source->Next().value().view());
  stream += source->Next().value().view();
  Commit(*from.backend, OwnedBatch().Append({9000, 0}, "later").Delete({2, 0}));
  ASSERT_TRUE(Defragment(*from.backend).has_value());
  stream += Drain(*source);
  EXPECT_EQ(stream, before);
}

std::string SmallStream() {
  Side<MemoryWorld> from;
  Commit(*from.backend,
         OwnedBatch()
             .Put(Bucket::kMeta, "consistent_index", std::string("\0\0\0\0\0\0\0\x07", 8))
             .Put(Bucket::kMembers, "1f", "{}")
             .Append({2, 0}, "value")
             .Append({3, 1}, "gone", true));
  return StreamOf(*from.backend);
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

TEST(SnapshotStream, ItsBytesArePinned) {
  EXPECT_EQ(Hex(SmallStream()),
            "6b766f72756d736e010000004e1c84111f000000be82c7f801100008000000636f6e73697374656e"
            "745f696e64657800000000000000070b0000001a14bd980502000200000031667b7d3a000000453d"
            "cb520a11000500000000000000000000025f000000000000000076616c75650a1200040000000000"
            "0000000000035f000000000000000174676f6e650000000039fc83b2040000000000000064000000"
            "00000000b36b2fa9");
}

// A sink's verdict on these bytes as a whole stream, in the pieces that `cut` makes.
Result<void> TakeAll(std::string_view stream, MemoryWorld& world) {
  KV_TRY(auto sink,
         MakeSnapshotSink(world.files,
                          {.open = OpenerOf(world), .path = world.path, .check = nullptr}));
  KV_RETURN_IF_ERROR(sink->Write(stream));
  return sink->Finish();
}

void ExpectRefused(std::string_view stream) {
  MemoryWorld world;
  const auto taken = TakeAll(stream, world);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, Code::kDataLoss) << taken.error().message;
  EXPECT_TRUE(NamesIn(world).empty()) << "a refused stream leaves nothing";
}

TEST(SnapshotStream, EveryTruncationIsRefused) {
  const std::string stream = SmallStream();
  ForEachCut(stream, [](std::string_view cut) { ExpectRefused(cut); });
  ExpectRefused(stream + '\0');
}

TEST(SnapshotStream, EveryFlippedBitIsRefused) {
  ForEachFlip(SmallStream(), [](std::string_view damaged, std::size_t) { ExpectRefused(damaged); });
}

TEST(SnapshotStream, ALostARepeatedAndAMovedChunkAreRefused) {
  Side<MemoryWorld> from;
  Fill(*from.backend, 12'000);
  const auto source = MakeSnapshotSource(from.backend->NewReader().value(), nullptr);
  std::vector<std::string> parts;
  while (true) {
    const SharedBytes part = source->Next().value();
    if (part.empty()) break;
    parts.emplace_back(part.view());
  }
  ASSERT_GE(parts.size(), 5U);
  const auto join = [](const std::vector<std::string>& all) {
    std::string stream;
    for (const std::string& part : all) stream += part;
    return stream;
  };
  auto lost = parts;
  lost.erase(lost.begin() + 2);
  ExpectRefused(join(lost));
  auto repeated = parts;
  repeated.insert(repeated.begin() + 2, parts[2]);
  ExpectRefused(join(repeated));
  auto moved = parts;
  std::swap(moved[1], moved[2]);
  ExpectRefused(join(moved));
}

// A stream whose checksums are right, made of these bodies.
std::string Forge(const std::vector<std::string>& bodies, std::uint64_t records) {
  namespace format = snapshot_format;
  std::string stream(format::kMagic);
  format::AppendNumber(stream, format::kVersion);
  std::uint32_t crc = Crc32c(0, stream);
  format::AppendNumber(stream, crc);
  format::Totals totals{.records = records};
  const auto add = [&](std::uint32_t size, const std::string& body) {
    std::string part;
    format::AppendNumber(part, size);
    crc = format::PartCrc(crc, part, body);
    format::AppendNumber(part, crc);
    stream += part + body;
  };
  for (const std::string& body : bodies) {
    totals.AddBody(body, 0);
    add(static_cast<std::uint32_t>(body.size()), body);
  }
  std::string trailer;
  format::AppendNumber(trailer, totals.records);
  format::AppendNumber(trailer, totals.bytes);
  format::AppendNumber(trailer, totals.crc);
  add(0, trailer);
  return stream;
}

std::string Record(std::uint8_t tag, std::string_view key, std::string_view value = "v") {
  std::string record;
  snapshot_format::AppendRecord(record, tag, key, value);
  return record;
}

TEST(SnapshotStream, AnHonestForgeryIsTaken) {
  MemoryWorld world;
  EXPECT_TRUE(TakeAll(Forge({Record(1, "a") + Record(1, "b"), Record(2, "a")}, 3), world));
}

TEST(SnapshotStream, RecordsThatNoBackendHasAreRefusedEvenWithRightChecksums) {
  const std::string revision(RevisionKey({.main = 5, .sub = 0}).view());
  ExpectRefused(Forge({Record(1, "b") + Record(1, "a")}, 2));
  ExpectRefused(Forge({Record(1, "a"), Record(1, "a")}, 2));
  ExpectRefused(Forge({Record(2, "a"), Record(1, "a")}, 2));
  ExpectRefused(Forge({Record(0, "a")}, 1));
  ExpectRefused(Forge({Record(11, "a")}, 1));
  ExpectRefused(Forge({Record(1, "")}, 1));
  ExpectRefused(Forge({Record(1, std::string(511, 'a'))}, 1));
  ExpectRefused(Forge({Record(10, "no revision")}, 1));
  ExpectRefused(Forge({Record(10, std::string(17, '\xff'))}, 1));
  ExpectRefused(Forge({Record(10, revision), Record(10, revision)}, 2));
  ExpectRefused(Forge({Record(1, "a").substr(0, 6)}, 1));
  ExpectRefused(Forge({Record(1, "a", "value").substr(0, 10)}, 1));
  ExpectRefused(Forge({Record(1, "a")}, 2));
}

TEST(SnapshotStream, ASizeThatIsAbsurdIsRefusedBeforeMemoryIsSpentOnIt) {
  std::string stream = SmallStream().substr(0, snapshot_format::kHeaderBytes);
  stream += std::string("\xff\xff\xff\x7f\0\0\0\0", 8);
  ExpectRefused(stream);
}

template <class World>
void ExpectDroppedWithoutTrace() {
  World world;
  {
    Side<MemoryWorld> from;
    Fill(*from.backend, 30'000);
    const std::string stream = StreamOf(*from.backend);
    auto sink = SinkTo(world, ParentDirectory(world.path) + "/copy");
    ASSERT_TRUE(sink->Write(std::string_view(stream).substr(0, stream.size() - 1)).has_value());
    EXPECT_FALSE(NamesIn(world).empty()) << "it writes while it receives";
    EXPECT_FALSE(sink->Finish().has_value());
  }
  EXPECT_TRUE(NamesIn(world).empty());
}

TEST(SnapshotSink, DroppedUnfinishedItLeavesNothingOfLmdb) {
  ExpectDroppedWithoutTrace<LmdbWorld>();
}
TEST(SnapshotSink, DroppedUnfinishedItLeavesNothingInMemory) {
  ExpectDroppedWithoutTrace<MemoryWorld>();
}

TEST(SnapshotSink, AContentThatItsCheckRefusesGetsNoName) {
  MemoryWorld world;
  auto sink = MakeSnapshotSink(world.files, {.open = OpenerOf(world),
                                             .path = world.path,
                                             .check = [](Snapshot& content) -> Result<void> {
                                               EXPECT_EQ(content.CountRevisions().value(), 2U);
                                               return Fail(Code::kDataLoss, "not this one");
                                             }})
                  .value();
  ASSERT_TRUE(sink->Write(SmallStream()).has_value());
  const auto finished = sink->Finish();
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().message, "not this one");
  sink.reset();
  EXPECT_TRUE(NamesIn(world).empty());
}

// A record that a sender has wrong, in its memory or on its disk, carries good checksums here. The
// log must not say that it is the database: no start would read it.
TEST(SnapshotSink, RecordsFromWhichNoStoreStartsAreRefused) {
  const auto kv = [](std::int64_t main) {
    return Encode({.key = "k",
                   .create_revision = main,
                   .mod_revision = main,
                   .version = 1,
                   .value = "v",
                   .lease = 0});
  };
  constexpr std::int64_t kTooLarge = kLargestRevision + 1;
  OwnedBatch no_pair;
  no_pair.Append({3, 0}, "\xff");
  OwnedBatch another;
  another.Append({3, 0}, kv(9));
  OwnedBatch too_large;
  too_large.Append({kTooLarge, 0}, kv(kTooLarge));
  OwnedBatch no_number;
  no_number.Put(Bucket::kMeta, meta_key::kConsistentIndex, "seven");
  OwnedBatch compacted;
  compacted.Put(Bucket::kMeta, meta_key::kFinishedCompact, RevisionKey({kTooLarge, 0}).view());
  OwnedBatch good;
  good.Append({3, 0}, kv(3));
  const auto finished_with = [&](OwnedBatch& batch) {
    Side<MemoryWorld> from;
    Commit(*from.backend, OwnedBatch().Append({2, 0}, kv(2)));
    Commit(*from.backend, batch);
    MemoryWorld world;
    auto sink =
        MakeSnapshotSink(
            world.files,
            {.open = OpenerOf(world), .path = world.path, .check = nullptr, .checks_records = true})
            .value();
    Result<void> finished = sink->Write(StreamOf(*from.backend));
    if (finished.has_value()) finished = sink->Finish();
    sink.reset();
    EXPECT_EQ(NamesIn(world).empty(), !finished.has_value());
    return finished;
  };
  for (OwnedBatch* bad : {&no_pair, &another, &too_large, &no_number, &compacted}) {
    const Result<void> refused = finished_with(*bad);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, HasSubstr("the database is damaged"));
  }
  EXPECT_TRUE(finished_with(good).has_value());
}

TEST(SnapshotSink, AFullDiskIsAnErrorThatLeavesNothing) {
  Side<MemoryWorld> from;
  Fill(*from.backend, 5000);
  const std::string stream = StreamOf(*from.backend);
  MemoryWorld world;
  world.files.SetCapacity(100'000);
  const auto taken = TakeAll(stream, world);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(NamesIn(world).empty());
}

// A file that a power cut leaves under the final name is complete.
TEST(SnapshotSink, UnderItsNameThereIsAllOrNothingAfterAPowerCut) {
  const std::string stream = SmallStream();
  MemoryWorld world;
  Rng rng(5);
  int whole = 0;
  int absent = 0;
  world.files.SetObserver([&] {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      const auto image = world.files.CrashImage(keep, rng);
      if (!image->Exists(world.path).value()) {
        ++absent;
        continue;
      }
      const auto opened = OpenMemoryBackend(*image, world.path);
      ASSERT_TRUE(opened.has_value()) << opened.error().message;
      EXPECT_EQ(StreamOf(**opened), stream);
      ++whole;
    }
  });
  ASSERT_TRUE(TakeAll(stream, world).has_value());
  world.files.SetObserver(nullptr);
  EXPECT_GT(whole, 0);
  EXPECT_GT(absent, 20);
}

TEST(SnapshotSource, ADamagedRecordEndsItWithAnError) {
  LmdbWorld world;
  {
    auto backend = world.Open().value();
    Commit(*backend, OwnedBatch().Append({2, 0}, std::string(300, 'z')));
  }
  std::string file = ReadWholeFile(PosixFileSystem(), world.path, 1 << 30).value();
  const std::size_t at = file.find(std::string(300, 'z'));
  ASSERT_NE(at, std::string::npos);
  auto damaged = PosixFileSystem().Open(world.path, FileSystem::OpenMode::kReadWrite).value();
  const std::string_view byte[] = {"y"};
  ASSERT_TRUE(damaged->WriteAt(at + 7, byte).has_value());
  damaged.reset();
  auto backend = world.Open().value();
  const auto source = MakeSnapshotSource(backend->NewReader().value(), nullptr);
  ASSERT_TRUE(source->Next().has_value()) << "the header";
  for (int i = 0; i < 2; ++i) {
    const auto next = source->Next();
    ASSERT_FALSE(next.has_value());
    EXPECT_EQ(next.error().code, Code::kDataLoss);
    EXPECT_THAT(next.error().message, HasSubstr("checksum mismatch in bucket key"));
  }
}

// A source would hold up the growing of the map, and with it every read, for as long as its
// receiver takes.
TEST(SnapshotSource, GivesItsReaderUpWhenTheMapMustGrow) {
  LmdbWorld world;
  auto backend =
      OpenLmdbBackend({.path = world.path, .map_size_bytes = std::uint64_t{1} << 20}).value();
  Commit(*backend, OwnedBatch().Append({2, 0}, "first"));
  Reader reader = backend->NewReader().value();
  EXPECT_FALSE(reader->MustEnd());
  std::thread writer(
      [&] { Commit(*backend, OwnedBatch().Append({3, 0}, std::string(4 << 20, 'x'))); });
  EXPECT_TRUE(Eventually([&] { return reader->MustEnd(); }));
  const auto source = MakeSnapshotSource(std::move(reader), nullptr);
  ASSERT_TRUE(source->Next().has_value()) << "the header";
  const auto next = source->Next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, Code::kUnavailable);
  writer.join();  // though the source lives
}

}  // namespace
}  // namespace kvorum::mvcc
