// Records that no start could take: verify and adopt refuse them alike, with the bucket and the
// key.
#include "datadir/content_check.h"

#include <gmock/gmock.h>

#include <functional>

#include "bbolt/format.h"
#include "datadir/adopt.h"
#include "datadir/verify.h"
#include "tests/datadir/etcd_directory_on_disk.h"

namespace kvorum::datadir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ContentCheckTest : public EtcdDirectoryOnDisk {
 protected:
  // The words of both about a directory whose database has this content.
  struct Told {
    std::vector<std::string> verify;
    std::string adopt;
  };
  Told Tell(const bbolt::Content& content) {
    WriteDatabase(content);
    return TellOfDirectory();
  }
  Told TellOfDirectory() {
    Save();
    const auto found = Verify(PosixFileSystem(), dir_, "", std::chrono::seconds(1));
    EXPECT_TRUE(found.has_value()) << found.error().message;
    Told told{.verify = found.value_or(Verified{}).problems, .adopt = {}};
    const auto adopted =
        Adopt(fs_, {.data_dir = "/data", .open = Opener(fs_, mvcc::CommitSync::kByHand)});
    told.adopt = adopted.has_value() ? "adopted" : adopted.error().message;
    return told;
  }
  void ExpectRefused(const std::function<void(bbolt::Content&)>& spoil, const std::string& place,
                     const std::string& why) {
    SCOPED_TRACE(place + why);
    bbolt::Content content = EtcdContent();
    spoil(content);
    const Told told = Tell(content);
    EXPECT_THAT(told.verify, ElementsAre(AllOf(HasSubstr(place), HasSubstr(why))));
    EXPECT_THAT(told.adopt, AllOf(HasSubstr(place), HasSubstr(why)));
  }
  void ExpectRefused(const std::string& bucket, const std::string& key, const std::string& value,
                     const std::string& place, const std::string& why) {
    ExpectRefused([&](bbolt::Content& content) { content[bucket][key] = value; },
                  "bucket " + bucket + ", " + place, why);
  }
  static std::string KeyOf(mvcc::Revision revision, bool tombstone = false) {
    return std::string(mvcc::RevisionKey(revision, tombstone).view());
  }
  static std::string RecordOf(std::int64_t revision, std::int64_t created) {
    return mvcc::Encode({.key = "k",
                         .create_revision = created,
                         .mod_revision = revision,
                         .version = 1,
                         .value = "v"});
  }
};

TEST_F(ContentCheckTest, WhatEtcdWritesIsTaken) {
  bbolt::Content content = EtcdContent();
  content["key"][KeyOf({5, 0}, true)] = mvcc::Encode({.key = "k", .value = {}});
  content["key"][KeyOf({9, 0})] = "";  // etcdutl's --bump-revision
  content["meta"]["scheduledCompactRev"] = KeyOf({3, 0});
  content["meta"]["unknown"] = "of a later version";
  content["alarm"] = {{"\x08\x07\x10\x01", ""}};
  content["cluster"]["downgrade"] = R"({"target-version":"3.6.0","enabled":true})";
  content["authRoles"]["r"] = std::string(
      "\x0a\x01r\x12\x07\x08\x02\x12\x01"
      "a\x1a\x00",
      12);
  content["authUsers"]["u"] = std::string("\x0a\x01u\x12\x01h\x1a\x01r", 9);
  const Told told = Tell(content);
  EXPECT_THAT(told.verify, IsEmpty());
  EXPECT_EQ(told.adopt, "adopted");
}

TEST_F(ContentCheckTest, TheBucketOfKeys) {
  ExpectRefused("key", "nonsense", "", R"(key "nonsense")", "the key is not a revision");
  ExpectRefused("key", KeyOf({5, 0}) + "x", "", R"(key "\x00)", "the key is not a revision");
  ExpectRefused("key", KeyOf({5, 0}), "\xff", "revision 5_0", "not a key-value pair");
  ExpectRefused("key", KeyOf({5, 1}), RecordOf(6, 3), "revision 5_1", "a record of another one");
  ExpectRefused("key", KeyOf({5, 0}), RecordOf(5, 6), "revision 5_0", "impossible revisions");
  ExpectRefused("key", KeyOf({0, 0}), RecordOf(0, 0), "revision 0_0", "no store writes");
  ExpectRefused("key", KeyOf({4, 0}, true), RecordOf(4, 4), "revision 4_0t", "twice");
}

TEST_F(ContentCheckTest, TheBucketOfMeta) {
  ExpectRefused("meta", "consistent_index", "\x09", R"(key "consistent_index")", "8-byte number");
  ExpectRefused("meta", "term", "123456789", R"(key "term")", "8-byte number");
  ExpectRefused("meta", "confState", "{\"voters\":7}", R"(key "confState")", "");
  ExpectRefused("meta", "storageVersion", "three", R"(key "storageVersion")", "not a version");
  ExpectRefused("meta", "finishedCompactRev", "7", R"(key "finishedCompactRev")", "not a revision");
}

TEST_F(ContentCheckTest, LeasesAndAlarms) {
  ExpectRefused("lease", BigEndian(8), "\xff", R"(key "\x00\x00\x00\x00\x00\x00\x00\b")",
                "malformed");
  ExpectRefused("lease", BigEndian(8), "\x08\x09\x10\x3c", "key ", "it holds lease 9");
  ExpectRefused("lease", "8", "\x08\x08\x10\x3c", R"(key "8")", "it holds lease 8");
  ExpectRefused("alarm", "\xff", "", R"(key "\xff")", "malformed");
}

TEST_F(ContentCheckTest, Members) {
  const std::string json = server::EncodeMemberJson(
      {.id = raft::MemberId{2}, .peer_urls = {"http://h:1"}, .name = {}, .client_urls = {}});
  ExpectRefused("members", "1", "{", R"(key "1")", "");
  ExpectRefused("members", "1", json, R"(key "1")", "it holds member 2");
  ExpectRefused("members", "no id", json, R"(key "no id")", "not a member ID");
  ExpectRefused("members_removed", "no id", "removed", R"(key "no id")", "not a member ID");
  ExpectRefused("cluster", "clusterVersion", "three", R"(key "clusterVersion")", "not a version");
  ExpectRefused("cluster", "downgrade", "{", R"(key "downgrade")", "");
}

TEST_F(ContentCheckTest, UsersAndRoles) {
  ExpectRefused("auth", "authEnabled", "yes", R"(key "authEnabled")", "malformed");
  ExpectRefused("auth", "authRevision", "1", R"(key "authRevision")", "malformed");
  ExpectRefused("auth", "unknown", "1", R"(key "unknown")", "unknown");
  ExpectRefused("authUsers", "u", "\xff", R"(key "u")", "malformed");
  ExpectRefused("authUsers", "u", "\x0a\x01v", R"(key "u")", "under another's name");
  ExpectRefused("authRoles", "r", "\xff", R"(key "r")", "malformed");
  ExpectRefused("authRoles", "r", "\x0a\x01s", R"(key "r")", "under another's name");
  ExpectRefused(
      [](bbolt::Content& content) {
        content["auth"].erase("authRevision");
        content["authUsers"]["u"] = "\x0a\x01u";
      },
      "contradict each other", "there is no revision");
}

// An empty one, as bbolt keeps small ones: where it has no separate page. The hash takes it for a
// key without a value.
TEST_F(ContentCheckTest, ABucketWithinABucket) {
  bbolt::Content content = EtcdContent();
  std::string empty(2 * bbolt::kHeaderBytes, '\0');
  empty[bbolt::kHeaderBytes + 8] = static_cast<char>(bbolt::kLeafFlag);
  // There are enough leases for pages of their own: an inline bucket holds no other.
  for (char id = 1; id <= 100; ++id)
    content["lease"][std::string(7, '\0') + id] = {'\x08', id, '\x10', '\x0a'};
  content["lease"]["nested"] = empty;
  std::string image = bbolt::ImageOf(content).value();
  const std::size_t key = image.find("nested");
  const auto number = [&](std::size_t at) { return bbolt::Load<std::uint32_t>(image, at); };
  // The element that refers to it: flags, the distance to the key, the sizes.
  std::size_t element = key - bbolt::kElementBytes;
  while (number(element + 4) != key - element || number(element + 8) != 6) --element;
  image[element] = 1;
  WriteFile(layout_.database, image);
  const Told told = TellOfDirectory();
  EXPECT_THAT(told.verify, ElementsAre(HasSubstr(R"(bucket lease, key "nested": it is a bucket)")));
  EXPECT_THAT(told.adopt, HasSubstr(R"(bucket lease, key "nested": it is a bucket)"));
}

TEST_F(ContentCheckTest, ABucketThatEveryMemberHas) {
  for (const char* name : {"key", "meta"})
    ExpectRefused([&](bbolt::Content& content) { content.erase(name); }, "not an etcd database",
                  "");
}

}  // namespace
}  // namespace kvorum::datadir
