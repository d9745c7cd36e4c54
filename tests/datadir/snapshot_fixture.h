// A folder of this test's own with a snapshot in it: etcd's file with a few records in each bucket
// and its SHA-256 behind it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bbolt/meta.h"
#include "datadir/snapshot_checksum.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/revision.h"
#include "tests/bbolt/image.h"

namespace kvorum::datadir {

inline std::string RevisionText(mvcc::Revision revision, bool tombstone = false) {
  return std::string(mvcc::RevisionKey(revision, tombstone).view());
}

inline std::string KeyValueText(std::string_view key, std::int64_t main, std::string_view value) {
  return mvcc::Encode({.key = key,
                       .create_revision = main,
                       .mod_revision = main,
                       .version = 1,
                       .value = value,
                       .lease = 0});
}

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    std::string name = testing::TempDir() + "kvorum-snapshot-XXXXXX";
    dir_ = mkdtemp(name.data());
  }
  ~SnapshotTest() override { std::filesystem::remove_all(dir_); }

  // Keys a, b and c at the revisions 2 to 4; b is deleted at 5.
  static bbolt::Content SomeContent() {
    bbolt::Content content;
    for (const char* bucket : {"alarm", "auth", "authRoles", "authUsers", "cluster", "key", "lease",
                               "members", "members_removed", "meta"})
      content[bucket];
    content["key"] = {{RevisionText({2, 0}), KeyValueText("a", 2, "1")},
                      {RevisionText({3, 0}), KeyValueText("b", 3, "2")},
                      {RevisionText({4, 0}), KeyValueText("c", 4, "3")},
                      {RevisionText({5, 0}, true),
                       "\x0a\x01"
                       "b"}};
    content["members"] = {{"11", R"({"id":17,"peerURLs":["http://old:1"]})"}};
    content["members_removed"] = {{"12", "removed"}};
    content["meta"] = {{"consistent_index", std::string("\0\0\0\0\0\0\1\0", 8)},
                       {"storageVersion", "3.7.0"}};
    content["cluster"] = {{"clusterVersion", "3.7.0"}};
    return content;
  }

  std::string WriteBytes(const std::string& name, const std::string& bytes) const {
    std::ofstream(dir_ + "/" + name, std::ios::binary) << bytes;
    return dir_ + "/" + name;
  }
  static std::string Image(const bbolt::Content& content) {
    return bbolt::ImageOf(content).value();
  }
  // The root's page is in the freelist, too: a walk over the content alone notices nothing.
  static std::string WithRootInFreelist(std::string image) {
    const bbolt::Meta meta = *bbolt::DecodeMetaPage(1, std::string_view(image).substr(4096, 4096));
    image[(meta.freelist * 4096) + 10] = 1;  // the freelist's count, then its one id
    image[(meta.freelist * 4096) + 16] = static_cast<char>(meta.root);
    return image;
  }
  static std::string WithHash(const std::string& image) {
    Sha256 hash;
    hash.Add(image);
    return image + hash.Finish();
  }

  std::string dir_;
};

}  // namespace kvorum::datadir
