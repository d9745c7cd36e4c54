// The output of a long-running command: as lines, as JSON, and on a terminal.
#include "tools/shell/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <sstream>
#include <streambuf>

namespace kvorum::ctl {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

struct Streams {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  World world{.in = in, .out = out, .err = err, .environment = {}};
};

TEST(ReporterTest, TextGoesOutAndWarningsGoToTheErrorStream) {
  Streams streams;
  Reporter reporter(streams.world, {.prefix = "n1: "});
  reporter.Event("synced", {{"entries", "2"}}, "2 entries");
  reporter.Warn("no permission");
  reporter.Finish();
  EXPECT_EQ(streams.out.str(), "2 entries\n");
  EXPECT_EQ(streams.err.str(), "Warning: n1: no permission\n");
}

TEST(ReporterTest, InJsonEverythingIsAnEvent) {
  Streams streams;
  Reporter reporter(streams.world, {.in_json = true, .about = {{"node", "\"n1\""}}});
  reporter.EventWithRoom("synced", {{"entries", "2"}}, "2 entries");
  reporter.Warn("no permission");
  reporter.Finish();
  EXPECT_EQ(streams.out.str(),
            "{\"event\":\"synced\",\"node\":\"n1\",\"entries\":2}\n"
            "{\"event\":\"error\",\"node\":\"n1\",\"error\":\"no permission\"}\n");
  EXPECT_EQ(streams.err.str(), "");
}

TEST(ReporterTest, TheProgressLineIsOnTerminalsAlone) {
  Streams streams;
  Reporter reporter(streams.world, {.progress = [] { return std::string("going"); }});
  reporter.Event("a", {}, "a");
  reporter.Finish();
  EXPECT_EQ(streams.err.str(), "");
}

TEST(ReporterTest, LinesTakeTheProgressLinesPlace) {
  Streams streams;
  streams.world.err_is_terminal = true;
  std::promise<void> drawn;
  bool is_first = true;
  Reporter reporter(streams.world, {.progress = [&] {
                      if (std::exchange(is_first, false)) drawn.set_value();
                      return std::string("going");
                    }});
  drawn.get_future().wait();
  reporter.Warn("look");
  reporter.Finish();
  EXPECT_EQ(streams.err.str(), "\rgoing\x1b[K\r\x1b[KWarning: look\n\rgoing\x1b[K\n");
}

// A stream whose reader takes nothing until it is let go.
class StuckReader : public std::stringbuf {
 public:
  void LetGo() { go_.set_value(); }
  std::future<void> first_write() { return stuck_.get_future(); }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (std::exchange(is_first_, false)) {
      stuck_.set_value();
      go_.get_future().wait();
    }
    return std::stringbuf::xsputn(text, count);
  }

 private:
  bool is_first_ = true;
  std::promise<void> stuck_;
  std::promise<void> go_;
};

TEST(ReporterTest, WhatNobodyReadsIsLostAndCounted) {
  Streams streams;
  StuckReader reader;
  std::ostream out(&reader);
  World world{.in = streams.in, .out = out, .err = streams.err, .environment = {}};
  Reporter reporter(world, {});
  reporter.Event("a", {}, "first");
  reader.first_write().wait();
  for (std::size_t i = 0; i < Reporter::kMaxLines + 7; ++i) reporter.Event("a", {}, "more");
  reader.LetGo();
  reporter.Finish();
  EXPECT_THAT(reader.str(), EndsWith("more\n"));
  EXPECT_EQ(streams.err.str(), "Warning: 7 lines were lost: the reader did not keep up\n");
}

TEST(ReporterTest, WhoeverWaitsForRoomLosesNothingAndIsReleasedByAStop) {
  Streams streams;
  StuckReader reader;
  std::ostream out(&reader);
  World world{.in = streams.in, .out = out, .err = streams.err, .environment = {}};
  std::stop_source stop;
  Reporter reporter(world, {.stop = stop.get_token()});
  reporter.EventWithRoom("a", {}, "first");
  reader.first_write().wait();
  std::atomic<std::size_t> put = 0;
  std::thread writer([&] {
    for (; put < Reporter::kMaxLines + 7; ++put) reporter.EventWithRoom("a", {}, "more");
  });
  while (put < Reporter::kMaxLines) std::this_thread::yield();
  EXPECT_EQ(put, Reporter::kMaxLines);
  stop.request_stop();
  writer.join();
  reader.LetGo();
  reporter.Finish();
  EXPECT_THAT(streams.err.str(), HasSubstr("7 lines were lost"));
}

}  // namespace
}  // namespace kvorum::ctl
