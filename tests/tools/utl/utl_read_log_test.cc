// The log of a member that runs, and purges it while kvorumutl reads it.
#include "tools/utl/utl_read_log.h"

#include <gtest/gtest.h>

#include "tests/wal/listed_file_system.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::utl {
namespace {

using raft::Index;

class UtlReadLogTest : public wal::LogFixture {
 protected:
  void SetUp() override {
    LogFixture::SetUp();
    Create();
    for (Index next = 1; next <= 100; ++next) {
      AppendAndSync(wal::MakeEntries(next, 1, 1, 300), {.term = 1, .vote = 1, .commit = next});
      if (next == 25U) ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(20, 1)));
    }
  }
  void MarkAndPurge(Index released) {
    ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(released, 1)));
    writer_->ReleaseTo(released);
    ASSERT_GT(writer_->Purge(1).value(), 0U);
  }
  // The next listing is that of the markers. The one behind it is of the log's reading, which then
  // finds the marker's segments gone.
  void PurgeWhenTheMarkersAreKnown(Index released) {
    listed_.AfterNextList([this, released] {
      listed_.AfterNextList([this, released] {
        MarkAndPurge(released);
        ++purges_;
      });
    });
  }

  wal::ListedFileSystem listed_{fs_};
  int purges_ = 0;
};

TEST_F(UtlReadLogTest, ALogThatNobodyPurgesIsReadFromItsFirstMarker) {
  const auto log = ReadLog(listed_, wal::kDir);
  ASSERT_OK(log);
  EXPECT_EQ(log->previous_index, 0U);
  EXPECT_EQ(log->entries, wal::MakeEntries(1, 100, 1, 300));
}

TEST_F(UtlReadLogTest, OneThatIsPurgedMeanwhileIsReadFromTheMarkerThatCameMeanwhile) {
  PurgeWhenTheMarkersAreKnown(60);
  const auto log = ReadLog(listed_, wal::kDir);
  EXPECT_EQ(purges_, 1);
  ASSERT_OK(log);
  EXPECT_EQ(log->previous_index, 60U);
  EXPECT_EQ(log->entries, wal::MakeEntries(61, 40, 1, 300));
}

// It was written late, behind the entries that stay.
TEST_F(UtlReadLogTest, AMarkerWhoseEntriesAreGoneIsPassedOver) {
  ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(30, 1)));
  MarkAndPurge(70);
  const auto log = ReadLog(listed_, wal::kDir);
  ASSERT_OK(log);
  EXPECT_EQ(log->previous_index, 70U);
  EXPECT_EQ(log->entries, wal::MakeEntries(71, 30, 1, 300));
}

}  // namespace
}  // namespace kvorum::utl
