// The files that a power cut leaves of a store, opened as a restart would: those of the backend's
// twin in memory, or, where KVORUM_MIRRORED_LMDB is defined, those that LMDB itself writes.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "tests/disk/memory_backend.h"
#include "tests/mvcc/store_fixture.h"
#ifdef KVORUM_MIRRORED_LMDB
#include "tests/disk/mirrored_calls.h"
#endif

namespace kvorum::mvcc {

#ifdef KVORUM_MIRRORED_LMDB

class CrashImages {
 public:
  static constexpr StoreHarness::Kind kKind = StoreHarness::Kind::kLmdb;

  // The store's files are on harness.files from Begin on, which creates it anew, empty.
  explicit CrashImages(StoreHarness& harness) : harness_(harness) {}
  ~CrashImages() {
    harness_.store.reset();
    mirrored_.reset();
    std::filesystem::remove_all(scratch());
  }
  CrashImages(const CrashImages&) = delete;
  CrashImages& operator=(const CrashImages&) = delete;

  void Begin() {
    harness_.store.reset();
    std::filesystem::remove_all(folder());
    std::filesystem::create_directory(folder());
    mirrored_.emplace(harness_.files, folder());
    harness_.Reopen();
  }
  // Opens an image of harness.files. LMDB's lock file holds nothing between runs.
  Result<std::unique_ptr<Backend>> Open(SimFileSystem& image, const std::string& name) {
    std::filesystem::remove_all(scratch());
    std::filesystem::create_directory(scratch());
    KV_TRY(const auto names, image.List(folder()));
    for (const std::string& each : names) {
      KV_TRY(const std::string content,
             ReadWholeFile(image, folder() + "/" + each, std::uint64_t{1} << 30));
      std::ofstream(scratch() + "/" + each, std::ios::binary) << content;
    }
    return OpenLmdbBackend(
        {.path = scratch() + "/" + name, .map_size_bytes = std::uint64_t{1} << 30});
  }

 private:
  std::string folder() const {
    return std::filesystem::path(harness_.DatabasePath()).parent_path().string();
  }
  std::string scratch() const { return folder() + ".image"; }

  StoreHarness& harness_;
  std::optional<MirroredCalls> mirrored_;
};

#else

class CrashImages {
 public:
  static constexpr StoreHarness::Kind kKind = StoreHarness::Kind::kMemory;

  explicit CrashImages(StoreHarness& harness) : harness_(harness) {}
  void Begin() { harness_.Reopen(); }
  static Result<std::unique_ptr<Backend>> Open(SimFileSystem& image, const std::string& name) {
    return OpenMemoryBackend(image, "/data/" + name);
  }

 private:
  StoreHarness& harness_;
};

#endif

}  // namespace kvorum::mvcc
