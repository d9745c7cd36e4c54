#include "server/replica/drive/bounded_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/manual_clock.h"
#include "tests/server/replica/mebibyte.h"

namespace kvorum::server {
namespace {

// Without end.
class EndlessSource final : public mvcc::SnapshotSource {
 public:
  explicit EndlessSource(bool& lives) : lives_(lives) { lives_ = true; }
  ~EndlessSource() override { lives_ = false; }
  Result<SharedBytes> Next() override { return SharedBytes::Static("chunk"); }

 private:
  bool& lives_;
};

class BoundedSourceTest : public ::testing::Test {
 protected:
  void ExpectGivenUp() {
    for (int i = 0; i < 2; ++i) {
      const auto chunk = source_.Next();
      ASSERT_FALSE(chunk.has_value());
      EXPECT_EQ(chunk.error().code, Code::kUnavailable);
      EXPECT_EQ(source_.Prepare().error().code, Code::kUnavailable);
      EXPECT_EQ(source_.Look().error().code, Code::kUnavailable);
    }
    EXPECT_FALSE(reader_lives_) << "its pages may be used again";
  }

  ManualClock clock_;
  std::uint64_t file_bytes_ = 500 * kMiB;
  bool has_space_ = true;
  bool reader_lives_ = false;
  BoundedSource source_{std::make_unique<EndlessSource>(reader_lives_),
                        {.file_bytes = [this] { return file_bytes_; },
                         .has_space = [this] { return has_space_; },
                         .in_use_bytes = 400 * kMiB},
                        clock_,
                        {.grace = std::chrono::minutes(1),
                         .bytes_per_second = 10 * kMiB,
                         .growth_bytes = 100 * kMiB}};
};

TEST_F(BoundedSourceTest, AFollowerThatTakesLongerThanTheSizeAsksForIsGivenUp) {
  clock_.Advance(std::chrono::seconds(100));
  EXPECT_TRUE(source_.Next().has_value()) << "a minute, and 40 s for its size";
  clock_.Advance(std::chrono::seconds(1));
  ExpectGivenUp();
}

TEST_F(BoundedSourceTest, OneThatIsOnlyLookedAtIsGivenUpAsWell) {
  EXPECT_TRUE(source_.Look().has_value());
  clock_.Advance(std::chrono::seconds(101));
  EXPECT_FALSE(source_.Look().has_value());
  EXPECT_FALSE(reader_lives_);
}

TEST(BoundedSourceLimits, AreHalfOfTheRateThatATransferIsHeldToIfThatIsLess) {
  const BoundedSource::Limits limits{.bytes_per_second = 10 * kMiB};
  EXPECT_EQ(limits.HeldTo(0).bytes_per_second, 10 * kMiB);
  EXPECT_EQ(limits.HeldTo(100 * kMiB).bytes_per_second, 10 * kMiB);
  EXPECT_EQ(limits.HeldTo(6 * kMiB).bytes_per_second, 3 * kMiB);
  EXPECT_EQ(limits.HeldTo(1).bytes_per_second, 1U);
  EXPECT_EQ(limits.HeldTo(6 * kMiB).grace, limits.grace);
}

TEST_F(BoundedSourceTest, OneThatTakesTooLongToPrepareIsGivenUp) {
  EXPECT_TRUE(source_.Prepare().value());
  clock_.Advance(std::chrono::seconds(101));
  EXPECT_EQ(source_.Prepare().error().code, Code::kUnavailable);
  ExpectGivenUp();
}

TEST_F(BoundedSourceTest, TheFileMayGrowByHalfOfWhatItHolds) {
  file_bytes_ += 200 * kMiB;
  EXPECT_TRUE(source_.Next().has_value());
  file_bytes_ += 1;
  ExpectGivenUp();
}

TEST_F(BoundedSourceTest, ADiskThatIsNearlyFullNeedsThePages) {
  EXPECT_TRUE(source_.Next().has_value());
  has_space_ = false;
  ExpectGivenUp();
  has_space_ = true;
  ExpectGivenUp();
}

}  // namespace
}  // namespace kvorum::server
