#include "mvcc/lmdb/write_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/rng.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WriteBufferTest : public ::testing::Test {
 protected:
  void Append(Revision revision, std::string_view value, bool tombstone = false) {
    char* out = buffer_.Append(revision, tombstone, value.size());
    value.copy(out, value.size());
  }
  void AppendAndPublish(std::int64_t main, std::string_view value) {
    Append({main, 0}, value);
    buffer_.Publish(static_cast<std::uint64_t>(main));
  }
  static std::vector<std::int64_t> Mains(const WriteBuffer::View& view, Revision from = {}) {
    std::vector<std::int64_t> mains;
    view.Scan(from, [&](const RevisionRecord& record) {
      mains.push_back(record.revision.main);
      return true;
    });
    return mains;
  }
  static std::vector<std::int64_t> Mains(const WriteBatch& batch) {
    std::vector<std::int64_t> mains;
    for (const auto records : batch.appends) {
      for (const RevisionRecord& record : records) mains.push_back(record.revision.main);
    }
    return mains;
  }

  WriteBuffer buffer_{{.limit_bytes = 1 << 20}};
};

TEST_F(WriteBufferTest, AnEmptyBufferShowsNothing) {
  EXPECT_TRUE(buffer_.CurrentView().empty());
  EXPECT_EQ(buffer_.CurrentView().Find({2, 0}), nullptr);
  EXPECT_EQ(WriteBuffer::View().Find({2, 0}), nullptr);
  EXPECT_TRUE(buffer_.Take().batch.empty());
}

TEST_F(WriteBufferTest, AViewShowsWhatWasPublishedBeforeIt) {
  Append({2, 0}, "a");
  const auto before = buffer_.CurrentView();
  buffer_.Publish(7);
  const auto after = buffer_.CurrentView();
  Append({3, 0}, "b");
  EXPECT_TRUE(before.empty());
  ASSERT_NE(after.Find({2, 0}), nullptr);
  EXPECT_EQ(after.Find({2, 0})->value, "a");
  EXPECT_EQ(after.Find({3, 0}), nullptr);
  EXPECT_EQ(buffer_.CurrentView().Find({3, 0}), nullptr);
  EXPECT_EQ(after.First()->revision, (Revision{2, 0}));
}

TEST_F(WriteBufferTest, TheWriterFindsWhatItStaged) {
  AppendAndPublish(2, "a");
  Append({3, 0}, "b");
  Append({3, 1}, "c", true);
  EXPECT_EQ(buffer_.FindStaged({3, 0})->value, "b");
  EXPECT_TRUE(buffer_.FindStaged({3, 1})->tombstone);
  EXPECT_EQ(buffer_.FindStaged({3, 2}), nullptr);
}

TEST_F(WriteBufferTest, WhatIsTakenStaysVisibleUntilItIsReleased) {
  AppendAndPublish(2, "a");
  AppendAndPublish(3, "b");
  const auto taken = buffer_.Take();
  EXPECT_THAT(Mains(taken.batch), ElementsAre(2, 3));
  EXPECT_EQ(taken.consistent_index, 3u);
  EXPECT_EQ(taken.operations, 2u);
  AppendAndPublish(4, "c");
  EXPECT_THAT(Mains(buffer_.CurrentView()), ElementsAre(2, 3, 4));
  buffer_.Release(taken);
  EXPECT_THAT(Mains(buffer_.CurrentView()), ElementsAre(4));
  const auto rest = buffer_.Take();
  EXPECT_THAT(Mains(rest.batch), ElementsAre(4));
  buffer_.Release(rest);
  EXPECT_EQ(buffer_.PendingBytes(), 0u);
  EXPECT_FALSE(buffer_.Take().consistent_index.has_value());
}

TEST_F(WriteBufferTest, AnOldViewKeepsItsRecords) {
  AppendAndPublish(2, "kept");
  const auto view = buffer_.CurrentView();
  for (std::int64_t main = 3; main < 50; ++main) {
    AppendAndPublish(main, std::string(1000, 'x'));
    buffer_.Release(buffer_.Take());
  }
  ASSERT_NE(view.Find({2, 0}), nullptr);
  EXPECT_EQ(view.Find({2, 0})->value, "kept");
  EXPECT_EQ(buffer_.CurrentView().Find({2, 0}), nullptr);
}

TEST_F(WriteBufferTest, ABatchThatIsBeingWrittenIsNotTaken) {
  AppendAndPublish(2, "a");
  Append({3, 0}, "staged");
  buffer_.Put(Bucket::kMeta, "k", "staged");
  const auto taken = buffer_.Take();
  EXPECT_THAT(Mains(taken.batch), ElementsAre(2));
  EXPECT_TRUE(taken.batch.changes.empty());
  Append({3, 1}, "staged");
  buffer_.Release(taken);
  buffer_.Publish(3);
  EXPECT_THAT(Mains(buffer_.CurrentView(), {3, 0}), ElementsAre(3, 3));
  EXPECT_THAT(Mains(buffer_.Take().batch), ElementsAre(3, 3));
}

TEST_F(WriteBufferTest, TheLastChangeToABucketKeyWins) {
  buffer_.Put(Bucket::kMeta, "k", "1");
  buffer_.Remove(Bucket::kAuth, "gone");
  buffer_.Publish(1);
  buffer_.Put(Bucket::kMeta, "k", "2");
  buffer_.Put(Bucket::kAuth, "gone", "back");
  buffer_.Remove(Bucket::kLease, "l");
  buffer_.Publish(2);
  const auto taken = buffer_.Take();
  EXPECT_TRUE(taken.batch.appends.empty());
  ASSERT_EQ(taken.batch.changes.size(), 3u);
  const auto& map = taken.batch.changes.map();
  EXPECT_EQ(map.find(BucketChanges::KeyView{Bucket::kMeta, "k"})->second, "2");
  EXPECT_EQ(map.find(BucketChanges::KeyView{Bucket::kAuth, "gone"})->second, "back");
  EXPECT_EQ(map.find(BucketChanges::KeyView{Bucket::kLease, "l"})->second, std::nullopt);
  EXPECT_EQ(taken.consistent_index, 2u);
}

TEST_F(WriteBufferTest, ScansBeginAnywhereAndEndOnDemand) {
  for (std::int64_t main = 2; main < 10; ++main) {
    Append({main, 0}, "a");
    Append({main, 1}, "b");
    buffer_.Publish(1);
    if (main == 5) buffer_.Take();  // another segment
  }
  const auto view = buffer_.CurrentView();
  EXPECT_THAT(Mains(view, {8, 1}), ElementsAre(8, 9, 9));
  EXPECT_THAT(Mains(view, {10, 0}), IsEmpty());
  EXPECT_EQ(Mains(view, {1, 0}).size(), 16u);
  int visits = 0;
  view.Scan({2, 0}, [&](const RevisionRecord&) { return ++visits < 3; });
  EXPECT_EQ(visits, 3);
}

TEST_F(WriteBufferTest, PastTheLimitTheWriterWaitsUntilItIsHalfEmpty) {
  EXPECT_FALSE(buffer_.OverLimit());
  bool resumed = false;
  buffer_.WhenRoom([&] { resumed = true; });
  EXPECT_TRUE(resumed) << "there is room";
  resumed = false;
  AppendAndPublish(2, std::string(700'000, 'x'));
  EXPECT_FALSE(buffer_.OverLimit());
  AppendAndPublish(3, std::string(700'000, 'x'));
  EXPECT_TRUE(buffer_.OverLimit());
  buffer_.WhenRoom([&] { resumed = true; });
  const auto taken = buffer_.Take();
  EXPECT_FALSE(resumed);
  AppendAndPublish(4, "small");
  buffer_.Release(taken);
  EXPECT_TRUE(resumed);
  EXPECT_FALSE(buffer_.OverLimit());
}

TEST_F(WriteBufferTest, RevisionsOutOfOrderStopTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Append({3, 1}, "a");
  EXPECT_DEATH(Append({3, 1}, "a"), "ascending order");
}

TEST_F(WriteBufferTest, EqualsAMapUnderRandomUse) {
  Rng rng(5);
  std::map<Revision, std::string> published;
  std::map<Revision, std::string> staged;
  std::optional<WriteBuffer::Taken> taken;
  Revision taken_to;
  Revision next{2, 0};
  for (int step = 0; step < 20'000; ++step) {
    switch (rng.Below(12)) {
      case 0:
        published.merge(staged);
        staged.clear();
        buffer_.Publish(1);
        break;
      case 1:
        if (!taken) {
          taken = buffer_.Take();
          taken_to = published.empty() ? taken_to : published.rbegin()->first;
        } else if (rng.OneIn(10)) {
          buffer_.Release(*taken);
          taken.reset();
          // Released ones may stay visible, later ones must.
          published.erase(published.begin(), published.upper_bound(taken_to));
        }
        break;
      case 2: {
        const auto view = buffer_.CurrentView();
        for (const auto& [revision, value] : published) {
          const RevisionRecord* found = view.Find(revision);
          ASSERT_NE(found, nullptr);
          ASSERT_EQ(found->value, value);
        }
        for (const auto& [revision, value] : staged) {
          ASSERT_EQ(view.Find(revision), nullptr);
          ASSERT_EQ(buffer_.FindStaged(revision)->value, value);
        }
        break;
      }
      default: {
        // Mains usually follow each other; the buffer must not rely on it.
        if (rng.OneIn(2)) {
          next = {next.main + 1, 0};
        } else if (rng.OneIn(50)) {
          next = {next.main + 5, 3};
        } else {
          ++next.sub;
        }
        const std::string value(rng.Below(rng.OneIn(100) ? 300'000 : 60), 'v');
        Append(next, value);
        staged[next] = value;
        break;
      }
    }
  }
}

TEST_F(WriteBufferTest, NothingPublishedIsEverMissingFromAReadersTwoLooks) {
  // The backend's part is played by a number: everything up to it is durable.
  std::atomic<std::int64_t> durable{1};
  std::atomic<std::int64_t> published{1};
  std::atomic<bool> stop{false};
  const auto read = [&] {
    Rng rng(1);
    while (!stop.load()) {
      const std::int64_t newest = published.load();
      const auto view = buffer_.CurrentView();      // first
      const std::int64_t backend = durable.load();  // second
      if (newest < 2) continue;
      const auto main =
          2 + static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(newest - 1)));
      const std::int64_t look = rng.OneIn(2) ? newest : main;
      if (look <= backend) continue;
      const RevisionRecord* found = view.Find({look, 0});
      ASSERT_NE(found, nullptr) << look << " is neither in the buffer nor in the backend";
      ASSERT_EQ(found->value, "value " + std::to_string(look));
    }
  };
  std::thread reader1(read);
  std::thread reader2(read);
  std::thread committer([&] {
    while (!stop.load()) {
      const auto taken = buffer_.Take();
      if (taken.batch.appends.empty()) continue;
      durable.store(taken.batch.appends.back().back().revision.main);
      buffer_.Release(taken);
    }
  });
  for (std::int64_t main = 2; main < 30'000; ++main) {
    Append({main, 0}, "value " + std::to_string(main));
    if (main % 7 != 0) continue;
    buffer_.Publish(1);
    published.store(main);
  }
  stop.store(true);
  reader1.join();
  reader2.join();
  committer.join();
}

}  // namespace
}  // namespace kvorum::mvcc
