#include "server/replica/upkeep/disk_space.h"

#include <gtest/gtest.h>

#include "tests/disk/sim_file_system.h"
#include "tests/server/replica/mebibyte.h"

namespace kvorum::server {
namespace {

TEST(DiskSpaceTest, WhatWaitsMayCostTwiceItsSizeAndMoreMustStayFree) {
  SimFileSystem fs;
  fs.SetCapacity(26 * kMiB);
  DiskSpace space(fs, "/");
  EXPECT_TRUE(space.TakesBackendBytes(0));
  EXPECT_TRUE(space.TakesBackendBytes(5 * kMiB));
  EXPECT_FALSE(space.TakesBackendBytes(5 * kMiB + 1));
}

TEST(DiskSpaceTest, ItIsLookedAtAgainBeforeAWriteIsRefusedAndNotBeforeItIsTaken) {
  SimFileSystem fs;
  fs.SetCapacity(15 * kMiB);
  DiskSpace space(fs, "/");
  EXPECT_FALSE(space.TakesBackendBytes(0));
  fs.SetCapacity(16 * kMiB);
  EXPECT_TRUE(space.TakesBackendBytes(0));
  fs.SetCapacity(15 * kMiB);
  EXPECT_TRUE(space.TakesBackendBytes(0)) << "as of the last look";
  space.Refresh();
  EXPECT_FALSE(space.TakesBackendBytes(0));
}

TEST(DiskSpaceTest, ADiskThatCannotTellLimitsNothing) {
  DiskSpace space(PosixFileSystem(), "/no/such/folder");
  EXPECT_TRUE(space.TakesBackendBytes(std::uint64_t{1} << 40));
}

}  // namespace
}  // namespace kvorum::server
