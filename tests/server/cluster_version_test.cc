// The leader's decision from the members' versions.
#include "server/replica/cluster_version.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace kvorum::server {
namespace {

using Servers = std::vector<std::optional<std::string>>;

std::string Decided(std::string_view current, const Servers& servers) {
  return DecideClusterVersion(current, servers).value_or("stays");
}

TEST(VersionTest, IsReadAsTheMembersWriteIt) {
  EXPECT_EQ(Version::Parse("3.7.1"), (Version{.major = 3, .minor = 7, .patch = 1}));
  EXPECT_EQ(Version::Parse("3.8.0-alpha.0"), (Version{.major = 3, .minor = 8, .patch = 0}));
  for (const char* text : {"", "3", "3.7", "3.7.", "3.7.1.2", "a.b.c", "not_decided", "-3.7.1"}) {
    EXPECT_EQ(Version::Parse(text), std::nullopt) << text;
  }
  EXPECT_LT(*Version::Parse("3.7.9"), *Version::Parse("3.10.0"));
  EXPECT_EQ(kOwnClusterVersion.text(), "3.7.0");
}

TEST(ClusterVersionTest, IsTheLeastOfTheMembersVersions) {
  EXPECT_EQ(Decided("", {"3.7.1"}), "3.7.0");
  EXPECT_EQ(Decided("", {"3.7.1", "3.7.1", "3.7.2"}), "3.7.0");
  EXPECT_EQ(Decided("", {"3.7.1", "3.6.4", "3.8.0"}), "3.6.0");
}

TEST(ClusterVersionTest, IsProposedOnlyWhenItRises) {
  EXPECT_EQ(Decided("3.7.0", {"3.7.1", "3.7.1"}), "stays");
  EXPECT_EQ(Decided("3.6.0", {"3.7.1", "3.7.1"}), "3.7.0");
  EXPECT_EQ(Decided("3.7.0", {"3.7.1", "3.6.1"}), "stays") << "it never falls";
}

TEST(ClusterVersionTest, IsTheLowestWhileAMemberIsUnknown) {
  EXPECT_EQ(Decided("", {"3.7.1", std::nullopt}), "3.0.0");
  EXPECT_EQ(Decided("", {"3.7.1", "nonsense"}), "3.0.0");
  EXPECT_EQ(Decided("3.0.0", {"3.7.1", std::nullopt}), "stays");
  EXPECT_EQ(Decided("3.0.0", {"3.7.1", "3.7.1"}), "3.7.0");
}

}  // namespace
}  // namespace kvorum::server
