// The memory that a process may use, according to the system's files.
#include "server/process/machine/machine_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/replica/mebibyte.h"

namespace kvorum::server {
namespace {

class MachineMemoryTest : public testing::Test {
 protected:
  // Tests run side by side, each in a separate process.
  MachineMemoryTest() {
    std::string pattern = testing::TempDir() + "/machine_memory_test.XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  ~MachineMemoryTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::uint64_t Limit() const { return MemoryLimitBytes(root_.string()); }

  std::filesystem::path root_;
};

TEST_F(MachineMemoryTest, WithoutAControlGroupItIsTheMachines) {
  const std::uint64_t machine = Limit();
  EXPECT_GT(machine, 16 * kMiB);
  Write("/proc/self/cgroup", "0::/user.slice");
  Write("/sys/fs/cgroup/user.slice/memory.max", "max");
  EXPECT_EQ(Limit(), machine);
  Write("/sys/fs/cgroup/user.slice/memory.max", "99999999999999999999");
  EXPECT_EQ(Limit(), machine) << "a number that is none";
}

TEST_F(MachineMemoryTest, TheLeastOfTheGroupAndThoseAroundItCounts) {
  Write("/proc/self/cgroup", "0::/a/b");
  Write("/sys/fs/cgroup/a/b/memory.max", "12582912");
  EXPECT_EQ(Limit(), 12 * kMiB);
  Write("/sys/fs/cgroup/a/memory.max", "8388608");
  EXPECT_EQ(Limit(), 8 * kMiB);
  // A container sees its own group as the root.
  Write("/proc/self/cgroup", "0::/");
  Write("/sys/fs/cgroup/memory.max", "4194304");
  EXPECT_EQ(Limit(), 4 * kMiB);
}

TEST_F(MachineMemoryTest, VersionOneIsAskedAtTheMemoryController) {
  Write("/proc/self/cgroup", "5:cpu,memoryless:/x\n4:blkio,memory:/x");
  Write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5242880");
  EXPECT_EQ(Limit(), 5 * kMiB);
}

TEST_F(MachineMemoryTest, AnswersGetAnEighthWithinBounds) {
  EXPECT_EQ(DefaultAnswerMemoryBytes(16 * kMiB), 64 * kMiB);
  EXPECT_EQ(DefaultAnswerMemoryBytes(1024 * kMiB), 128 * kMiB);
  EXPECT_EQ(DefaultAnswerMemoryBytes(1024 * 1024 * kMiB), 1024 * kMiB);
}

}  // namespace
}  // namespace kvorum::server
