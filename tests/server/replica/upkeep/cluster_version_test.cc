// The leader's decision from the members' versions.
#include "server/replica/upkeep/cluster_version.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "api/storage_version.h"
#include "base/api_errors.h"

namespace kvorum::server {
namespace {

using Servers = std::vector<std::optional<std::string>>;

std::string Decided(std::string_view current, const Servers& servers) {
  return DecideClusterVersion(current, {}, servers).value_or("stays");
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

TEST(ClusterVersionTest, FallsToTheTargetOfADowngrade) {
  const auto decided = [](std::string_view current, const char* target, const Servers& servers) {
    return DecideClusterVersion(current, {.enabled = true, .target_version = target}, servers)
        .value_or("stays");
  };
  EXPECT_EQ(decided("3.7.0", "3.6.0", {"3.7.1", "3.7.2"}), "3.6.0");
  EXPECT_EQ(decided("3.6.0", "3.6.0", {"3.7.1", "3.6.4"}), "stays") << "it is reached";
  EXPECT_EQ(decided("3.7.0", "3.5.0", {"3.7.1"}), "stays") << "two versions at once";
  EXPECT_EQ(decided("3.7.0", "3.6.0", {"3.7.1", "3.6.4"}), "stays") << "a member is there already";
  EXPECT_EQ(decided("3.7.0", "3.6.0", {"3.7.1", std::nullopt}), "stays");
  EXPECT_EQ(decided("3.7.0", "nonsense", {"3.7.1"}), "stays");
  EXPECT_EQ(Decided("3.6.0", {"3.7.1"}), "3.7.0") << "it rises again once that is taken back";
}

TEST(ClusterVersionTest, TargetsAreReadAsGoReadsVersions) {
  for (const char* text : {"3.6", "3.6.0", "3.6.9", "3.6.0-rc.1", "3.6.0+b-1", "3.6.0-", "03.6.0",
                           "3.6.0-a+b.c", "3.6.99999999999"}) {
    const auto target = ParseDowngradeTarget(text);
    ASSERT_TRUE(target.has_value()) << text;
    EXPECT_EQ(target->text(), "3.6.0") << text;
  }
  for (const char* text : {"", "3", "3.", "3.6.", "3.6.0.1", "v3.6", "3.x", "3.6.0-a..b", "3.6-rc",
                           "+3.6.0", "3.6.0-a_b", " 3.6", "3.99999999999999999999.0"}) {
    const auto target = ParseDowngradeTarget(text);
    ASSERT_FALSE(target.has_value()) << text;
    EXPECT_EQ(target.error(), kErrWrongDowngradeVersionFormat.ToError());
  }
}

TEST(ClusterVersionTest, TheStoragesVersionFollowsTheClusters) {
  EXPECT_EQ(StorageVersionIn(""), "3.7.0");
  EXPECT_EQ(StorageVersionIn("3.0.0"), "3.7.0") << "not all members are known yet";
  EXPECT_EQ(StorageVersionIn("3.6.0"), "3.6.0");
  EXPECT_EQ(StorageVersionIn("3.7.0"), "3.7.0");
}

TEST(ClusterVersionTest, AnImageStatesTheVersionThatItsReadersKnow) {
  EXPECT_EQ(ImageStorageVersion("3.7.0"), "3.7.0");
  EXPECT_EQ(ImageStorageVersion("3.6.0"), "3.6.0");
  EXPECT_EQ(ImageStorageVersion("3.5.0"), "") << "such members know of no storage version";
  EXPECT_EQ(ImageStorageVersion("3.0.0"), std::nullopt) << "nothing is decided yet";
  EXPECT_EQ(ImageStorageVersion(""), std::nullopt);
  EXPECT_TRUE(IsReadableStorage(""));
  EXPECT_TRUE(IsReadableStorage("3.6.0"));
  EXPECT_TRUE(IsReadableStorage("3.7.0"));
  for (const char* version : {"3.8.0", "4.0.0", "3.5.0", "x"})
    EXPECT_FALSE(IsReadableStorage(version)) << version;
}

}  // namespace
}  // namespace kvorum::server
