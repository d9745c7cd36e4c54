// etcd's file put into a backend: what comes over, what is the caller's to say, and what is
// refused.
#include "mvcc/transfer/etcd_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "mvcc/lmdb/long_key.h"
#include "mvcc/records/key_value.h"
#include "mvcc/transfer/etcd_image.h"
#include "mvcc/transfer/snapshot_content.h"
#include "tests/bbolt/image.h"
#include "tests/damage.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using testing::HasSubstr;

const EtcdMeta kMeta = {.consistent_index = 77,
                        .term = 5,
                        .conf_state = R"({"voters":[1]})",
                        .storage_version = "3.7.0"};

std::string Number(std::uint64_t value) {
  std::string bytes;
  for (int i = 56; i >= 0; i -= 8) bytes += static_cast<char>(value >> i);
  return bytes;
}
std::string KeyOf(Revision revision, bool tombstone = false) {
  return std::string(RevisionKey(revision, tombstone).view());
}
std::string RecordOf(std::int64_t main, std::string_view value = "value") {
  const std::string key = "key" + std::to_string(main);
  return Encode(KeyValue{.key = key,
                         .create_revision = main,
                         .mod_revision = main,
                         .version = 1,
                         .value = value,
                         .lease = 0});
}

// A member's file with a few records in every bucket.
bbolt::Content EtcdsContent() {
  bbolt::Content content;
  for (const std::string_view name : kBucketNames) content[std::string(name)];
  content["meta"] = {{"consistent_index", Number(70)},       {"term", Number(4)},
                     {"confState", R"({"voters":[1,2]})"},   {"storageVersion", "3.6.0"},
                     {"scheduledCompactRev", KeyOf({2, 0})}, {"finishedCompactRev", KeyOf({2, 0})}};
  content["lease"] = {{Number(9), "\x08\x09\x10\x3c"}};
  content["members"] = {{"1", R"({"id":1})"}};
  content["members_removed"] = {{"2", "removed"}};
  content["cluster"] = {{"clusterVersion", "3.6.0"}};
  content["alarm"] = {{"\x08\x01\x10\x01", ""}};
  content["auth"] = {{"authEnabled", std::string(1, '\1')}, {"authRevision", Number(3)}};
  content["authUsers"] = {{"root", "u"}};
  content["authRoles"] = {{"root", "r"}};
  for (std::int64_t main = 2; main < 12; ++main) content["key"][KeyOf({main, 0})] = RecordOf(main);
  content["key"][KeyOf({12, 0}, true)] = "\x0a\x04key3";
  return content;
}

class EtcdImportTest : public testing::Test {
 protected:
  EtcdImportTest() : backend_(world_.Open().value()) {}

  Result<snapshot_format::Totals> Import(const std::string& image,
                                         const EtcdImport& import = {.meta = kMeta,
                                                                     .on_progress = {}}) {
    KV_TRY(const auto file, bbolt::OpenImage(image));
    return ImportEtcdContent(*file, import, *backend_);
  }
  // The error of a file with this content.
  Error Refusal(const bbolt::Content& content) {
    const auto imported = Import(bbolt::ImageOf(content).value());
    return imported.has_value() ? Error{} : imported.error();
  }

  MemoryWorld world_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(EtcdImportTest, TakesAllBucketsAndTheCallersWordForThePlaceInTheLog) {
  const bbolt::Content content = EtcdsContent();
  const auto totals = Import(bbolt::ImageOf(content).value());
  ASSERT_TRUE(totals.has_value()) << totals.error().message;
  bbolt::Content expected = content;
  expected["meta"]["consistent_index"] = Number(77);
  expected["meta"]["term"] = Number(5);
  expected["meta"]["confState"] = R"({"voters":[1]})";
  expected["meta"]["storageVersion"] = "3.7.0";
  Content wanted;
  for (std::size_t i = 0; i < kBucketNames.size(); ++i) {
    for (const auto& [key, value] : expected[std::string(kBucketNames[i])])
      wanted[{static_cast<Bucket>(i), key}] = value;
  }
  EXPECT_TRUE(ContentOf(*backend_) == wanted);
  EXPECT_EQ(totals->records, wanted.size());
  EXPECT_EQ(ComputeSnapshotTotals(*backend_->NewReader().value()).value(), *totals);
}

TEST_F(EtcdImportTest, TheMetaBucketIsRead) {
  const auto file = bbolt::OpenImage(bbolt::ImageOf(EtcdsContent()).value()).value();
  const EtcdMeta meta = ReadEtcdMeta(*file).value();
  EXPECT_EQ(meta.consistent_index, 70U);
  EXPECT_EQ(meta.term, 4U);
  EXPECT_EQ(meta.conf_state, R"({"voters":[1,2]})");
  EXPECT_EQ(meta.storage_version, "3.6.0");
}

TEST_F(EtcdImportTest, AnOldMembersFileLacksWhatItsVersionDoesNotKnow) {
  bbolt::Content content = EtcdsContent();
  for (const char* key : {"term", "confState", "storageVersion"}) content["meta"].erase(key);
  content.erase("members_removed");
  const std::string image = bbolt::ImageOf(content).value();
  const EtcdMeta meta = ReadEtcdMeta(*bbolt::OpenImage(image).value()).value();
  EXPECT_EQ(meta.term, 0U);
  EXPECT_EQ(meta.conf_state + meta.storage_version, "");
  ASSERT_TRUE(Import(image).has_value());
  EXPECT_EQ((ContentOf(*backend_)[{Bucket::kMeta, "confState"}]), R"({"voters":[1]})");
}

TEST_F(EtcdImportTest, GivesBackWhatAnImageWasMadeOf) {
  Rng rng{1};
  LmdbWorld other;
  const auto source = other.Open().value();
  OwnedBatch batch;
  for (std::int64_t main = 2; main < 3000; ++main)
    batch.Append({main, 0}, RecordOf(main, bbolt::RandomBytes(rng, rng.Below(20'000))));
  for (std::size_t i = 1; i < kBucketNames.size(); ++i) {
    if (static_cast<Bucket>(i) != Bucket::kAuth && static_cast<Bucket>(i) != Bucket::kMeta)
      batch.Put(static_cast<Bucket>(i), std::string(kMaxPlainKeySizeBytes, 'k'), "value");
  }
  batch.Put(Bucket::kMeta, "consistent_index", Number(77)).Put(Bucket::kMeta, "term", Number(5));
  batch.Put(Bucket::kMeta, "confState", kMeta.conf_state);
  batch.Put(Bucket::kMeta, "storageVersion", "3.7.0");
  Commit(*source, batch);
  const auto image = MakeEtcdImage(source->NewReader().value(), nullptr);
  std::string bytes;
  for (auto chunk = image->Next(); !chunk->empty(); chunk = image->Next()) bytes += chunk->view();

  std::uint64_t told_records = 0;
  int steps = 0;
  const auto totals =
      Import(bytes, {.meta = kMeta, .on_progress = [&](std::uint64_t records, auto) {
                       EXPECT_GT(records, told_records);
                       told_records = records;
                       ++steps;
                       return Result<void>();
                     }});
  ASSERT_TRUE(totals.has_value()) << totals.error().message;
  EXPECT_GT(steps, 2) << "about 30 MB, in commits";
  EXPECT_EQ(told_records, totals->records);
  EXPECT_TRUE(ContentOf(*backend_) == ContentOf(*source));
}

// Users and roles whose names are longer than a backend's key, some of which begin alike: they come
// in one order in etcd's file and in another in the backend.
TEST_F(EtcdImportTest, LongNamesGoInAndOutAsTheyAre) {
  bbolt::Content content = EtcdsContent();
  Rng rng{2};
  const std::string common(kLongKeyPrefixBytes, 'n');
  for (const char* bucket : {"authUsers", "authRoles"}) {
    bbolt::Records& records = content[bucket];
    for (const std::size_t size : {477U, 478U, 479U, 480U, 481U, 493U, 494U, 510U, 511U, 32'768U}) {
      records[std::string(size, 'n')] = "alike " + std::to_string(size);
      records[std::string(size, 'z')] = "alike too";
    }
    for (int i = 0; i < 200; ++i) {
      records[common + bbolt::RandomBytes(rng, 1 + rng.Below(40))] = bbolt::RandomBytes(rng, 50);
      records[bbolt::RandomBytes(rng, 400 + rng.Below(200))] = "of its own";
    }
  }
  const auto totals = Import(bbolt::ImageOf(content).value(), {.meta = kMeta, .on_progress = {}});
  ASSERT_TRUE(totals.has_value()) << totals.error().message;
  EXPECT_EQ(ComputeSnapshotTotals(*backend_->NewReader().value()).value(), *totals);

  content["meta"] = {{"consistent_index", Number(77)},       {"term", Number(5)},
                     {"confState", R"({"voters":[1]})"},     {"storageVersion", "3.7.0"},
                     {"scheduledCompactRev", KeyOf({2, 0})}, {"finishedCompactRev", KeyOf({2, 0})}};
  const auto image = MakeEtcdImage(backend_->NewReader().value(), nullptr);
  std::string bytes;
  for (auto chunk = image->Next(); !chunk->empty(); chunk = image->Next()) bytes += chunk->view();
  EXPECT_EQ(bytes.size(), image->size_bytes());
  EXPECT_TRUE(bbolt::ContentOf(bytes).value() == content);

  bbolt::Records users;
  const Reader reader = backend_->NewReader().value();
  EXPECT_TRUE(ScanBucket(*reader, Bucket::kAuthUsers,
                         [&](std::string_view key, std::string_view value) -> Result<void> {
                           users.emplace(key, value);
                           return {};
                         })
                  .has_value());
  EXPECT_TRUE(users == content["authUsers"]);
}

TEST_F(EtcdImportTest, TheCallerCanEndIt) {
  const auto stop = [](std::uint64_t, std::uint64_t) -> Result<void> {
    return Fail(Code::kAborted, "enough");
  };
  const auto imported =
      Import(bbolt::ImageOf(EtcdsContent()).value(), {.meta = kMeta, .on_progress = stop});
  ASSERT_FALSE(imported.has_value());
  EXPECT_EQ(imported.error().message, "enough");
}

TEST_F(EtcdImportTest, RefusesRecordsFromWhichNoStoreCouldStart) {
  const auto refused = [&](std::string_view key, std::string_view value) {
    MemoryWorld world;
    const auto backend = world.Open().value();
    bbolt::Content content = EtcdsContent();
    content["key"][std::string(key)] = value;
    const auto file = bbolt::OpenImage(bbolt::ImageOf(content).value()).value();
    const auto imported = ImportEtcdContent(*file, {.meta = kMeta, .on_progress = {}}, *backend);
    if (imported.has_value()) return std::string("taken");
    EXPECT_EQ(imported.error().code, Code::kDataLoss);
    return imported.error().message;
  };
  EXPECT_EQ(refused(KeyOf({20, 0}), RecordOf(20)), "taken");
  EXPECT_THAT(refused("nonsense", "value"), HasSubstr("not a revision"));
  EXPECT_THAT(refused(KeyOf({20, 0}), "\xff"), HasSubstr("not a key-value pair"));
  EXPECT_THAT(refused(KeyOf({20, 0}), RecordOf(19)), HasSubstr("a record of another one"));
  EXPECT_THAT(refused(KeyOf({20, 0}), RecordOf(21)), HasSubstr("impossible revisions"));
  EXPECT_THAT(refused(KeyOf({0, 0}), RecordOf(1)), HasSubstr("no store writes"));
  EXPECT_THAT(refused(KeyOf({-1, 0}), RecordOf(1)), HasSubstr("no store writes"));
  EXPECT_THAT(refused(KeyOf({20, -1}), RecordOf(20)), HasSubstr("no store writes"));
  EXPECT_THAT(refused(KeyOf({11, 0}, true), RecordOf(11)), HasSubstr("twice"));
}

TEST_F(EtcdImportTest, RefusesWhatIsNoDatabaseOfEtcd) {
  bbolt::Content content = EtcdsContent();
  content.erase("meta");
  EXPECT_EQ(Refusal(content).code, Code::kDataLoss);
  content = EtcdsContent();
  content.erase("key");
  EXPECT_EQ(Refusal(content).code, Code::kDataLoss);
  EXPECT_EQ(Refusal({}).code, Code::kDataLoss);
  content = EtcdsContent();
  content["meta"]["scheduledCompactRev"] = "7";
  EXPECT_EQ(Refusal(content).code, Code::kDataLoss);
}

TEST_F(EtcdImportTest, RefusesWhatItWouldHaveToLeaveOut) {
  bbolt::Content content = EtcdsContent();
  content["of a later version"];
  EXPECT_EQ(Refusal(content).message, "") << "nothing is in it";
  content["of a later version"]["a"] = "b";
  EXPECT_EQ(Refusal(content).code, Code::kFailedPrecondition);
  content = EtcdsContent();
  content["alarm"][std::string(kMaxBucketKeySizeBytes + 1, 'u')] = "u";
  EXPECT_EQ(Refusal(content).code, Code::kInvalidArgument);
}

// If any byte is spoiled, the file is refused, or what is taken can be read.
TEST_F(EtcdImportTest, AFileWithAFlippedByteNeverDoesHarm) {
  const std::string image = bbolt::ImageOf(EtcdsContent()).value();
  int refused = 0;
  const auto import = [&](std::string_view spoiled, std::size_t at) {
    if (at % 3 != 0) return;
    MemoryWorld world;
    const auto backend = world.Open().value();
    const auto file = bbolt::OpenImage(std::string(spoiled));
    if (!file.has_value()) return;
    const auto imported = ImportEtcdContent(**file, {.meta = kMeta, .on_progress = {}}, *backend);
    if (!imported.has_value()) {
      ++refused;
      return;
    }
    ASSERT_EQ(ComputeSnapshotTotals(*backend->NewReader().value()).value(), *imported);
  };
  ForEachFlip(image, import, std::array{0x55});
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace kvorum::mvcc
