// The contract of mvcc/lmdb/backend.h, kept by both implementations.
#include "mvcc/lmdb/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "base/failpoint/failpoint_control.h"
#include "base/rng.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class World>
class BackendTest : public ::testing::Test {
 protected:
  BackendTest() { Reopen(); }

  void Reopen() {
    backend_.reset();
    auto opened = world_.Open();
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    backend_ = std::move(*opened);
  }
  Reader NewReader() {
    auto reader = backend_->NewReader();
    EXPECT_TRUE(reader.has_value());
    return *std::move(reader);
  }
  std::string Get(Bucket bucket, std::string_view key) {
    const Reader reader = NewReader();
    const auto value = reader->Get(bucket, key);
    EXPECT_TRUE(value.has_value());
    return value->has_value() ? std::string(**value) : "(absent)";
  }
  static std::vector<std::string> Keys(const Reader& reader, Bucket bucket, std::string_view from,
                                       std::string_view to) {
    std::vector<std::string> keys;
    EXPECT_TRUE(reader
                    ->Scan(bucket, from, to,
                           [&](std::string_view key, std::string_view) {
                             keys.emplace_back(key);
                             return true;
                           })
                    .has_value());
    return keys;
  }
  static std::vector<std::int64_t> Revisions(const Reader& reader, Revision from, Revision to) {
    std::vector<std::int64_t> mains;
    EXPECT_TRUE(reader
                    ->ScanRevisions(from, to,
                                    [&](const RevisionRecord& record) {
                                      mains.push_back(record.revision.main);
                                      return true;
                                    })
                    .has_value());
    return mains;
  }
  // One commit for each revision from `first`, each with a value of the size.
  void Fill(std::int64_t first, std::int64_t count, std::size_t value_size_bytes) {
    for (std::int64_t main = first; main < first + count; ++main) {
      OwnedBatch batch;
      batch.Append({main, 0}, std::string(value_size_bytes, static_cast<char>('a' + main % 26)));
      batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(10'000'000 + main));
      Commit(*backend_, batch);
    }
  }

  World world_;
  std::unique_ptr<Backend> backend_;
};

TYPED_TEST_SUITE(BackendTest, Worlds);

TYPED_TEST(BackendTest, ANewBackendIsEmpty) {
  EXPECT_THAT(ContentOf(*this->backend_), IsEmpty());
  EXPECT_EQ(this->Get(Bucket::kMeta, meta_key::kConsistentIndex), "(absent)");
  EXPECT_EQ(this->NewReader()->CountRevisions().value(), 0u);
}

TYPED_TEST(BackendTest, ACommitIsSeenByLaterReadersOnly) {
  const Reader before = this->NewReader();
  Commit(*this->backend_, OwnedBatch().Append({2, 0}, "two").Put(Bucket::kMeta, "k", "v"));
  const Reader after = this->NewReader();
  Commit(*this->backend_, OwnedBatch().Delete({2, 0}).Remove(Bucket::kMeta, "k"));

  EXPECT_FALSE(before->GetRevision({2, 0}).value().has_value());
  EXPECT_FALSE(before->Get(Bucket::kMeta, "k").value().has_value());
  EXPECT_EQ(after->GetRevision({2, 0}).value()->value, "two");
  EXPECT_EQ(after->Get(Bucket::kMeta, "k").value(), "v");
  EXPECT_FALSE(this->NewReader()->GetRevision({2, 0}).value().has_value());
}

TYPED_TEST(BackendTest, AllOfACommitIsThereAfterReopening) {
  OwnedBatch batch;
  batch.Append({2, 0}, "a").Append({2, 1}, "b", true).Append({3, 0}, "");
  batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, "12345678");
  batch.Put(Bucket::kAuthRoles, "root", "").Put(Bucket::kAlarm, std::string("\0x", 2), "");
  Content expected;
  ApplyTo(expected, batch.batch());
  Commit(*this->backend_, batch);
  this->Reopen();
  EXPECT_EQ(ContentOf(*this->backend_), expected);
}

TYPED_TEST(BackendTest, CommitsThatAreSyncedByHandAreReadAtOnceAndThereAfterReopening) {
  TypeParam world;
  Content expected;
  {
    auto backend = world.Open(CommitSync::kByHand).value();
    for (int i = 1; i <= 3; ++i) {
      OwnedBatch batch;
      batch.Append({i, 0}, "value " + std::to_string(i));
      Commit(*backend, batch);
      ApplyTo(expected, batch.batch());
      EXPECT_EQ(ContentOf(*backend), expected);
      // Twice is once.
      if (i == 2) {
        ASSERT_TRUE(backend->Sync().has_value());
        ASSERT_TRUE(backend->Sync().has_value());
      }
    }
  }
  EXPECT_EQ(ContentOf(*world.Open().value()), expected);
}

TYPED_TEST(BackendTest, ARevisionTellsWhetherItIsATombstone) {
  Commit(*this->backend_,
         OwnedBatch().Append({2, 0}, "put").Append({2, 1}, "deleted", true).Append({3, 0}, "x"));
  const Reader reader = this->NewReader();
  EXPECT_FALSE(reader->GetRevision({2, 0}).value()->tombstone);
  EXPECT_TRUE(reader->GetRevision({2, 1}).value()->tombstone);
  EXPECT_EQ(reader->GetRevision({2, 1}).value()->value, "deleted");
  EXPECT_FALSE(reader->GetRevision({2, 2}).value().has_value());
  EXPECT_FALSE(reader->GetRevision({1, 0}).value().has_value());
  EXPECT_FALSE(reader->GetRevision({4, 0}).value().has_value());
  EXPECT_EQ(reader->CountRevisions().value(), 3u);
}

TYPED_TEST(BackendTest, SeveralRevisionsAreFoundAsEachIs) {
  OwnedBatch batch;
  for (int i = 0; i < 50; ++i) {
    const std::string value(static_cast<std::size_t>(i * i), 'v');
    if (i % 7 != 3) batch.Append({i + 2, i % 3}, value, i % 5 == 4);
  }
  Commit(*this->backend_, batch);
  std::vector<Revision> wanted;
  for (int i = 49; i >= 0; --i) wanted.push_back({i + 2, i % 3});
  wanted.push_back({900, 0});
  const Reader reader = this->NewReader();
  for (std::size_t begin = 0; begin <= wanted.size(); ++begin) {
    const std::span<const Revision> asked = std::span(wanted).subspan(begin);
    std::vector<std::optional<RevisionRecord>> found(asked.size());
    const std::size_t answered = reader->GetRevisions(asked, found).value();
    ASSERT_LE(answered, asked.size());
    ASSERT_EQ(answered == 0, asked.empty());
    for (std::size_t i = 0; i < answered; ++i) {
      const auto alone = reader->GetRevision(asked[i]).value();
      ASSERT_EQ(found[i].has_value(), alone.has_value()) << i;
      if (!alone.has_value()) continue;
      EXPECT_EQ(found[i]->revision, asked[i]);
      EXPECT_EQ(found[i]->value, alone->value);
      EXPECT_EQ(found[i]->tombstone, alone->tombstone);
    }
  }
}

TYPED_TEST(BackendTest, ScansKeepToTheirBucketAndBounds) {
  OwnedBatch batch;
  for (const char* key : {"a", "b", "ba", "c", "\xff\xff"}) batch.Put(Bucket::kLease, key, "1");
  batch.Put(Bucket::kMeta, "m", "1").Put(Bucket::kAlarm, "n", "1");
  Commit(*this->backend_, batch);
  const Reader reader = this->NewReader();
  EXPECT_THAT(this->Keys(reader, Bucket::kLease, "", ""),
              ElementsAre("a", "b", "ba", "c", "\xff\xff"));
  EXPECT_THAT(this->Keys(reader, Bucket::kLease, "b", "c"), ElementsAre("b", "ba"));
  EXPECT_THAT(this->Keys(reader, Bucket::kLease, "bb", ""), ElementsAre("c", "\xff\xff"));
  EXPECT_THAT(this->Keys(reader, Bucket::kLease, "c", "b"), IsEmpty());
  EXPECT_THAT(this->Keys(reader, Bucket::kCluster, "", ""), IsEmpty());
  int visited = 0;
  EXPECT_TRUE(reader
                  ->Scan(Bucket::kLease, "", "",
                         [&](std::string_view, std::string_view) { return ++visited < 2; })
                  .has_value());
  EXPECT_EQ(visited, 2) << "false ends the scan";
}

TYPED_TEST(BackendTest, ScansSizesAsItScansValues) {
  this->Fill(2, 30, 3000);
  OwnedBatch batch;
  batch.Append({32, 0}, "").Append({33, 0}, std::string(100'000, 'v'), true);
  Commit(*this->backend_, batch);
  const Reader reader = this->NewReader();
  std::vector<std::pair<std::string, std::size_t>> by_values;
  std::vector<std::pair<std::string, std::size_t>> by_sizes;
  const RevisionKey from(Revision{5, 0});
  EXPECT_TRUE(reader
                  ->Scan(Bucket::kKey, from.view(), {},
                         [&](std::string_view key, std::string_view value) {
                           by_values.emplace_back(key, value.size());
                           return true;
                         })
                  .has_value());
  EXPECT_TRUE(reader
                  ->ScanSizes(Bucket::kKey, from.view(), {},
                              [&](std::string_view key, std::size_t value_bytes) {
                                by_sizes.emplace_back(key, value_bytes);
                                return true;
                              })
                  .has_value());
  EXPECT_EQ(by_sizes.size(), 29U);
  EXPECT_EQ(by_sizes, by_values);
}

TYPED_TEST(BackendTest, AScanMayLookRevisionsUp) {
  this->Fill(2, 10, 10);
  const Reader reader = this->NewReader();
  int seen = 0;
  EXPECT_TRUE(reader
                  ->ScanRevisions({2, 0}, {12, 0},
                                  [&](const RevisionRecord& record) {
                                    const Revision mirrored{13 - record.revision.main, 0};
                                    EXPECT_TRUE(reader->GetRevision(mirrored).value().has_value());
                                    ++seen;
                                    return true;
                                  })
                  .has_value());
  EXPECT_EQ(seen, 10);
}

TYPED_TEST(BackendTest, RevisionScansAreHalfOpen) {
  this->Fill(2, 6, 3);
  const Reader reader = this->NewReader();
  EXPECT_THAT(this->Revisions(reader, {3, 0}, {6, 0}), ElementsAre(3, 4, 5));
  EXPECT_THAT(this->Revisions(reader, {7, 0}, {100, 0}), ElementsAre(7));
  EXPECT_THAT(this->Revisions(reader, {5, 0}, {5, 0}), IsEmpty());
}

TYPED_TEST(BackendTest, ValuesOfAnySizeComeBackWhole) {
  std::int64_t main = 2;
  for (const std::size_t size : {0u, 1u, 2000u, 2034u, 2040u, 4076u, 4080u, 4096u, 100'000u}) {
    Commit(*this->backend_, OwnedBatch().Append({main++, 0}, std::string(size, 'v')));
  }
  const std::string large(1'572'864 + 1000, 'L');
  Commit(*this->backend_, OwnedBatch().Append({main, 0}, large));
  this->Reopen();
  const Reader reader = this->NewReader();
  EXPECT_EQ(reader->GetRevision({main, 0}).value()->value, large);
  EXPECT_EQ(reader->GetRevision({3, 0}).value()->value, "v");
  EXPECT_EQ(reader->GetRevision({10, 0}).value()->value, std::string(100'000, 'v'));
}

TYPED_TEST(BackendTest, TheLongestKeyOfABucketIsTaken) {
  const std::string longest(kMaxBucketKeySizeBytes, '\xff');
  Commit(*this->backend_, OwnedBatch().Put(Bucket::kAuthUsers, longest, "u"));
  EXPECT_EQ(this->Get(Bucket::kAuthUsers, longest), "u");
  EXPECT_EQ(this->Get(Bucket::kAuthUsers, longest + "x"), "(absent)");
  EXPECT_THAT(this->Keys(this->NewReader(), Bucket::kAuthUsers, longest, ""), ElementsAre(longest));
}

TYPED_TEST(BackendTest, DeletionsSkipWhatIsNotThere) {
  Commit(*this->backend_, OwnedBatch().Append({2, 0}, "a").Append({3, 0}, "b", true));
  OwnedBatch batch;
  batch.Append({4, 0}, "c").Delete({1, 0}).Delete({2, 0}).Delete({3, 0}).Delete({3, 0});
  batch.Delete({4, 0}).Delete({9, 9});
  Commit(*this->backend_, batch);
  EXPECT_THAT(ContentOf(*this->backend_), IsEmpty());
}

TYPED_TEST(BackendTest, AnEmptyCommitChangesNothing) {
  this->Fill(2, 3, 10);
  const Content before = ContentOf(*this->backend_);
  Commit(*this->backend_, OwnedBatch());
  Commit(*this->backend_, OwnedBatch().Remove(Bucket::kAuth, "absent"));
  EXPECT_EQ(ContentOf(*this->backend_), before);
}

TYPED_TEST(BackendTest, ARevisionOutOfOrderStopsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Commit(*this->backend_, OwnedBatch().Append({5, 0}, "a"));
  EXPECT_DEATH(
      {
        this->world_.RemoveFiles();
        static_cast<void>(this->backend_->Commit(OwnedBatch().Append({4, 0}, "b").batch()));
      },
      "a revision was committed out of order");
}

TYPED_TEST(BackendTest, TheHashIsOverNamesKeysAndValues) {
  Commit(*this->backend_, OwnedBatch().Append({2, 0}, "v").Put(Bucket::kAuth, "k", "w"));
  std::uint32_t expected = Crc32c(0, "key");
  expected = Crc32c(Crc32c(expected, RevisionKey({2, 0}).view()), "v");
  for (const char* name : {"meta", "lease", "alarm", "cluster", "members", "members_removed"}) {
    expected = Crc32c(expected, name);
  }
  expected = Crc32c(Crc32c(Crc32c(Crc32c(expected, "auth"), "k"), "w"), "authUsers");
  expected = Crc32c(expected, "authRoles");
  EXPECT_EQ(this->NewReader()->Hash().value(), expected);

  Commit(*this->backend_, OwnedBatch()
                              .Put(Bucket::kMeta, meta_key::kConsistentIndex, "1")
                              .Put(Bucket::kMeta, meta_key::kTerm, "1"));
  EXPECT_EQ(this->NewReader()->Hash().value(), expected) << "members may differ in these";
  Commit(*this->backend_, OwnedBatch().Put(Bucket::kMeta, meta_key::kConfState, "1"));
  EXPECT_NE(this->NewReader()->Hash().value(), expected);
}

// ---- size ----

TYPED_TEST(BackendTest, ASmallDatabaseFitsAQuotaOfThirteenPages) {
  EXPECT_LT(this->backend_->SizeBytes(), 53'248u);
  // The commits of a fresh server, one after another.
  for (int i = 0; i < 30; ++i) {
    OwnedBatch batch;
    batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(10'000'000 + i));
    batch.Put(Bucket::kMeta, meta_key::kConfState, R"({"voters":[1234567890123456789]})");
    batch.Put(Bucket::kMembers, "8e9e05c52164694d", std::string(200, 'm'));
    batch.Put(Bucket::kCluster, "clusterVersion", "3.7.0");
    Commit(*this->backend_, batch);
  }
  if constexpr (std::is_same_v<TypeParam, LmdbWorld>) {
    EXPECT_LE(this->backend_->SizeBytes(), 10 * 4096u);
  }
  EXPECT_LT(this->backend_->SizeBytes(), 53'248u);
  EXPECT_LE(this->backend_->SizeInUseBytes(), this->backend_->SizeBytes());
}

TYPED_TEST(BackendTest, OverwritesGrowItCompactionAndDefragmentingBringItBack) {
  this->Fill(2, 40, 4096);
  EXPECT_GT(this->backend_->SizeBytes(), 53'248u + 4 * 4096u);
  EXPECT_GT(this->backend_->SizeInUseBytes(), 40 * 4096u);
  OwnedBatch compaction;
  for (std::int64_t main = 2; main < 41; ++main) compaction.Delete({main, 0});
  Commit(*this->backend_, compaction);
  EXPECT_LT(this->backend_->SizeInUseBytes(), 53'248u - 5000u) << "in use falls at once";
  EXPECT_GT(this->backend_->SizeBytes(), 53'248u) << "the file does not";

  const Content before = ContentOf(*this->backend_);
  ASSERT_TRUE(Defragment(*this->backend_).has_value());
  EXPECT_LT(this->backend_->SizeBytes(), 7 * 4096u);
  EXPECT_EQ(ContentOf(*this->backend_), before);
  // The alarm is disarmed and one more small key is put, each in a separate commit.
  for (std::int64_t main = 42; main < 46; ++main) {
    this->Fill(main, 1, 64);
    EXPECT_LT(this->backend_->SizeBytes() + 256 + 72, 53'248u);
  }
  const std::uint64_t size = this->backend_->SizeBytes();
  this->Reopen();
  EXPECT_EQ(this->backend_->SizeBytes(), size);
}

// ---- defragmenting ----

TYPED_TEST(BackendTest, WhatIsCommittedDuringADefragmentationIsInItsResult) {
  this->Fill(2, 500, 300);
  OwnedBatch small;
  for (int i = 0; i < 50; ++i) small.Put(Bucket::kLease, "lease" + std::to_string(i), "1");
  Commit(*this->backend_, small);
  Content expected = ContentOf(*this->backend_);
  const auto commit = [&](OwnedBatch& batch) {
    ApplyTo(expected, batch.batch());
    Commit(*this->backend_, batch);
  };

  auto copy = this->backend_->StartDefragment();
  ASSERT_TRUE(copy.has_value());
  commit(OwnedBatch().Append({600, 0}, "before the copy").Delete({3, 0}));
  ASSERT_TRUE((*copy)->Copy().has_value());
  commit(OwnedBatch()
             .Append({601, 0}, "after the copy")
             .Delete({4, 0})
             .Delete({600, 0})
             .Remove(Bucket::kLease, "lease7")
             .Put(Bucket::kLease, "lease8", "2")
             .Put(Bucket::kLease, "lease8a", "new"));
  commit(OwnedBatch().Append({602, 0}, "gone again").Put(Bucket::kAuthRoles, "z", "late"));
  commit(OwnedBatch().Delete({602, 0}).Append({603, 0}, "tombstone", true));
  ASSERT_TRUE(this->backend_->FinishDefragment(*std::move(copy)).has_value());

  EXPECT_EQ(ContentOf(*this->backend_), expected);
  commit(OwnedBatch().Append({700, 0}, "goes on"));
  EXPECT_EQ(ContentOf(*this->backend_), expected);
  this->Reopen();
  EXPECT_EQ(ContentOf(*this->backend_), expected);
}

TYPED_TEST(BackendTest, AReaderKeepsItsStateAcrossADefragmentation) {
  this->Fill(2, 100, 300);
  const Content before = ContentOf(*this->backend_);
  {
    const Reader reader = this->NewReader();
    ASSERT_TRUE(Defragment(*this->backend_).has_value());
    Commit(*this->backend_, OwnedBatch().Delete({2, 0}).Delete({3, 0}));
    ASSERT_TRUE(Defragment(*this->backend_).has_value());
    EXPECT_EQ(ReadContent(*reader).value(), before);
    EXPECT_EQ(ContentOf(*this->backend_).size(), before.size() - 2);
  }
  Commit(*this->backend_, OwnedBatch().Append({1000, 0}, "x"));
  EXPECT_EQ(ContentOf(*this->backend_).size(), before.size() - 1);
}

TYPED_TEST(BackendTest, OnlyOneCopyIsMadeAtATimeAndADroppedOneIsForgotten) {
  this->Fill(2, 10, 300);
  const Content before = ContentOf(*this->backend_);
  auto first = this->backend_->StartDefragment();
  ASSERT_TRUE(first.has_value());
  const auto second = this->backend_->StartDefragment();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  ASSERT_TRUE((*first)->Copy().has_value());
  first->reset();
  EXPECT_TRUE(Defragment(*this->backend_).has_value());
  EXPECT_EQ(ContentOf(*this->backend_), before);
}

using ::testing::HasSubstr;

TYPED_TEST(BackendTest, AFailedDefragmentationLeavesItInService) {
  this->Fill(2, 10, 300);
  for (const char* point : {"defragOpenFileError", "defragdbFail"}) {
    ASSERT_TRUE(failpoint::Set(point, "return(\"no luck\")").has_value());
    const Result<void> failed = Defragment(*this->backend_);
    failpoint::ClearAll();
    ASSERT_FALSE(failed.has_value()) << point;
    EXPECT_THAT(failed.error().message, HasSubstr("no luck"));
    this->Fill(point[6] == 'O' ? 20 : 30, 1, 10);
  }
  EXPECT_TRUE(Defragment(*this->backend_).has_value());
  EXPECT_EQ(this->NewReader()->CountRevisions().value(), 12u);
}

// ---- against a model ----

TYPED_TEST(BackendTest, EqualsAMapUnderRandomCommits) {
  Rng rng(20260801);
  Content model;
  std::int64_t main = 1;
  std::set<std::int64_t> live;
  std::unique_ptr<DefragmentCopy> copy;
  for (int round = 0; round < 400; ++round) {
    OwnedBatch batch;
    for (std::uint64_t i = rng.Below(30); i > 0; --i) {
      const std::size_t size = rng.OneIn(20) ? rng.Below(20'000) : rng.Below(400);
      batch.Append({++main, 0}, std::string(size, static_cast<char>(rng.Below(256))), rng.OneIn(5));
      live.insert(main);
    }
    if (rng.OneIn(4)) {
      while (live.size() > 100 && !rng.OneIn(60)) {
        auto at = live.lower_bound(
            static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(main))));
        if (at == live.end()) at = live.begin();
        batch.Delete({*at, 0});
        live.erase(at);
      }
    }
    for (std::uint64_t i = rng.Below(6); i > 0; --i) {
      const auto bucket = static_cast<Bucket>(1 + rng.Below(9));
      const std::string key = "k" + std::to_string(rng.Below(20));
      if (rng.OneIn(3)) {
        batch.Remove(bucket, key);
      } else {
        batch.Put(bucket, key, std::string(rng.Below(300), 'x'));
      }
    }
    ApplyTo(model, batch.batch());
    Commit(*this->backend_, batch);
    if (rng.OneIn(10)) {
      if (copy == nullptr) {
        copy = this->backend_->StartDefragment().value();
      } else {
        ASSERT_TRUE(copy->Copy().has_value());
        if (rng.OneIn(4)) {
          copy.reset();
        } else {
          ASSERT_TRUE(this->backend_->FinishDefragment(std::exchange(copy, nullptr)).has_value());
        }
      }
    }
    if (round % 20 == 0) {
      ASSERT_EQ(ContentOf(*this->backend_), model) << "round " << round;
    }
    if (rng.OneIn(40) && copy == nullptr) this->Reopen();
  }
  copy.reset();
  EXPECT_EQ(ContentOf(*this->backend_), model);
  EXPECT_EQ(this->NewReader()->CountRevisions().value(), live.size());
}

TEST(BackendTwins, TheSameCommitsGiveTheSameHash) {
  LmdbWorld lmdb_world;
  MemoryWorld memory_world;
  auto lmdb = lmdb_world.Open().value();
  auto memory = memory_world.Open().value();
  for (std::int64_t main = 2; main < 200; ++main) {
    OwnedBatch batch;
    batch.Append({main, 0}, "value" + std::to_string(main), main % 7 == 0);
    batch.Put(Bucket::kLease, std::to_string(main % 13), std::to_string(main));
    if (main > 20) batch.Delete({main - 11, 0});
    Commit(*lmdb, batch);
    Commit(*memory, batch);
  }
  EXPECT_EQ((*lmdb->NewReader())->Hash().value(), (*memory->NewReader())->Hash().value());
}

}  // namespace
}  // namespace kvorum::mvcc
