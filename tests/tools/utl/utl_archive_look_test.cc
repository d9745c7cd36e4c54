// "archive ls", "verify" and "prune" about an archive in a folder: texts, JSON and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/catalog/survey.h"
#include "tests/archive/check/sample_archive.h"
#include "tests/tools/run_line.h"
#include "tools/utl/utl_commands.h"

namespace kvorum::utl {
namespace {

using archive::SampleArchive;
using archive::SampleBase;
using testing::HasSubstr;
using testing::Not;

class UtlArchiveLookTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    for (const auto& [key, bytes] : archive_.store.objects) Write(key, bytes);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& key, const std::string& bytes) {
    const std::filesystem::path path = dir_ + "/" + key;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  bool Exists(const std::string& key) const { return std::filesystem::exists(dir_ + "/" + key); }
  ctl::Ended Run(std::vector<std::string> words) {
    words.insert(words.begin(), "archive");
    words.insert(words.end(), {"--url", "file://" + dir_});
    return ctl::RunLine(KvorumutlCommand(), words);
  }

  SampleArchive archive_;
  std::string dir_ = testing::TempDir() + "kvorum-archive-XXXXXX";
};

TEST_F(UtlArchiveLookTest, LsShowsHistoriesBasesAndStates) {
  const ctl::Ended ended = Run({"ls"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("history 000000000000000a: new, began 1970-01-01T00:00:00.001Z, "
                                   "cluster 7\n  archived up to index 300, revision 300; writer "
                                   "alive 1970-01-01T00:00:03.000Z, "));
  EXPECT_THAT(ended.out,
              HasSubstr("\n  base: index 105, revision 105, 1970-01-01T00:00:01.050Z, "));
  EXPECT_THAT(ended.out, HasSubstr("\n  can be restored: revisions 5 to 300 (index 5 to 300), "
                                   "1970-01-01T00:00:00.050Z to 1970-01-01T00:00:03.000Z\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  came from history 000000000000000a at index 150, "
                                   "revision 150\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("problem")));
}

TEST_F(UtlArchiveLookTest, LsHasAFormForPrograms) {
  const ctl::Ended ended = Run({"ls", "-w", "json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json["histories"].size(), 2U);
  EXPECT_EQ(json["heads"], nlohmann::json::array({"000000000000000c"}));
  const auto& child = json["histories"][1];
  EXPECT_EQ(child["history"], "000000000000000c");
  EXPECT_EQ(child["parent"]["index"], 150);
  EXPECT_EQ(child["mark"]["revision"], 210);
  EXPECT_EQ(child["bases"][0]["parts"], 3);
  EXPECT_EQ(child["bases"][0]["complete"], true);
  EXPECT_EQ(child["restorable"][0]["from"]["index"], 155);
  EXPECT_EQ(child["restorable"][0]["to"]["time"], "1970-01-01T00:00:02.100Z");
  EXPECT_EQ(json["objects"], archive_.store.objects.size());
}

TEST_F(UtlArchiveLookTest, LsHasTables) {
  const ctl::Ended ended = Run({"ls", "-w", "table", "--history", "000000000000000c"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("FROM REVISION"));
  EXPECT_THAT(ended.out, HasSubstr("000000000000000c"));
  EXPECT_EQ(Run({"ls", "-w", "protobuf"}).code, 4);
  EXPECT_EQ(Run({"ls", "--history", "000000000000000d"}).err,
            "Error: the archive has no history 000000000000000d\n");
}

TEST_F(UtlArchiveLookTest, VerifyOfAWholeArchiveSucceeds) {
  const ctl::Ended ended = Run({"verify"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("history 000000000000000c can be restored: revisions 155 to 210 "
                                   "(index 155 to 210), "));
  EXPECT_THAT(ended.out, HasSubstr(": the archive is whole\n"));
  EXPECT_EQ(nlohmann::json::parse(Run({"verify", "-w", "json"}).out)["whole"], true);
}

TEST_F(UtlArchiveLookTest, VerifyNamesWhatIsDamagedAndFails) {
  const std::string key = archive_.parent.Key(archive::ManifestName{SampleBase(105)});
  Write(key, "{}");
  const ctl::Ended ended = Run({"verify"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, HasSubstr("damaged: " + key + ": the archive has a damaged manifest\n"));
  EXPECT_THAT(ended.out, HasSubstr("the archive is damaged, 1 findings\n"));
  EXPECT_THAT(ended.out, HasSubstr("000000000000000a can be restored: revisions 5 to 300"))
      << "the base before it leads there, too";
  const auto json = nlohmann::json::parse(Run({"verify", "-w", "json"}).out);
  EXPECT_EQ(json["whole"], false);
  EXPECT_EQ(json["findings"][0]["kind"], "damaged");
  EXPECT_EQ(json["findings"][0]["key"], key);
  EXPECT_EQ(json["restorable"][0]["ranges"][0]["from"]["index"], 5);
  EXPECT_THAT(Run({"verify", "-w", "table"}).out, HasSubstr(key));
}

TEST_F(UtlArchiveLookTest, PruneKeepsTheNewestBasesAndTheLogBehindThem) {
  const std::vector<std::string> line = {"prune", "--history", "000000000000000a", "--keep-bases",
                                         "1"};
  std::vector<std::string> dry = line;
  dry.insert(dry.end(), {"--dry-run", "-w", "json"});
  const auto json = nlohmann::json::parse(Run(dry).out);
  EXPECT_EQ(json["floor"]["index"], 205);
  EXPECT_EQ(json["objects"], json["keys"].size());
  const std::string old = archive_.parent.Key(archive::ManifestName{SampleBase(105)});
  EXPECT_TRUE(Exists(old));

  const ctl::Ended ended = Run(line);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("deleted " + std::to_string(json["keys"].size()) +
                                   " objects; 0 are locked; kept from index 205, revision 205, "));
  for (const auto& key : json["keys"]) EXPECT_FALSE(Exists(key.get<std::string>())) << key;
  EXPECT_EQ(Run({"verify", "--history", "000000000000000a"}).code, 0);
  EXPECT_THAT(Run({"ls"}).out, HasSubstr("can be restored: revisions 205 to 300"));
}

TEST_F(UtlArchiveLookTest, PruneWantsToKnowWhatToKeep) {
  const ctl::Ended ended = Run({"prune"});
  EXPECT_EQ(ended.code, 128);
  EXPECT_THAT(ended.err, HasSubstr("what to keep is given by --keep-for or --keep-bases, or both"));
  EXPECT_EQ(Run({"prune", "--keep-for", "-1h"}).code, 128);
}

TEST_F(UtlArchiveLookTest, PruneDoesNothingWhereARecordCannotBeRead) {
  Write(archive_.child.Key(archive::HistoryFileName{}), "{}");
  const ctl::Ended ended = Run({"prune", "--history", "000000000000000a", "--keep-bases", "1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("history 000000000000000c has no record that can be read"));
}

}  // namespace
}  // namespace kvorum::utl
