// The result of a start from the backend's records: the same index for any number of threads,
// the leases, and refusals of records that contradict each other.
#include "mvcc/store/restore.h"

#include <map>

#include "mvcc/lmdb/write_batch.h"
#include "tests/disk/memory_backend.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class RestoreTest : public testing::Test {
 protected:
  RestoreTest() {
    SetLogLevel(LogLevel::kWarn);
    Ok(files_.MakeDirectories("/data"));
    backend_ = Ok(OpenMemoryBackend(files_, "/data/db"));
  }

  void Write(std::int64_t main, std::int64_t sub, const KeyValue& kv, bool tombstone = false) {
    values_.push_back(std::make_unique<std::string>(Encode(kv)));
    batch_.push_back({.revision = {main, sub}, .value = *values_.back(), .tombstone = tombstone});
  }
  void WritePut(std::int64_t main, std::string_view key, std::int64_t create, std::int64_t version,
                std::int64_t lease = 0) {
    Write(main, 0,
          {.key = key,
           .create_revision = create,
           .mod_revision = main,
           .version = version,
           .value = "v",
           .lease = lease});
  }
  void WriteDelete(std::int64_t main, std::string_view key) {
    KeyValue kv;
    kv.key = key;
    Write(main, 0, kv, /*tombstone=*/true);
  }
  void Commit() {
    WriteBatch batch;
    batch.appends.push_back(batch_);
    Ok(backend_->Commit(batch));
    batch_.clear();
  }

  Result<std::unique_ptr<KeyIndex>> Restore() {
    Commit();
    return RestoreIndex(*backend_, request_);
  }
  // "a@5 c2 v3"
  static std::vector<std::string> Live(const KeyIndex& index) {
    std::vector<std::string> live;
    index.working().Visit(KeyRange("", kOpenEnd), 0, [&](const IndexItem& item) {
      std::string text(item.key);
      text.append("@").append(std::to_string(item.modified.main));
      text.append(" c").append(std::to_string(item.created));
      text.append(" v").append(std::to_string(item.version));
      live.push_back(text);
      return true;
    });
    return live;
  }

  SimFileSystem files_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<std::string>> values_;
  std::vector<RevisionRecord> batch_;
  RestoreRequest request_;
};

TEST_F(RestoreTest, AnEmptyBackendIsAtRevisionOne) {
  const auto index = Ok(Restore());
  EXPECT_EQ(index->Snapshot().mark().current_revision, 1);
  EXPECT_EQ(index->live_keys(), 0);
}

TEST_F(RestoreTest, TheNewestRecordGivesTheRevision) {
  WritePut(2, "a", 2, 1);
  WritePut(7, "b", 7, 1);
  EXPECT_EQ(Ok(Restore())->Snapshot().mark().current_revision, 7);
}

TEST_F(RestoreTest, ACompactionMayHaveRemovedTheNewestRecords) {
  WritePut(2, "a", 2, 1);
  request_.at_least_revision = 9;
  EXPECT_EQ(Ok(Restore())->Snapshot().mark().current_revision, 9);
}

TEST_F(RestoreTest, VersionsOfACompactedKeyGoOnFromItsOldestRecord) {
  WritePut(20, "a", 3, 12);
  WritePut(25, "a", 3, 13);
  WriteDelete(30, "b");  // its puts are compacted away
  WritePut(31, "b", 31, 1);
  EXPECT_THAT(Live(*Ok(Restore())), ElementsAre("a@25 c3 v13", "b@31 c31 v1"));
}

TEST_F(RestoreTest, LeasesAreThoseOfTheNewestRecords) {
  WritePut(2, "kept", 2, 1, 5);
  WritePut(3, "detached", 3, 1, 5);
  WritePut(4, "moved", 4, 1, 5);
  WritePut(5, "deleted", 5, 1, 5);
  WritePut(6, "detached", 3, 2);
  WritePut(7, "moved", 4, 2, 6);
  WriteDelete(8, "deleted");
  std::vector<std::pair<std::string, std::int64_t>> attached;
  request_.on_lease_attachment = [&](std::string_view key, std::int64_t lease) {
    attached.emplace_back(key, lease);
  };
  Ok(Restore());
  EXPECT_THAT(attached, UnorderedElementsAre(Pair("kept", 5), Pair("moved", 6)));
}

TEST_F(RestoreTest, AnyNumberOfThreadsMakesTheSameIndex) {
  Rng rng(11);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> generation;  // create, version
  for (std::int64_t main = 2; main < 50'000; ++main) {
    if (main > 10'000 && main < 30'000 && !rng.OneIn(50)) continue;  // compacted
    const std::string key = std::to_string(rng.Below(3000));
    auto& [create, version] = generation[key];
    if (version > 0 && rng.OneIn(4)) {
      version = 0;
      WriteDelete(main, key);
      continue;
    }
    if (version == 0) create = main;
    WritePut(main, key, create, ++version);
  }
  request_.threads = 1;
  const std::vector<std::string> expected = Live(*Ok(Restore()));
  for (const unsigned threads : {2U, 3U, 7U}) {
    request_.threads = threads;
    const auto index = Ok(Restore());
    index->CheckInvariants();
    EXPECT_EQ(Live(*index), expected) << threads;
  }
}

TEST_F(RestoreTest, AValueThatIsNoKeyValueIsRefused) {
  values_.push_back(std::make_unique<std::string>("\xff\xff"));
  batch_.push_back({.revision = {2, 0}, .value = *values_.back(), .tombstone = false});
  const auto index = Restore();
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, Code::kDataLoss);
}

TEST_F(StoreTest, AMetaNumberOfAnotherSizeIsRefused) {
  store->PutBucket(Bucket::kMeta, meta_key::kFinishedCompact, "123");
  Put("a", "1");
  Settle();
  store.reset();
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
  EXPECT_THAT(opened.error().message, HasSubstr("finishedCompactRev"));
}

TEST_F(StoreTest, LeasesAreToldAtOpen) {
  leases.leases = {5};
  Put("a", "1", 5);
  Put("b", "1");
  Settle();
  std::vector<std::string> attached;
  options.on_lease_attachment = [&](std::string_view key, std::int64_t) {
    attached.emplace_back(key);
  };
  Reopen();
  EXPECT_THAT(attached, ElementsAre("a"));
}

}  // namespace
}  // namespace kvorum::mvcc
