#include "api/member_id.h"

#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

// The ids that etcd shows for a node started without flags.
TEST(MemberIdTest, IsTheOneThatEtcdComputes) {
  const raft::MemberId id =
      ComputeMemberId({"http://localhost:2380"}, "etcd-cluster", std::nullopt);
  EXPECT_EQ(id, 0x8e9e05c52164694d);
  EXPECT_EQ(ComputeClusterId({id}), 0xcdf818194e3a8c32);
}

// The first is from etcd's own tests; the others are SHA-1 by another program.
TEST(MemberIdTest, IsOfTheSortedUrlsTheTokenAndTheTime) {
  EXPECT_EQ(ComputeMemberId({"http://10.0.0.8:2379"}, "", std::nullopt), 14544069596553697298U);
  EXPECT_EQ(ComputeMemberId({"http://a:1", "http://b:2"}, "etcd-cluster", std::nullopt),
            0xc55bfd70e5c677de);
  EXPECT_EQ(ComputeMemberId({"http://b:2", "http://a:1"}, "etcd-cluster", std::nullopt),
            0xc55bfd70e5c677de);
  EXPECT_EQ(ComputeMemberId({"http://a:1", "http://b:2"}, "other", std::nullopt),
            0xff6c2c4e49f3f9af);
  EXPECT_EQ(ComputeMemberId({"http://a:1", "http://b:2"}, "etcd-cluster", 1'424'768'400),
            0xfc80e9cb4aa1d6ec);
}

TEST(MemberIdTest, AClustersIdIsOfItsMembersInAnyOrder) {
  EXPECT_EQ(ComputeClusterId({1, 2, 3}), 0x70b9aefc37c00c85);
  EXPECT_EQ(ComputeClusterId({3, 1, 2}), 0x70b9aefc37c00c85);
}

TEST(MemberIdTest, IsShownInHexWithoutPadding) {
  EXPECT_EQ(IdText(raft::MemberId{}), "0");
  EXPECT_EQ(IdText(raft::MemberId{0xabc}), "abc");
  EXPECT_EQ(IdText(0x8e9e05c52164694d), "8e9e05c52164694d");
  EXPECT_EQ(IdText(~std::uint64_t{0}), "ffffffffffffffff");
}

TEST(MemberIdTest, IsReadFromTheWholeTextOnly) {
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{0xabc}, ~std::uint64_t{0}})
    EXPECT_EQ(ParseIdText(IdText(id)), id);
  for (const char* text :
       {"", "12xyz", "xyz", " 12", "12 ", "-1", "+1", "0x12", "1ffffffffffffffff"})
    EXPECT_EQ(ParseIdText(text), std::nullopt) << text;
}

}  // namespace
}  // namespace kvorum::server
