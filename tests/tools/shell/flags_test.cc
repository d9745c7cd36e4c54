#include "tools/shell/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

FlagSet SomeFlags() {
  FlagSet flags;
  flags.Add({.name = "prefix"});
  flags.Add({.name = "verbose", .shorthand = 'v'});
  flags.Add({.name = "insecure", .default_value = "true"});
  flags.Add({"limit", FlagType::kInt, "0"});
  flags.Add({"write-out", FlagType::kString, "simple", "", {}, 'w'});
  flags.Add({"endpoints", FlagType::kStrings, "a:1"});
  flags.Add({"timeout", FlagType::kDuration, "5s"});
  return flags;
}

// The arguments that are not flags, or the error.
std::vector<std::string> Parse(FlagSet& flags, std::vector<std::string> line) {
  auto args = flags.Parse(line);
  return args ? *args : std::vector<std::string>{"error: " + args.error().message};
}

std::string FlagErrorOf(std::vector<std::string> line) {
  FlagSet flags = SomeFlags();
  const auto args = flags.Parse(line);
  return args ? "none" : args.error().message;
}

TEST(FlagsTest, AnUnsignedNumberHasNoSign) {
  FlagSet flags;
  flags.Add({"bump", FlagType::kUint, "0"});
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--bump=18446744073709551615"}));
  EXPECT_EQ(flags.Uint("bump"), 18446744073709551615U);
  EXPECT_EQ(flags.ValueText("bump"), "18446744073709551615");
  const auto refused = flags.Parse(std::vector<std::string>{"--bump", "-1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "invalid argument \"-1\" for \"--bump\" flag: strconv.ParseUint: parsing \"-1\": "
            "invalid syntax");
}

TEST(FlagsTest, RequiredFlagsThatLackAreNamed) {
  FlagSet flags;
  flags.Add({.name = "target", .type = FlagType::kString, .required = true});
  flags.Add({.name = "dir", .type = FlagType::kString, .required = true});
  flags.Add({.name = "force"});
  EXPECT_EQ(flags.CheckRequired().error().message, "required flag(s) \"dir\", \"target\" not set");
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--dir="}));
  EXPECT_EQ(flags.CheckRequired().error().message, "required flag(s) \"target\" not set");
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--target", "x"}));
  EXPECT_TRUE(flags.CheckRequired());
}

TEST(FlagsTest, DefaultsHoldUntilAFlagIsGiven) {
  FlagSet flags = SomeFlags();
  EXPECT_FALSE(flags.Switch("prefix"));
  EXPECT_TRUE(flags.Switch("insecure"));
  EXPECT_EQ(flags.String("write-out"), "simple");
  EXPECT_THAT(flags.Strings("endpoints"), ElementsAre("a:1"));
  EXPECT_EQ(flags.Duration("timeout"), 5s);
  EXPECT_FALSE(flags.IsSet("timeout"));
}

TEST(FlagsTest, EveryWayToGiveAValue) {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"--write-out=json"},
                                               {"--write-out", "json"},
                                               {"-w", "json"},
                                               {"-wjson"},
                                               {"-w=json"},
                                               {"-vw", "json"},
                                               {"-vwjson"}}) {
    FlagSet flags = SomeFlags();
    EXPECT_THAT(Parse(flags, line), IsEmpty());
    EXPECT_EQ(flags.String("write-out"), "json");
    EXPECT_TRUE(flags.IsSet("write-out"));
  }
}

TEST(FlagsTest, ASwitchTakesAValueOnlyAfterAnEqualsSign) {
  FlagSet flags = SomeFlags();
  EXPECT_THAT(Parse(flags, {"--prefix", "false", "--insecure=false", "-v=0"}),
              ElementsAre("false"));
  EXPECT_TRUE(flags.Switch("prefix"));
  EXPECT_FALSE(flags.Switch("insecure"));
  EXPECT_FALSE(flags.Switch("verbose"));
}

TEST(FlagsTest, FlagsAndArgumentsMixUntilTheDoubleDash) {
  FlagSet flags = SomeFlags();
  EXPECT_THAT(Parse(flags, {"a", "--limit", "3", "-", "", "--", "--prefix", "-x"}),
              ElementsAre("a", "-", "", "--prefix", "-x"));
  EXPECT_EQ(flags.Int("limit"), 3);
  EXPECT_FALSE(flags.Switch("prefix"));
}

TEST(FlagsTest, AListIsSplitAtCommasAndGrowsWhenGivenAgain) {
  FlagSet flags = SomeFlags();
  Parse(flags, {"--endpoints=b:1,c:2", "--endpoints", "\"d,d\""});
  EXPECT_THAT(flags.Strings("endpoints"), ElementsAre("b:1", "c:2", "d,d"));
  EXPECT_EQ(flags.ValueText("endpoints"), "[b:1,c:2,\"d,d\"]");
  FlagSet none = SomeFlags();
  Parse(none, {"--endpoints="});
  EXPECT_THAT(none.Strings("endpoints"), IsEmpty());
}

TEST(FlagsTest, NumbersMayNameTheirBase) {
  FlagSet flags = SomeFlags();
  Parse(flags, {"--limit=0x1f"});
  EXPECT_EQ(flags.Int("limit"), 31);
}

TEST(FlagsTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(FlagErrorOf({"--foo"}), "unknown flag: --foo");
  EXPECT_EQ(FlagErrorOf({"--foo=1"}), "unknown flag: --foo");
  EXPECT_EQ(FlagErrorOf({"-vx"}), "unknown shorthand flag: 'x' in -x");
  EXPECT_EQ(FlagErrorOf({"--limit"}), "flag needs an argument: --limit");
  EXPECT_EQ(FlagErrorOf({"-w"}), "flag needs an argument: 'w' in -w");
  EXPECT_EQ(FlagErrorOf({"---"}), "bad flag syntax: ---");
  EXPECT_EQ(FlagErrorOf({"--=1"}), "bad flag syntax: --=1");
  EXPECT_EQ(FlagErrorOf({"--limit=x"}),
            "invalid argument \"x\" for \"--limit\" flag: strconv.ParseInt: parsing \"x\": invalid "
            "syntax");
  EXPECT_EQ(FlagErrorOf({"--limit=99999999999999999999"}),
            "invalid argument \"99999999999999999999\" for \"--limit\" flag: strconv.ParseInt: "
            "parsing \"99999999999999999999\": value out of range");
  EXPECT_EQ(FlagErrorOf({"-v=maybe"}),
            "invalid argument \"maybe\" for \"-v, --verbose\" flag: strconv.ParseBool: parsing "
            "\"maybe\": invalid syntax");
  EXPECT_EQ(FlagErrorOf({"--timeout=5"}),
            "invalid argument \"5\" for \"--timeout\" flag: time: missing unit in duration \"5\"");
  EXPECT_EQ(FlagErrorOf({"--endpoints=a\"b"}),
            "invalid argument \"a\\\"b\" for \"--endpoints\" flag: parse error on line 1, column "
            "2: bare \" in non-quoted-field");
}

}  // namespace
}  // namespace kvorum::ctl
