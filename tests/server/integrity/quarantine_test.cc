// A member that is kept from serving: the file that keeps it so, and the calls that are refused.
#include "server/call/quarantine.h"

#include <gtest/gtest.h>

#include "base/log/logging.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

class QuarantineTest : public testing::Test {
 protected:
  QuarantineTest() {
    SetLogLevel(LogLevel::kFatal);
    EXPECT_TRUE(files_.MakeDirectories("/data").has_value());
    EXPECT_TRUE(files_.SyncDirectory("/").has_value());
  }

  SimFileSystem files_;
  Quarantine quarantine_{files_, "/data/quarantined"};
};

TEST_F(QuarantineTest, StandsAcrossRestartsUntilItEnds) {
  EXPECT_TRUE(quarantine_.Load().has_value());
  EXPECT_FALSE(quarantine_.stands());
  quarantine_.Begin("a reason");
  EXPECT_TRUE(quarantine_.stands());
  quarantine_.Begin("another one");

  Quarantine restarted(files_, "/data/quarantined");
  EXPECT_TRUE(restarted.Load().has_value());
  EXPECT_TRUE(restarted.stands());
  restarted.End();
  EXPECT_FALSE(restarted.stands());

  Quarantine later(files_, "/data/quarantined");
  EXPECT_TRUE(later.Load().has_value());
  EXPECT_FALSE(later.stands());
}

TEST_F(QuarantineTest, StandsWithoutItsFileToo) {
  Quarantine nowhere(files_, "/missing/quarantined");
  nowhere.Begin("a reason");
  EXPECT_TRUE(nowhere.stands());
}

}  // namespace
}  // namespace kvorum::server
