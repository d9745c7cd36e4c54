#include "server/call/client_versions.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kvorum::server {
namespace {

std::map<std::string, std::uint64_t> Counts(const ClientVersions& versions) {
  std::map<std::string, std::uint64_t> counts;
  versions.ForEach([&](std::string_view version, bool is_stream, std::uint64_t calls) {
    counts[std::string(version) + (is_stream ? " stream" : " unary")] = calls;
  });
  return counts;
}

TEST(ClientVersionsTest, CallsAreCountedByVersionAndKind) {
  ClientVersions versions;
  EXPECT_TRUE(Counts(versions).empty());
  versions.Count("3.7", false);
  versions.Count("3.6", true);
  versions.Count("3.7", false);
  EXPECT_EQ(Counts(versions),
            (std::map<std::string, std::uint64_t>{{"3.7 unary", 2}, {"3.6 stream", 1}}));
}

TEST(ClientVersionsTest, ClientsThatInventVersionsAreCountedTogether) {
  ClientVersions versions;
  for (std::size_t i = 0; i < 3 * ClientVersions::kMost; ++i)
    versions.Count(std::to_string(i), false);
  versions.Count(std::string(ClientVersions::kMostBytes + 1, '3'), false);
  EXPECT_EQ(Counts(versions).size(), ClientVersions::kMost + 1);
  EXPECT_EQ(Counts(versions)["other unary"], 2 * ClientVersions::kMost + 1);
  EXPECT_EQ(Counts(versions)["0 unary"], 1u);
}

}  // namespace
}  // namespace kvorum::server
