// The database's map grows beneath a save whose client reads slowly or not at all, while everything
// is asked for its hash and writes go on: over LMDB, whose map waits for each reader, and over
// threads of production's kind, of which one serves the save and the hashes.
//
// Each of them can wait for another: the map for the save's reader, the hash for the map, the
// save's next task for the hash on its thread, and writes for the map.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "tests/eventually.h"
#include "tests/mapped_bytes.h"
#include "tests/server/replica/saving_member.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

constexpr std::uint64_t kFirstMapBytes = std::uint64_t{16} << 20;
constexpr std::size_t kLargeValueBytes = 100'000;
constexpr auto kPatience = std::chrono::seconds(60);

class MapGrowthTest : public testing::Test {
 protected:
  MapGrowthTest() {
    PutLarge(80);  // of the half of the map
    Flush();
    EXPECT_EQ(MappedBytesOf(member_.database()), kFirstMapBytes);
  }
  // A wedge is let go, so that a failed test ends.
  ~MapGrowthTest() override {
    ends_ = true;
    for (const auto& save : saves_) SavingMember::Cancel(*save);
    saving_.Stop();
  }

  void PutLarge(int count) {
    std::future<int> put = member_.Put(
        "key", count, std::string(kLargeValueBytes, static_cast<char>('a' + puts_ % 26)));
    puts_ += count;
    ASSERT_EQ(put.wait_for(kPatience), std::future_status::ready) << "writes have come to a stop";
    ASSERT_EQ(put.get(), count);
  }
  // All of it is in the database.
  void Flush() {
    auto done = std::make_shared<std::promise<void>>();
    member_.member().store().Flush([done] { done->set_value(); });
    ASSERT_EQ(done->get_future().wait_for(kPatience), std::future_status::ready)
        << "commits have come to a stop";
  }
  std::shared_ptr<SavingStream> Save() {
    saves_.push_back(std::make_shared<SavingStream>());
    saving_.router.Find("/etcdserverpb.Maintenance/Snapshot")->stream(saves_.back());
    EXPECT_TRUE(Eventually([this] { return saves_.back()->waits(); }));
    return saves_.back();
  }
  // HashKV one after the other, until the test ends.
  void AskForHashes() {
    if (ends_) return;
    saving_.router.Find("/etcdserverpb.Maintenance/HashKV")
        ->unary(std::make_shared<rpc::CallContext>(), SharedBytes(),
                rpc::UnaryReply::ToFunction([this](const Result<ByteChain>& reply) {
                  EXPECT_TRUE(reply.has_value());
                  ++hashes_;
                  AskForHashes();
                }));
  }
  // The scene: `meanwhile` runs again and again until the map has grown twice.
  void GrowTwiceBesideHashes(const std::function<void()>& meanwhile) {
    AskForHashes();
    const std::uint64_t enough = 4 * MappedBytesOf(member_.database());
    const int most_puts = puts_ + static_cast<int>(enough / kLargeValueBytes);
    while (MappedBytesOf(member_.database()) < enough && puts_ < most_puts) {
      const int before = hashes_;
      ASSERT_NO_FATAL_FAILURE(PutLarge(10));
      meanwhile();
      ASSERT_TRUE(Eventually([&] { return hashes_ > before; })) << "HashKV waits for ever";
      ASSERT_NO_FATAL_FAILURE(Flush());
    }
    EXPECT_EQ(MappedBytesOf(member_.database()), enough);
  }
  // It holds everything that was written, so that it is larger than that.
  void ExpectSavedWhole() {
    const std::shared_ptr<SavingStream> save = Save();
    save->TakeAll();
    EXPECT_EQ(save->status()->code, Code::kOk) << save->status()->message;
    EXPECT_GT(save->bytes(), static_cast<std::uint64_t>(puts_) * kLargeValueBytes);
  }

  SavingMember saving_{kFirstMapBytes};
  ThreadedMember& member_ = saving_.member;
  std::vector<std::shared_ptr<SavingStream>> saves_;
  int puts_ = 0;
  std::atomic<int> hashes_ = 0;
  std::atomic<bool> ends_ = false;
};

TEST_F(MapGrowthTest, ASaveWhoseClientReadsNothingGivesWay) {
  const std::shared_ptr<SavingStream> save = Save();
  ASSERT_NO_FATAL_FAILURE(GrowTwiceBesideHashes([] {}));
  ASSERT_TRUE(Eventually([&] { return save->status().has_value(); }));
  EXPECT_EQ(*save->status(), mvcc::kReaderMustEnd.ToError());
  ExpectSavedWhole();
}

TEST_F(MapGrowthTest, ASaveWhoseClientReadsSlowlyGivesWay) {
  const std::shared_ptr<SavingStream> save = Save();
  ASSERT_NO_FATAL_FAILURE(GrowTwiceBesideHashes([&] {
    if (puts_ % 40 == 0) save->Take();
  }));
  ASSERT_TRUE(Eventually([&] { return save->status().has_value(); }));
  EXPECT_EQ(*save->status(), mvcc::kReaderMustEnd.ToError());
  ExpectSavedWhole();
}

// The client has what was made before: this one ends whole.
TEST_F(MapGrowthTest, ASaveThatHasReadAllIsNotTouched) {
  const std::shared_ptr<SavingStream> save = Save();
  ASSERT_TRUE(Eventually([&] {
    save->Take();
    return member_.readers() == 0;
  }));
  ASSERT_TRUE(Eventually([&] { return save->waits(); }));
  ASSERT_NO_FATAL_FAILURE(GrowTwiceBesideHashes([] {}));
  EXPECT_FALSE(save->status().has_value());
  save->TakeAll();
  EXPECT_EQ(save->status()->code, Code::kOk);
}

}  // namespace
}  // namespace kvorum::server
