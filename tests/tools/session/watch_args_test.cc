// The result of a `watch` line, and the refusals in etcdctl's words.
#include "tools/session/watch_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/shell/run_program.h"

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome<WatchLine> Line(const std::vector<std::string>& words,
                        const WatchEnvironment& environment = {}) {
  FlagSet flags;
  for (const Flag& flag : WatchFlags()) flags.Add(flag);
  std::optional<std::size_t> separator;
  const auto args = flags.Parse(words, &separator);
  if (!args) return std::unexpected(args.error());
  return MakeWatch(flags, *args, separator, environment);
}

std::string Refusal(const std::vector<std::string>& words,
                    const WatchEnvironment& environment = {}) {
  const auto line = Line(words, environment);
  if (line.has_value()) return "none";
  EXPECT_EQ(line.error().code, ExitCode::kBadArguments);
  return line.error().message;
}

TEST(WatchArgsTest, AKeyARangeOrAPrefix) {
  const auto key = Line({"a"});
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->request.key(), "a");
  EXPECT_EQ(key->request.range_end(), "");
  EXPECT_THAT(key->command, IsEmpty());
  EXPECT_EQ(Line({"a", "c"})->request.range_end(), "c");
  EXPECT_EQ(Line({"--prefix", "a"})->request.range_end(), "b");
  EXPECT_EQ(Line({"--prefix", ""})->request.range_end(), std::string(1, '\0'));
}

TEST(WatchArgsTest, FlagsMayStandAnywhereBeforeTheSeparator) {
  const auto line = Line({"--rev", "7", "a", "--prev-kv", "--progress-notify"});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->request.start_revision(), 7);
  EXPECT_TRUE(line->request.prev_kv());
  EXPECT_TRUE(line->request.progress_notify());
}

TEST(WatchArgsTest, WhatFollowsTheSeparatorIsACommand) {
  const auto line = Line({"a", "--rev", "1", "--", "echo", "--rev", "a"});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->request.range_end(), "");
  EXPECT_THAT(line->command, ElementsAre("echo", "--rev", "a"));
  EXPECT_EQ(line->request.start_revision(), 1);
}

TEST(WatchArgsTest, TheEnvironmentMayGiveTheKeys) {
  const auto found =
      ReadWatchEnvironment({"PATH=/bin", "ETCDCTL_WATCH_KEY=a", "ETCDCTL_WATCH_RANGE_END=c"});
  ASSERT_TRUE(found.has_value());
  const auto line = Line({"--", "echo"}, *found);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->request.key(), "a");
  EXPECT_EQ(line->request.range_end(), "c");
  EXPECT_EQ(ReadWatchEnvironment({"ETCDCTL_WATCH_RANGE_END=c"}).error().message,
            "ETCDCTL_WATCH_KEY is empty but got ETCDCTL_WATCH_RANGE_END=\"c\"");
  EXPECT_TRUE(ReadWatchEnvironment({})->key.empty());
}

TEST(WatchArgsTest, RefusalsAreThoseOfEtcdctl) {
  EXPECT_EQ(Refusal({}), "bad number of arguments");
  EXPECT_EQ(Refusal({"--", "echo"}), "bad number of arguments");
  EXPECT_EQ(Refusal({"a", "--"}), "bad number of arguments (found separator --, but no commands)");
  EXPECT_EQ(Refusal({"a"}, {.key = "b"}),
            "bad number of arguments (found conflicting environment key)");
  EXPECT_EQ(Refusal({"a", "--", "echo"}, {.key = "b"}),
            "bad number of arguments (found conflicting environment key)");
  EXPECT_EQ(Refusal({"a", "b", "--prefix"}), "`range_end` and `--prefix` are mutually exclusive");
}

TEST(WatchExecTest, TheCommandHasTheEventInItsEnvironment) {
  mvccpb::Event event;
  event.set_type(mvccpb::Event::DELETE);
  event.mutable_kv()->set_key("a \"key\"\n");
  const std::vector<std::string> check = {
      "/bin/sh", "-c",
      R"([ "$ETCD_WATCH_REVISION" = 7 ] && [ "$ETCD_WATCH_EVENT_TYPE" = '"DELETE"' ] &&
         [ "$ETCD_WATCH_KEY" = '"a \"key\"\n"' ] && [ "$ETCD_WATCH_VALUE" = '""' ] &&
         [ "$OTHER" = kept ])"};
  EXPECT_TRUE(RunForEvent(check, {"OTHER=kept"}, 7, event).has_value());
  EXPECT_EQ(RunForEvent(check, {"OTHER=lost"}, 7, event).error(), "exit status 1");
}

TEST(WatchExecTest, WhyItFailedIsTold) {
  const mvccpb::Event event;
  const auto why = [&](const std::vector<std::string>& command) {
    const auto ran = RunForEvent(command, {}, 1, event);
    return ran.has_value() ? "it ran" : ran.error();
  };
  EXPECT_EQ(why({"no-such-program-anywhere"}),
            "exec: \"no-such-program-anywhere\": executable file not found in $PATH");
  EXPECT_EQ(why({"/no/such/program"}), "fork/exec /no/such/program: no such file or directory");
  EXPECT_THAT(why({"/bin/sh", "-c", "kill -9 $$"}), HasSubstr("signal: "));
}

}  // namespace
}  // namespace kvorum::ctl
