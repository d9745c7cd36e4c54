// The entries of a log that decide which older etcd may read it.
#include "datadir/migration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tests/wal/log_fixture.h"

namespace kvorum::datadir {
namespace {

using raft::Index;

class NeededByLogTest : public wal::LogFixture {
 protected:
  // Entries 1 to 60 over many segments, committed up to one. The tenth needs an etcd of `version`
  // (InternalRaftRequest.downgrade_version_test), the others none after 3.5.
  void WriteWithTenth(const std::string& version, Index committed = 60) {
    const std::string test = "\x0a" + std::string(1, static_cast<char>(version.size())) + version;
    const std::string request = "\xe2\xea\x04" +  // field 9900
                                std::string(1, static_cast<char>(test.size())) + test;
    const std::string put = "\x22\xac\x02" + std::string(300, 'p');  // field 4
    Create();
    for (Index index = 1; index <= 60; ++index) {
      AppendAndSync({wal::MakeEntry(index, 1, index == 10 ? request : put)},
                    {.term = 1, .vote = 1, .commit = std::min(index, committed)});
    }
  }
  std::string Needed() {
    const auto needed = NeededByLog(fs_, wal::kDir);
    if (!needed.has_value()) return needed.error().message;
    return needed->has_value() ? (*needed)->text() : "none";
  }
};

TEST_F(NeededByLogTest, IsWhatAnEntryAsksFor) {
  WriteWithTenth("3.7.0");
  EXPECT_EQ(Needed(), "3.7.0");
}

// A start applies nothing before the snapshot.
TEST_F(NeededByLogTest, IsNotAskedForByEntriesBeforeTheNewestSnapshot) {
  WriteWithTenth("3.7.0");
  ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(9, 1)));
  EXPECT_EQ(Needed(), "3.7.0");
  ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(10, 1)));
  EXPECT_EQ(Needed(), "none");
  // Nor need they be there.
  ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(50, 1)));
  writer_->ReleaseTo(50);
  ASSERT_GT(writer_->Purge(1).value(), 0U);
  EXPECT_EQ(Needed(), "none");
}

// A crash between a snapshot's marker and the state that commits it leaves one that no start uses.
TEST_F(NeededByLogTest, IsAskedForBeforeASnapshotThatIsNotCommitted) {
  WriteWithTenth("3.6.0", 9);
  ASSERT_OK(writer_->SaveSnapshot(wal::MakeMarker(20, 1)));
  EXPECT_EQ(Needed(), "3.6.0");
}

}  // namespace
}  // namespace kvorum::datadir
