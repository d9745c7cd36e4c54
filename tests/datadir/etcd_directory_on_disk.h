// A stopped etcd member's directory on a real disk, where our database is LMDB's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "datadir/adopt.h"
#include "mvcc/lmdb/backend.h"
#include "tests/datadir/etcd_directory.h"

namespace kvorum::datadir {

class EtcdDirectoryOnDisk : public EtcdDirectory {
 protected:
  void SetUp() override {
    EtcdDirectory::SetUp();
    std::string name = testing::TempDir() + "kvorum-directory-XXXXXX";
    dir_ = mkdtemp(name.data());
    Save();
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // Writes the simulated disk's directory to the real one.
  void Save() {
    std::filesystem::remove_all(dir_);
    for (const std::string& folder : {layout_.wal, layout_.snap}) {
      std::filesystem::create_directories(OnDisk(folder));
      const auto names = fs_.List(folder);
      ASSERT_OK(names);
      for (const std::string& name : *names) {
        const auto bytes = ReadWholeFile(fs_, folder + "/" + name, std::uint64_t{1} << 30);
        ASSERT_OK(bytes);
        std::ofstream(OnDisk(folder + "/" + name), std::ios::binary) << *bytes;
      }
    }
  }
  std::string OnDisk(const std::string& path) const {
    return dir_ + path.substr(layout_.root.size());
  }
  void AdoptIt() {
    ASSERT_OK(
        Adopt(PosixFileSystem(), {.data_dir = dir_, .open = [](const std::string& path) {
                                    return mvcc::OpenLmdbBackend(
                                        {.path = path, .map_size_bytes = std::uint64_t{1} << 30});
                                  }}));
  }

  std::string dir_;
};

}  // namespace kvorum::datadir
