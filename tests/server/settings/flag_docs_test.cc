// The pages that list the flags are what the table says.
#include "server/process/settings/flag_docs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "server/process/settings/config_file.h"
#include "server/process/settings/config_keys.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/old_spellings.h"
#include "server/process/settings/options.h"
#include "server/process/settings/settings_reader.h"
#include "server/process/settings/yaml_tree.h"

namespace kvorum::server {
namespace {

const ConfigKey* KeyOf(std::string_view flag) {
  const auto keys = ConfigKeys();
  const auto it = std::ranges::find(keys, flag, &ConfigKey::flag);
  return it == keys.end() ? nullptr : &*it;
}

std::string KeyText(std::string_view flag) {
  const ConfigKey* const key = KeyOf(flag);
  if (key == nullptr) return "";
  const std::string section = key->section.empty() ? "" : std::string(key->section) + ".";
  return "`" + section + std::string(key->key) + "`";
}

std::string_view StateOf(Support support) {
  switch (support) {
    case Support::kEffective:
      return "works";
    case Support::kIgnored:
      return "no effect";
  }
  return "";
}

std::string InCode(std::string_view text) {
  return text.empty() ? std::string() : "`" + std::string(text) + "`";
}

constexpr char kFlagsIntroduction[] = R"(# Flags

This page is made from the server's table of flags. A test compares them, and writes the page with
`KVORUM_REWRITE=1 build/release/bin/server_settings_test`. A flag with "no effect" is accepted, and a
start with another value than its default logs the reason. A key is that of `--config-file`: durations
are numbers of nanoseconds there, and lists of URLs are texts with commas.

`kvorum --config-check` prints every setting with its value and its source:

```console
$ ETCD_MAX_TXN_OPS=256 kvorum --config-check --name n1 \
>   --listen-client-urls http://localhost:12379 --advertise-client-urls http://localhost:12379 \
>   --listen-peer-urls http://localhost:12380 --initial-advertise-peer-urls http://localhost:12380 \
>   --initial-cluster n1=http://localhost:12380 | grep -E ' (name|max-txn-ops|snapshot-count) '
  name = n1  [flag]
  snapshot-count = 10000  [default]
  max-txn-ops = 256  [environment (ETCD_MAX_TXN_OPS)]
```
)";

// docs/operations/flags.md: every flag, variable, key of the file and feature gate, with its state.
std::string FlagsPage() {
  std::string page = kFlagsIntroduction;
  std::string_view section;
  for (const Flag& flag : Flags()) {
    if (flag.section != section) {
      section = flag.section;
      page += fmt::format(
          "\n## {}\n\n| flag | variable | key | default | state | |\n| --- | --- | --- | --- | --- "
          "| --- |\n",
          section);
    }
    page += fmt::format("| `--{}` | `{}` | {} | {} | {} | {} |\n", flag.name,
                        EnvironmentName(flag.name), KeyText(flag.name), InCode(flag.default_text),
                        StateOf(flag.support), flag.help);
  }
  page += "\n## Feature gates\n\n| gate | stage | default | state |\n| --- | --- | --- | --- |\n";
  for (const GateDescription& gate : DescribeGates()) {
    page += fmt::format("| `{}` | {} | {} | {} |\n", gate.name, gate.stage,
                        gate.by_default ? "on" : "off",
                        gate.has_effect ? "works" : "no effect: " + std::string(gate.reason));
  }
  page +=
      "\n## Old spellings\n\nTaken with a warning, as flags, as variables and, where they stand "
      "for "
      "something, as keys.\n\n| flag of 3.4 to 3.6 | stands for |\n| --- | --- |\n";
  for (const OldSpelling& old : OldSpellings()) {
    std::string meaning = "nothing: " + std::string(old.reason);
    if (!old.flag.empty()) meaning = "`--" + std::string(old.flag) + "`";
    if (!old.gate.empty()) meaning = "`--feature-gates=" + std::string(old.gate) + "=…`";
    page += fmt::format("| `--{}` | {} |\n", old.name, meaning);
  }
  return page;
}

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
