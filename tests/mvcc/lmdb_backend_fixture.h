// The LMDB backend in a folder that goes with it, and its file as bytes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "mvcc/lmdb/backend.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

inline void WriteFile(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

inline std::string ValueOf(std::int64_t main) {
  return "value " + std::to_string(main) + std::string(static_cast<std::size_t>(main % 300), '.');
}

class LmdbBackendTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Backend>> Open() { return world_.Open(); }
  std::unique_ptr<Backend> MustOpen() {
    auto opened = Open();
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return *std::move(opened);
  }
  // Revisions 2 to last in several commits, some deleted again, so that there are free pages, inner
  // pages and values on separate pages.
  Content MakeDatabase(std::int64_t last) {
    auto backend = MustOpen();
    for (std::int64_t main = 2; main <= last;) {
      OwnedBatch batch;
      for (int i = 0; i < 25 && main <= last; ++i, ++main) batch.Append({main, 0}, ValueOf(main));
      batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, "12345678");
      Commit(*backend, batch);
    }
    OwnedBatch large;
    large.Append({last + 1, 0}, std::string(9000, 'L'));
    for (std::int64_t main = 2; main < last; main += 3) large.Delete({main, 0});
    Commit(*backend, large);
    Commit(*backend, OwnedBatch().Put(Bucket::kAuth, "authRevision", "1"));
    return ContentOf(*backend);
  }
  // The file is refused with a text and unchanged.
  void ExpectRefused(std::string_view text) {
    const std::string before = ReadFile(world_.path);
    const auto opened = Open();
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kDataLoss);
    EXPECT_THAT(opened.error().message, testing::HasSubstr(world_.path));
    EXPECT_THAT(opened.error().message, testing::HasSubstr(std::string(text)));
    EXPECT_EQ(ReadFile(world_.path), before);
  }

  LmdbWorld world_;
};

}  // namespace kvorum::mvcc
