// HashKV. The golden numbers were answered by an etcd 3.7.1 that was sent the same requests.
#include "mvcc/store/hash.h"

#include <map>

#include "base/crc32c.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {

bool operator==(const KvHash& a, const KvHash& b) {
  return a.hash == b.hash && a.revision == b.revision && a.compact_revision == b.compact_revision;
}
void PrintTo(const KvHash& hash, std::ostream* out) {
  *out << "{" << hash.hash << ", revision " << hash.revision << ", compacted "
       << hash.compact_revision << "}";
}

namespace {

class HashTest : public StoreTest {
 protected:
  KvHash Hash(std::int64_t revision) { return Ok(store->HashKv(revision)); }
  void CompactAndSettle(std::int64_t revision) {
    Compact(revision);
    Settle();
  }
  // Revisions 2 to 6: two versions of a, a txn that puts, deletes and puts, a tombstone at the end.
  void PutFirstHistory() {
    Put("a", "1");
    Put("b", "2");
    Put("a", "3");
    Txn(mvcc::Txn(List(mvcc::Put("c", "x"), mvcc::Delete("b"), mvcc::Put("d", "y"))));
    Delete("c");
  }
  bool IsCompacted(std::int64_t revision) {
    return FailsWith(store->HashKv(revision), kErrCompacted);
  }
  bool IsFuture(std::int64_t revision) { return FailsWith(store->HashKv(revision), kErrFutureRev); }
};

TEST_F(HashTest, OfAnEmptyStore) {
  EXPECT_EQ(Hash(0), (KvHash{1084519789, 1, -1}));
  EXPECT_EQ(Hash(1), (KvHash{1084519789, 1, -1}));
  EXPECT_EQ(Hash(-3), (KvHash{1084519789, -3, -1}));
  EXPECT_TRUE(IsFuture(2));
}

TEST_F(HashTest, EqualsEtcdsAtEachRevisionOfAHistory) {
  PutFirstHistory();
  EXPECT_EQ(Hash(0), (KvHash{948440923, 6, -1}));
  EXPECT_EQ(Hash(1), (KvHash{1084519789, 1, -1}));
  EXPECT_EQ(Hash(2), (KvHash{2587454935, 2, -1}));
  EXPECT_EQ(Hash(3), (KvHash{1827592406, 3, -1}));
  EXPECT_EQ(Hash(4), (KvHash{2069675932, 4, -1}));
  EXPECT_EQ(Hash(5), (KvHash{3197336117, 5, -1}));
  EXPECT_EQ(Hash(6), (KvHash{948440923, 6, -1}));
  EXPECT_TRUE(IsFuture(7));
}

TEST_F(HashTest, EqualsEtcdsThroughCompactions) {
  PutFirstHistory();
  CompactAndSettle(5);
  EXPECT_EQ(Hash(0), (KvHash{2570104215, 6, 5}));
  EXPECT_TRUE(IsCompacted(4));
  EXPECT_EQ(Hash(5), (KvHash{3197336117, 5, -1}));  // the stored one, with the revision before
  EXPECT_EQ(Hash(6), (KvHash{2570104215, 6, 5}));

  Put("e", "");
  Put("a", "4");
  EXPECT_EQ(Hash(0), (KvHash{1018253470, 8, 5}));
  EXPECT_EQ(Hash(7), (KvHash{1193861933, 7, 5}));

  CompactAndSettle(6);  // a tombstone's revision
  EXPECT_EQ(Hash(0), (KvHash{1095836800, 8, 6}));
  EXPECT_TRUE(IsCompacted(4));
  EXPECT_EQ(Hash(5), (KvHash{3197336117, 5, -1}));
  EXPECT_EQ(Hash(6), (KvHash{2570104215, 6, 5}));
  EXPECT_EQ(Hash(7), (KvHash{885635280, 7, 6}));

  Delete(kOpenEnd, kOpenEnd);  // nothing lives: the keep set is empty
  EXPECT_EQ(Hash(0), (KvHash{3932875849, 9, 6}));
  EXPECT_EQ(Hash(7), (KvHash{885635280, 7, 6}));
  EXPECT_EQ(Hash(8), (KvHash{1095836800, 8, 6}));

  CompactAndSettle(8);
  EXPECT_EQ(Hash(0), (KvHash{263147786, 9, 8}));
  EXPECT_TRUE(IsCompacted(7));
  EXPECT_EQ(Hash(8), (KvHash{1095836800, 8, 6}));

  CompactAndSettle(9);
  EXPECT_EQ(Hash(0), (KvHash{1084519789, 9, 9}));
  // It was 263147786 before the compaction, in etcd too.
  EXPECT_EQ(Hash(9), (KvHash{992891684, 9, 8}));
  EXPECT_EQ(Hash(8), (KvHash{1095836800, 8, 6}));

  Put("z", "1");
  EXPECT_EQ(Hash(0), (KvHash{3221892700, 10, 9}));
  Txn(mvcc::Txn(List(mvcc::Delete("a", kOpenEnd), mvcc::Put("zz", "new"))));
  EXPECT_EQ(Hash(0), (KvHash{1851103326, 11, 9}));
  Txn(mvcc::Txn(List(mvcc::Txn(List(mvcc::Put("q", "1"))), mvcc::Txn(List(mvcc::Delete("q"))))));
  EXPECT_EQ(Hash(0), (KvHash{2132675093, 12, 9}));
}

// Members are at different points of the same compaction when they are compared.
TEST_F(HashTest, DoesNotDependOnHowFarACompactionIs) {
  options.compaction.batch_limit = 1;
  options.compaction.index_step = 1;
  Reopen();
  for (int i = 0; i < 30; ++i) {
    Put(std::to_string(i % 7), std::to_string(i));
    if (i % 5 == 4) Delete(std::to_string(i % 3));
  }
  const std::int64_t compacted = 20;
  Compact(compacted);
  std::map<std::int64_t, std::uint32_t> hashes;
  for (std::int64_t r = compacted; r <= revision(); ++r) hashes[r] = Hash(r).hash;
  Rng rng(5);
  for (bool more = true; more;) {
    more = executors->RunOneOf(rng);
    if (executors->backend.HasTimed()) {
      executors->clock.Advance(std::chrono::milliseconds(1));
      more = true;
    }
    for (const auto& [r, hash] : hashes) {
      if (compactions_finished == 0 || r > compacted) {
        ASSERT_EQ(Hash(r), (KvHash{hash, r, compacted}));
      }
    }
  }
  EXPECT_EQ(compactions_finished, 1);
  EXPECT_EQ(Hash(compacted).compact_revision, -1);
}

// The compaction keeps a tombstone and nothing else, so that etcd's hash of it leaves out the old
// put, which HashKV counts before it.
TEST_F(HashTest, OfACompactionThatDeletesTheLastKeyIsEtcds) {
  Put("b", "1");
  CompactAndSettle(2);
  Delete("b");
  EXPECT_EQ(Hash(3), (KvHash{1265334955, 3, 2}));
  CompactAndSettle(3);
  EXPECT_EQ(Hash(3), (KvHash{3359392347, 3, 2}));
}

// One of two members may have finished the compaction at the revision that both are asked for.
TEST_F(HashTest, OfACompactionAgreesWithWhatItWasBeforeIt) {
  Rng rng(7);
  std::int64_t last_compacted = -1;
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t keys = 1 + rng.Below(3);
    for (int i = 0; i < 4; ++i) {
      const std::string key = std::to_string(rng.Below(keys));
      if (rng.OneIn(2)) {
        Put(key, std::to_string(round));
      } else {
        Delete(key);
      }
    }
    if (rng.OneIn(3)) Delete(kOpenEnd, kOpenEnd);
    const KvHash before = Hash(revision());
    const std::int64_t compacted = revision();
    if (rng.OneIn(2)) Put("later", "");
    if (compacted == last_compacted) continue;  // nothing has changed
    CompactAndSettle(compacted);
    last_compacted = compacted;
    const KvHash after = Hash(compacted);
    ASSERT_EQ(after.compact_revision, before.compact_revision) << "round " << round;
    ASSERT_TRUE(before.Agrees(after.hash)) << "round " << round;
    ASSERT_TRUE(after.Agrees(before.hash)) << "round " << round;
    ASSERT_FALSE(after.Agrees(before.hash + 1));
  }
}

TEST_F(HashTest, IsTheSameFromBufferAndDiskAndAfterAStart) {
  PutFirstHistory();
  const KvHash hash = Hash(0);
  Settle();
  EXPECT_EQ(Hash(0), hash);
  Put("a", "4");
  EXPECT_EQ(Hash(6), hash);
  Settle();
  Reopen();
  EXPECT_EQ(Hash(6), hash);
}

TEST_F(HashTest, OnlyTheLastTenCompactionsAreRemembered) {
  for (int i = 0; i < 12; ++i) Put("a", std::to_string(i));
  for (std::int64_t r = 2; r <= 12; ++r) CompactAndSettle(r);
  EXPECT_TRUE(IsCompacted(2));
  EXPECT_EQ(Hash(3).compact_revision, 2);
  EXPECT_EQ(Hash(12).compact_revision, 11);
}

TEST_F(HashTest, ACompactionThatDidNotFindTheOneBeforeFinishedStoresNone) {
  PutFirstHistory();
  Compact(3);
  Compact(5);
  Settle();
  EXPECT_EQ(Hash(3).compact_revision, -1);
  EXPECT_EQ(Hash(5), (KvHash{Hash(5).hash, 5, 5}));
}

TEST_F(HashTest, AResumedCompactionStoresNone) {
  PutFirstHistory();
  Compact(5);
  store->Flush([] {});
  executors->RunReady();
  Reopen();
  Settle();
  EXPECT_EQ(Hash(5).compact_revision, 5);
}

// Asks for the place of the next readers, as one does whose map must grow.
class ImpatientBackend final : public Backend {
 public:
  explicit ImpatientBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  Result<void> TakePlace(const std::string& path) override { return backend_->TakePlace(path); }
  Result<void> Commit(const WriteBatch& batch) override { return backend_->Commit(batch); }
  Result<void> Sync() override { return backend_->Sync(); }
  Result<Reader> OpenReader(ReaderPlace place) override {
    KV_TRY(Reader reader, backend_->OpenReader(place));
    return Reader(new ImpatientSnapshot(*this, std::move(reader)));
  }
  std::uint64_t SizeBytes() const override { return backend_->SizeBytes(); }
  std::uint64_t SizeInUseBytes() const override { return backend_->SizeInUseBytes(); }
  Result<std::unique_ptr<DefragmentCopy>> StartDefragment() override {
    return backend_->StartDefragment();
  }
  std::expected<void, DefragmentError> FinishDefragment(
      std::unique_ptr<DefragmentCopy> copy) override {
    return backend_->FinishDefragment(std::move(copy));
  }

  int wanted = 0;    // this many more readers must end
  int given_up = 0;  // readers that were asked to end and did

 private:
  class ImpatientSnapshot final : public Snapshot {
   public:
    ImpatientSnapshot(ImpatientBackend& owner, Reader reader)
        : owner_(owner), reader_(std::move(reader)) {}
    Result<std::optional<std::string_view>> Get(Bucket bucket, std::string_view key) override {
      return reader_->Get(bucket, key);
    }
    Result<std::optional<RevisionRecord>> GetRevision(Revision revision) override {
      return reader_->GetRevision(revision);
    }
    Result<void> Scan(Bucket bucket, std::string_view from, std::string_view to,
                      const Visit& visit) override {
      return reader_->Scan(bucket, from, to, visit);
    }
    Result<std::uint64_t> CountRevisions() override { return reader_->CountRevisions(); }
    std::uint64_t CommitNumber() const override { return reader_->CommitNumber(); }
    bool MustEnd() const override {
      told_ = told_ || owner_.wanted > 0;
      return told_;
    }

   private:
    void Release() override {
      if (told_) {
        --owner_.wanted;
        ++owner_.given_up;
      }
      delete this;
    }
    ImpatientBackend& owner_;
    Reader reader_;
    mutable bool told_ = false;
  };

  const std::unique_ptr<Backend> backend_;
};

// A reader that stays keeps the map from growing, and with it every other reader and the apply
// executor wait.
TEST(HashOfALongHistory, GivesItsReaderUpWhenTheBackendNeedsItsPlace) {
  StoreHarness harness;
  for (int i = 0; i < 5000; ++i) harness.Put("key" + std::to_string(i), "value");
  harness.Settle();
  const KvHash expected = Ok(harness.store->HashKv(0));
  const std::uint32_t expected_backend = Ok(harness.store->HashBackend()).hash;
  harness.store.reset();

  auto owned = std::make_unique<ImpatientBackend>(harness.OpenBackend());
  ImpatientBackend& backend = *owned;
  const auto store = Ok(Store::Open(harness.options, std::move(owned), harness.Executors()));
  backend.wanted = 3;
  EXPECT_EQ(Ok(store->HashKv(0)), expected);
  EXPECT_EQ(backend.given_up, 3);
  backend.wanted = 2;
  EXPECT_EQ(Ok(store->HashBackend()).hash, expected_backend);
  EXPECT_EQ(backend.given_up, 5);
}

// HashKV(0) asks for the newest revision, not for a compaction at 0.
TEST_F(HashTest, ACompactionAtZeroDoesNotStandForTheNewest) {
  CompactAndSettle(0);
  Put("a", "1");
  EXPECT_EQ(Hash(0).revision, 2);
}

TEST_F(HashTest, OfTheBackendChangesWithItsBuckets) {
  Put("a", "1");
  Settle();
  const std::uint32_t before = Ok(Ok(store->Read()).HashBackend());
  store->PutBucket(Bucket::kAlarm, "alarm", "");
  Publish();
  Settle();
  EXPECT_NE(Ok(Ok(store->Read()).HashBackend()), before);
}

}  // namespace
}  // namespace kvorum::mvcc
