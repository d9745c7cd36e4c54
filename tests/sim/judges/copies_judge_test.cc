// The judges of agents and caches: what is right passes, and each kind of error is detected.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mvcc/records/key_value.h"
#include "sync/agent/catalog.h"
#include "tests/sim/judges/catalog_judge.h"
#include "tests/sim/judges/followed.h"
#include "tests/sim/judges/told.h"

namespace kvorum::sim {
namespace {

constexpr lease::LeaseId kFirstLease = 0xa;
constexpr lease::LeaseId kSecondLease = 0xb;

class CopiesJudgeTest : public testing::Test {
 protected:
  struct Row {
    std::string key;
    std::string value = {};
    lease::LeaseId lease = lease::kNoLease;
    std::int64_t version = 1;
  };
  void Put(std::int64_t revision, const Row& row) {
    Publish(revision, Encode(revision, row), false);
  }
  void Delete(std::int64_t revision, const std::string& key) {
    Publish(revision, mvcc::Encode({.key = key, .value = {}}), true);
  }
  void PutEntry(std::int64_t revision, const std::string& agent, lease::LeaseId lease) {
    const sync::CatalogRecord record{.id = "s", .name = "web", .value = agent + " 1"};
    Put(revision, {.key = "k#/catalog/n1/s", .value = sync::EncodeRecord(record), .lease = lease});
  }
  static std::string Encode(std::int64_t revision, const Row& row) {
    return mvcc::Encode({.key = row.key,
                         .create_revision = revision,
                         .mod_revision = revision,
                         .version = row.version,
                         .value = row.value,
                         .lease = row.lease});
  }
  void Publish(std::int64_t revision, const std::string& record, bool is_delete) {
    char* room = buffer_.Append({.main = revision, .sub = 0}, is_delete, record.size());
    std::ranges::copy(record, room);
    events_.Take("m1", revision, revision, buffer_.StagedView());
  }
  static sync::Event EventOf(const std::string& key, std::int64_t revision) {
    return {.kv = RowOf(Encode(revision, {.key = key, .value = "v"}))};
  }
  static auto ObjectOf(std::int64_t revision) {
    return sync::TypedObject<std::string>::Make({.key = "k1", .mod_revision = revision}, "v");
  }

  World world_{Options{}};
  EventHistory events_{world_};
  mvcc::WriteBuffer buffer_{mvcc::WriteBuffer::Options{}};
  CatalogJudge judge_{world_, events_};
  Followed followed_{world_, events_, "i1", "k"};
  Told told_{world_, "i1"};
};

TEST_F(CopiesJudgeTest, TheHolderOfANameMayWrite) {
  Put(2, {.key = "k#/nodes/n1", .value = "a1", .lease = kFirstLease});
  PutEntry(3, "a1", kFirstLease);
  Delete(4, "k#/catalog/n1/s");
  Delete(5, "k#/nodes/n1");
  Put(6, {.key = "k#/nodes/n1", .value = "a2", .lease = kSecondLease});
  PutEntry(7, "a2", kSecondLease);
  judge_.Wrote("a1", "n1", 4);
  judge_.Wrote("a2", "n1", 7);
  EXPECT_FALSE(world_.failed()) << *world_.failure;
  EXPECT_EQ(judge_.rows().size(), 2U);
}

TEST_F(CopiesJudgeTest, AWriteOfAnotherAgentOfTheNameIsDetected) {
  Put(2, {.key = "k#/nodes/n1", .value = "a1", .lease = kFirstLease});
  PutEntry(3, "a2", kFirstLease);
  judge_.CheckAll();
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AWriteWithoutASessionIsDetected) {
  PutEntry(2, "a1", kFirstLease);
  judge_.CheckAll();
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AWriteOnAnOlderLeaseIsDetected) {
  Put(2, {.key = "k#/nodes/n1", .value = "a1", .lease = kSecondLease});
  PutEntry(3, "a1", kFirstLease);
  judge_.CheckAll();
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, ASessionThatIsTakenFromItsHolderIsDetected) {
  Put(2, {.key = "k#/nodes/n1", .value = "a1", .lease = kFirstLease});
  Put(3, {.key = "k#/nodes/n1", .value = "a2", .lease = kSecondLease, .version = 2});
  judge_.CheckAll();
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, ARemovalByOneThatHasLostTheNameIsDetected) {
  Put(2, {.key = "k#/nodes/n1", .value = "a2", .lease = kSecondLease});
  PutEntry(3, "a2", kSecondLease);
  Delete(4, "k#/catalog/n1/s");
  judge_.Wrote("a1", "n1", 4);
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AListAndTheRevisionsBehindItPass) {
  Put(2, {.key = "k1", .value = "v"});
  Put(3, {.key = "k2", .value = "v"});
  Put(4, {.key = "k3", .value = "v"});
  followed_.OnListBegin(2);
  followed_.OnListPage({EventOf("k1", 2).kv});
  followed_.OnListEnd();
  followed_.OnRevision(3, {EventOf("k2", 3)});
  followed_.OnRevision(4, {EventOf("k3", 4)});
  followed_.OnProgress(4);
  EXPECT_FALSE(world_.failed()) << *world_.failure;
}

TEST_F(CopiesJudgeTest, AMissedRevisionIsDetected) {
  Put(2, {.key = "k1", .value = "v"});
  Put(3, {.key = "k2", .value = "v"});
  followed_.OnRevision(3, {EventOf("k2", 3)});
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, ARevisionThatComesTwiceIsDetected) {
  Put(2, {.key = "k1", .value = "v"});
  followed_.OnRevision(2, {EventOf("k1", 2)});
  followed_.OnRevision(2, {EventOf("k1", 2)});
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, APartOfARevisionIsDetected) {
  Put(2, {.key = "k1", .value = "v"});
  followed_.OnRevision(2, {});
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AListBehindTheEventsIsDetected) {
  Put(2, {.key = "k1", .value = "v"});
  Put(3, {.key = "k2", .value = "v"});
  followed_.OnRevision(2, {EventOf("k1", 2)});
  followed_.OnRevision(3, {EventOf("k2", 3)});
  followed_.OnListBegin(2);
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AProgressAheadOfTheEventsIsDetected) {
  Put(2, {.key = "k1", .value = "v"});
  followed_.OnProgress(2);
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AHandlerMayBeToldOfAKeyInTheOrderOfItsRevisions) {
  told_.OnAdd(*ObjectOf(3));
  told_.OnUpdate(*ObjectOf(3), *ObjectOf(5));
  told_.OnUpdate(*ObjectOf(5), *ObjectOf(5));
  told_.OnDelete(*ObjectOf(6));
  told_.OnAdd(*ObjectOf(8));
  EXPECT_FALSE(world_.failed()) << *world_.failure;
}

TEST_F(CopiesJudgeTest, AnOlderValueAfterANewerOneIsDetected) {
  told_.OnAdd(*ObjectOf(5));
  told_.OnUpdate(*ObjectOf(5), *ObjectOf(3));
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AChangeFromAValueThatWasNotToldIsDetected) {
  told_.OnAdd(*ObjectOf(3));
  told_.OnUpdate(*ObjectOf(4), *ObjectOf(5));
  EXPECT_TRUE(world_.failed());
}

TEST_F(CopiesJudgeTest, AKeyThatIsNewTwiceIsDetected) {
  told_.OnAdd(*ObjectOf(3));
  told_.OnAdd(*ObjectOf(4));
  EXPECT_TRUE(world_.failed());
}

}  // namespace
}  // namespace kvorum::sim
