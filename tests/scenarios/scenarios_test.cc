// Runs the stories in tests/scenarios/stories: docs/simulation.md has their language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/conversation.h"
#include "tests/scenarios/story.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, HappensAsItIsTold) {
  Story story;
  RunConversation(std::filesystem::path(KVORUM_STORIES) / (GetParam() + ".txt"),
                  [&](const std::string& line) { return story.Run(line); });
}

INSTANTIATE_TEST_SUITE_P(Stories, ScenarioTest, testing::ValuesIn(ConversationsIn(KVORUM_STORIES)),
                         [](const auto& info) { return info.param; });

class StoryLanguageTest : public testing::Test {
 protected:
  std::string ErrorOf(const std::string& line) {
    const auto run = story_.Run(line);
    return run.has_value() ? "ran: " + *run : run.error().message;
  }
  Story story_;
};

TEST_F(StoryLanguageTest, ALineThatIsNotOfTheLanguageIsAnError) {
  EXPECT_THAT(ErrorOf("status"), HasSubstr("no cluster yet"));
  ASSERT_EQ(ErrorOf("cluster 3"), "ran: ok\n");
  EXPECT_THAT(ErrorOf("crush 1"), HasSubstr("no such word"));
  EXPECT_THAT(ErrorOf("kill"), HasSubstr("ends before 'N'"));
  EXPECT_THAT(ErrorOf("kill 4"), HasSubstr("'4' is not a member"));
  EXPECT_THAT(ErrorOf("kill 1 now"), HasSubstr("'now' is one word too many"));
  EXPECT_THAT(ErrorOf("cut 1 off 2"), HasSubstr("'off' should be 'from'"));
  EXPECT_THAT(ErrorOf("time soon"), HasSubstr("'soon' is not a duration"));
  EXPECT_THAT(ErrorOf("put a at 1"), HasSubstr("'a' lacks a '='"));
  EXPECT_THAT(ErrorOf("add user \"a at 1"), HasSubstr("lacks its closing quote"));
  EXPECT_THAT(ErrorOf("put a=\\xzz at 1"), HasSubstr("is not a byte"));
  EXPECT_THAT(ErrorOf("put a=1 at 1 as alice of"), HasSubstr("ends before 'auth'"));
  EXPECT_THAT(ErrorOf("cluster 3 sead=1"), HasSubstr("'sead' is not an option"));
}

TEST_F(StoryLanguageTest, AnExpectationThatIsNotMetIsAnError) {
  ASSERT_EQ(ErrorOf("cluster 3"), "ran: ok\n");
  ASSERT_EQ(ErrorOf("put a=1 at 2"), "ran: revision 2\n");
  EXPECT_EQ(ErrorOf("expect a=1 at all"), "ran: ok\n");
  EXPECT_EQ(ErrorOf("expect a=2 at all"), "1 has a=1\n2 has a=1\n3 has a=1\n");
  EXPECT_EQ(ErrorOf("expect no a at all"), "1 has a=1\n2 has a=1\n3 has a=1\n");
  EXPECT_EQ(ErrorOf("expect 2 leads"), "it does not lead");
  EXPECT_EQ(ErrorOf("expect no leader"), "1 leads");
  EXPECT_EQ(ErrorOf("expect 2 ends: disk"), "it has not ended by itself");
  EXPECT_EQ(ErrorOf("expect 2 refuses: disk"), "2 is up");
  ASSERT_EQ(ErrorOf("kill 2"), "ran: ok\n");
  EXPECT_EQ(ErrorOf("put a=1 at 2"), "2 is down");
  EXPECT_EQ(ErrorOf("expect 2 refuses: disk"), "it has started");
}

std::string ContentOf(const std::filesystem::path& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

TEST(StoryLanguageDocsTest, TheExampleIsAStory) {
  const std::string story = ContentOf(std::filesystem::path(KVORUM_STORIES) / "text_not_utf8.txt");
  EXPECT_NE(ContentOf(KVORUM_SIMULATION_DOCS).find("```\n" + story + "```\n"), std::string::npos);
}

TEST(StoryLanguageDocsTest, EveryWordHasItsRow) {
  const std::string text = ContentOf(KVORUM_SIMULATION_DOCS);
  std::size_t at = 0;
  for (const StoryWord& word : StoryWords()) {
    const std::string row =
        "\n| `" + std::string(word.pattern) + "` | " + std::string(word.meaning) + " |\n";
    const std::size_t found = text.find(row, at);
    ASSERT_NE(found, std::string::npos) << "lacks, or has at another place:" << row;
    at = found + row.size() - 1;
  }
}

}  // namespace
}  // namespace kvorum::server
