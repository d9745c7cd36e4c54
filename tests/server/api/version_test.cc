#include "api/version.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace kvorum::server {
namespace {

// Clients, scripts and members decide by these.
TEST(VersionTest, IsTheApiLevel) {
  EXPECT_EQ(kApiVersion, "3.7.3");
  EXPECT_EQ(kClusterVersion, "3.7.0");
  EXPECT_EQ(kStorageVersion, "3.7.0");
}

TEST(VersionTest, TheTextBeginsWithTheApiLevelThenTellsWhatThisIs) {
  std::istringstream text(VersionText());
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    EXPECT_GT(line.size(), colon + 2) << line;
    if (names.empty()) {
      EXPECT_EQ(line, "etcd Version: 3.7.3");
    }
    names.push_back(line.substr(0, colon));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"etcd Version", "kvorum Version", "Git SHA",
                                             "Compiler", "OS/Arch"}));
}

}  // namespace
}  // namespace kvorum::server
