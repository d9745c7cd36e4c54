#include "base/log/logging.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/log/log_queue.h"

namespace kvorum {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kTime = 1'136'214'245'123'456'789;  // 2006-01-02T15:04:05.123456Z

class LogFormatTest : public testing::Test {
 protected:
  void SetUp() override { SetTimeZone("UTC"); }
  static void SetTimeZone(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  static std::string Json(std::string_view message, std::initializer_list<LogField> fields = {},
                          std::int64_t time = kTime) {
    return FormatLogLine(true, LogLevel::kInfo, time, "/any/where/server/apply.cc", 12, message,
                         fields);
  }
};

TEST_F(LogFormatTest, ALineInJson) {
  EXPECT_EQ(Json("opened the log", {{"dir", "/data"},
                                    {"segments", 3},
                                    {"size", std::uint64_t{UINT64_MAX}},
                                    {"delta", -5},
                                    {"ratio", 0.25},
                                    {"ok", true}}),
            R"({"level":"info","ts":"2006-01-02T15:04:05.123456Z","caller":"server/apply.cc:12",)"
            R"("msg":"opened the log","dir":"/data","segments":3,"size":18446744073709551615,)"
            R"("delta":-5,"ratio":0.25,"ok":true})");
}

TEST_F(LogFormatTest, ALineForTheConsole) {
  EXPECT_EQ(FormatLogLine(false, LogLevel::kWarn, kTime, "server/apply.cc", 12, "slow", {}),
            "2006-01-02T15:04:05.123456Z\twarn\tserver/apply.cc:12\tslow");
  EXPECT_EQ(FormatLogLine(false, LogLevel::kError, kTime, "apply.cc", 12, "slow\nand long",
                          {{"key", "a\tb"}, {"n", 1}}),
            "2006-01-02T15:04:05.123456Z\terror\tapply.cc:12\tslow\\nand long\t"
            "{\"key\":\"a\\tb\",\"n\":1}");
}

TEST_F(LogFormatTest, TheTimeHasSixDigitsAndNamesItsZone) {
  EXPECT_THAT(Json("", {}, 1'136'214'245'000'000'999),
              HasSubstr("\"2006-01-02T15:04:05.000000Z\""));
  EXPECT_THAT(Json("", {}, 1'136'214'245'100'000'000),
              HasSubstr("\"2006-01-02T15:04:05.100000Z\""));
  EXPECT_THAT(Json("", {}, 1'136'214'245'000'010'000), HasSubstr(":05.000010Z\""));
  SetTimeZone("UTC-5:30");
  EXPECT_THAT(Json(""), HasSubstr("\"2006-01-02T20:34:05.123456+0530\""));
  SetTimeZone("UTC+8");
  EXPECT_THAT(Json(""), HasSubstr("\"2006-01-02T07:04:05.123456-0800\""));
}

TEST_F(LogFormatTest, EverythingIsEscaped) {
  EXPECT_THAT(Json("quote \" slash \\ line\nreturn\rtab\tbell\x07 del\x7f"),
              HasSubstr(R"("msg":"quote \" slash \\ line\nreturn\rtab\tbell\u0007 del\u007f")"));
  EXPECT_THAT(Json("valid \xe2\x82\xac, not: \xe2\x82 \xff\xc0\x80 \xed\xa0\x80"),
              HasSubstr("\"msg\":\"valid \xe2\x82\xac, not: \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd "
                        "\\ufffd\\ufffd\\ufffd\""));
  EXPECT_THAT(Json("", {{"a\"b", std::string_view("x\0y", 3)}}), HasSubstr(R"("a\"b":"x\u0000y")"));
}

TEST_F(LogFormatTest, NumbersThatJsonLacksAreStrings) {
  EXPECT_THAT(Json("", {{"a", std::nan("")},
                        {"b", std::numeric_limits<double>::infinity()},
                        {"c", -std::numeric_limits<double>::infinity()}}),
              HasSubstr(R"("a":"NaN","b":"+Inf","c":"-Inf")"));
}

TEST_F(LogFormatTest, TheLevelsHaveTheirNames) {
  const auto name = [](LogLevel level) { return FormatLogLine(true, level, 0, "f", 1, "", {}); };
  EXPECT_THAT(name(LogLevel::kDebug), StartsWith(R"({"level":"debug")"));
  EXPECT_THAT(name(LogLevel::kError), StartsWith(R"({"level":"error")"));
  EXPECT_THAT(name(LogLevel::kPanic), StartsWith(R"({"level":"panic")"));
  EXPECT_THAT(name(LogLevel::kFatal), StartsWith(R"({"level":"fatal")"));
}

class LogSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/logging_test." + std::to_string(::getpid());
    ::unlink(path_.c_str());
  }
  void TearDown() override {
    ::unlink(path_.c_str());
    ASSERT_TRUE(InitLogging({}).has_value());
  }
  std::string Content() {
    std::ifstream file(path_);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }
  std::string path_;
};

TEST_F(LogSinkTest, WritesToAFileWhatIsAtTheLevelOrAbove) {
  ASSERT_TRUE(InitLogging({.level = LogLevel::kWarn, .json = true, .outputs = {path_}}));
  KV_DEBUG("no");
  KV_INFO("no");
  KV_WARN("yes", {"number", 1});
  KV_ERROR("yes as well");
  SetLogLevel(LogLevel::kDebug);
  EXPECT_TRUE(LogEnabled(LogLevel::kDebug));
  KV_DEBUG("now yes");
  EXPECT_TRUE(FlushLog());
  const std::string content = Content();
  EXPECT_EQ(std::ranges::count(content, '\n'), 3);
  EXPECT_THAT(content, HasSubstr("\"caller\":\"log/logging_test.cc:"));
  EXPECT_THAT(content, HasSubstr("\"msg\":\"yes\",\"number\":1}\n"));
  EXPECT_THAT(content, Not(HasSubstr("\"msg\":\"no\"")));
  EXPECT_THAT(content, EndsWith("\"msg\":\"now yes\"}\n"));
}

TEST_F(LogSinkTest, KeepsTheLinesOfManyThreadsWhole) {
  ASSERT_TRUE(InitLogging({.level = LogLevel::kInfo, .json = false, .outputs = {path_}}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) KV_INFO("line", {"thread", t}, {"i", i});
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(FlushLog(std::chrono::seconds(10)));
  std::istringstream content(Content());
  int lines = 0;
  for (std::string line; std::getline(content, line); ++lines) EXPECT_THAT(line, EndsWith("}"));
  EXPECT_EQ(lines, 2000);
}

TEST_F(LogSinkTest, AnOutputThatCannotBeOpenedIsNamed) {
  const auto folder = InitLogging({.outputs = {"/proc/no-such-thing/log"}});
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, Code::kInvalidArgument);
  EXPECT_THAT(folder.error().message, HasSubstr("log output \"/proc/no-such-thing/log\""));
}

TEST_F(LogSinkTest, AFullDiskLosesItsLinesAlone) {
  ASSERT_TRUE(InitLogging({.outputs = {"/dev/full", path_}}));
  KV_INFO("one");
  KV_INFO("two");
  EXPECT_TRUE(FlushLog());
  EXPECT_EQ(std::ranges::count(Content(), '\n'), 2);
}

TEST_F(LogSinkTest, LinesAreBoundedInBytesToo) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(InitLogging({.outputs = {"/proc/self/fd/" + std::to_string(ends[1])}}));
  const std::uint64_t before = DroppedLogLines();
  const std::string large(std::size_t{1} << 20, 'l');
  for (int i = 0; i < 20; ++i) KV_INFO("large", {"text", large});
  EXPECT_GE(DroppedLogLines() - before, 11u);  // one may be in the pipe, and one being written
  EXPECT_LE(WaitingLogLines().bytes, LogQueue::kMaxBytes);
  std::thread reader([&] {
    char buffer[65536];
    while (::read(ends[0], buffer, sizeof(buffer)) > 0) {
    }
  });
  EXPECT_TRUE(FlushLog(std::chrono::seconds(20)));
  EXPECT_EQ(WaitingLogLines().bytes, 0u);
  ASSERT_TRUE(InitLogging({}).has_value());  // closes our end
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
}

// The reader of our pipe is stopped: serving goes on, lines are dropped and counted, and the number
// is logged when the reader comes back.
TEST_F(LogSinkTest, ABlockedOutputDropsLinesAndBlocksNobody) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(InitLogging({.level = LogLevel::kInfo,
                           .json = true,
                           .outputs = {"/proc/self/fd/" + std::to_string(ends[1])}}));
  const std::uint64_t dropped_before = DroppedLogLines();
  const std::string padding(200, 'p');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 40'000; ++i) KV_INFO("line", {"i", i}, {"padding", padding});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  const std::uint64_t dropped = DroppedLogLines() - dropped_before;
  EXPECT_GT(dropped, 10'000u);
  EXPECT_LT(dropped, 40'000u);
  EXPECT_FALSE(FlushLog(std::chrono::milliseconds(20)));

  std::string read;
  std::thread reader([&] {
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
      read.append(buffer, static_cast<std::size_t>(n));
    }
  });
  EXPECT_TRUE(FlushLog(std::chrono::seconds(20)));
  KV_INFO("and on it goes");
  EXPECT_TRUE(FlushLog(std::chrono::seconds(20)));
  ASSERT_TRUE(InitLogging({}).has_value());  // closes our end
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  std::uint64_t reported = 0;
  const std::string report = "because the output did not keep up\",\"count\":";
  for (std::size_t at = 0; (at = read.find(report, at)) != std::string::npos;) {
    at += report.size();
    reported += std::strtoull(read.c_str() + at, nullptr, 10);
  }
  EXPECT_EQ(reported, dropped);
  EXPECT_THAT(read, HasSubstr("and on it goes"));
}

TEST(CheckDeathTest, ABrokenInvariantTellsAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      KV_CHECK(1 + 1 == 3, "arithmetic is broken"),
      "\"level\":\"fatal\".*\"msg\":\"arithmetic is broken\",\"condition\":\"1 \\+ 1 == 3\"");
  KV_CHECK(1 + 1 == 2, "never told");
}

TEST(CheckDeathTest, SoItDoesInAForkedProcess) {
  GTEST_FLAG_SET(death_test_style, "fast");
  KV_INFO("the log has its thread now");
  EXPECT_DEATH(KV_CHECK(false, "broken after a fork"), "broken after a fork");
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator may be locked in a fork
TEST_F(LogSinkTest, AForkedProcessWaitsForNoLockOfTheLog) {
  ASSERT_TRUE(InitLogging({.outputs = {"/dev/null"}}).has_value());
  std::atomic<bool> done = false;
  std::thread busy([&] {
    while (!done) KV_INFO("the log's lock is held at most times");
  });
  int ended = 0;
  for (int i = 0; i < 200 && ended == i; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      KV_INFO("dropped");
      ::_exit(0);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status)) ++ended;
  }
  done = true;
  busy.join();
  EXPECT_EQ(ended, 200);
}
#endif

TEST(LogDeathTest, WhatIsQueuedIsWrittenAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        KV_WARN("the last words");
        std::exit(3);
      },
      testing::ExitedWithCode(3), "the last words");
}

}  // namespace
}  // namespace kvorum
