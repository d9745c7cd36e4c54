// The pages that list the flags are what the table says.
#include "server/process/settings/flag_docs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "server/process/settings/config_file.h"
#include "server/process/settings/options.h"
#include "server/process/settings/yaml_tree.h"

namespace kvorum::server {
namespace {

// With KVORUM_REWRITE set, the file is written anew.
void ExpectFileIs(const std::string& path, const std::string& made) {
  if (std::getenv("KVORUM_REWRITE") != nullptr) std::ofstream(path) << made;
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_TRUE(content.str() == made)
      << path << " differs from the table; KVORUM_REWRITE=1 settings_test writes it anew";
}

TEST(FlagDocsTest, ThePageListsTheTable) {
  ExpectFileIs(KVORUM_SOURCE_DIR "/docs/operations/flags.md", FlagsPage());
}

TEST(FlagDocsTest, EveryFlagOfTheApiLevelIsThere) {
  const std::string page = FlagsPage();
  std::ifstream names(KVORUM_SOURCE_DIR "/tests/server/flags_of_api_level.txt");
  int known = 0;
  for (std::string name; std::getline(names, name);) {
    if (name.starts_with('#')) continue;
    EXPECT_NE(page.find("| `--" + name + "` |"), std::string::npos) << name;
    ++known;
  }
  EXPECT_EQ(known, 111);
}

TEST(FlagDocsTest, TheSampleListsTheKeys) {
  ExpectFileIs(KVORUM_SOURCE_DIR "/deploy/kvorum.conf.yml.sample", ConfigSample());
}

// Each line of the sample works once its mark is removed.
TEST(FlagDocsTest, TheSampleWithoutItsMarksIsAFileOfDefaults) {
  std::istringstream sample(ConfigSample());
  std::string text;
  for (std::string line; std::getline(sample, line);) {
    if (line.starts_with("#") && line.find(":") != std::string::npos && line[1] != ' ')
      text += line.substr(1) + "\n";
    if (line.starts_with("#  ") && line.size() > 3 && line[3] != ' ' &&
        line.find(':') != std::string::npos && line.find(". ") == std::string::npos)
      text += line.substr(1) + "\n";
  }
  const std::string path = testing::TempDir() + "kvorum-sample.yml";
  std::ofstream(path) << text;
  const std::string flag = "--config-file=" + path;
  const char* const arguments[] = {flag.c_str()};
  const Reading reading = ReadSettings(arguments, {});
  for (const UsageError& fault : reading.faults) ADD_FAILURE() << fault.message;
  for (const std::string& warning : reading.parsed.warnings)
    EXPECT_NE(warning.find("is deprecated"), std::string::npos) << warning;
  EXPECT_GT(reading.parsed.given.size(), 50);
}

}  // namespace
}  // namespace kvorum::server
