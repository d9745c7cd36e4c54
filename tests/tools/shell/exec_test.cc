// The program of --exec: which changes it is run for, and what happens to one that fails or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <future>
#include <sstream>

#include "base/rng.h"
#include "tools/carry/change_queue.h"
#include "tools/shell/exec_thread.h"
#include "tools/shell/run_program.h"

namespace kvorum::ctl {
namespace {

using sync::Change;
using sync::ObjectRef;
using testing::ElementsAre;

ObjectRef Make(const std::string& key, std::int64_t revision) {
  return sync::TypedObject<std::string>::Make({.key = key, .mod_revision = revision}, "");
}
// "a 1-3": key a, from revision 1 to revision 3; 0 where there is nothing.
std::string Text(const std::optional<Change>& change) {
  if (!change) return "nothing";
  const auto revision = [](const ObjectRef& object) { return object ? object->mod_revision() : 0; };
  return std::string((change->after ? change->after : change->before)->key()) + " " +
         std::to_string(revision(change->before)) + "-" + std::to_string(revision(change->after));
}

TEST(ChangeQueueTest, AKeyThatWaitsKeepsItsPlaceAndTakesTheNewestValue) {
  ChangeQueue queue;
  const ObjectRef a1 = Make("a", 1);
  const ObjectRef a2 = Make("a", 2);
  const ObjectRef a3 = Make("a", 3);
  const ObjectRef b4 = Make("b", 4);
  queue.Put({.before = a1, .after = a2});
  queue.Put({.after = b4});
  queue.Put({.before = a2, .after = a3});
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(Text(queue.Take()), "a 1-3");
  queue.Put({.before = a3});
  EXPECT_EQ(Text(queue.Take()), "b 0-4");
  EXPECT_EQ(Text(queue.Take()), "a 3-0");
  EXPECT_EQ(Text(queue.Take()), "nothing");
}

TEST(ChangeQueueTest, AKeyThatCameAndWentIsNothing) {
  ChangeQueue queue;
  const ObjectRef a = Make("a", 1);
  queue.Put({.after = a});
  queue.Put({.before = a});
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(Text(queue.Take()), "nothing");
}

TEST(ChangeQueueTest, ADeletedKeyThatComesBackIsOneUpdate) {
  ChangeQueue queue;
  const ObjectRef a1 = Make("a", 1);
  queue.Put({.before = a1});
  queue.Put({.after = Make("a", 3)});
  EXPECT_EQ(Text(queue.Take()), "a 1-3");
}

TEST(ChangeQueueTest, AResyncOfAKeyThatWaitsAddsNothing) {
  ChangeQueue queue;
  const ObjectRef a1 = Make("a", 1);
  const ObjectRef a2 = Make("a", 2);
  queue.Put({.before = a1, .after = a1});
  queue.Put({.before = a1, .after = a2});
  queue.Put({.before = a2, .after = a2});
  EXPECT_EQ(Text(queue.Take()), "a 1-2");
  queue.Put({.before = a2, .after = a2});
  EXPECT_EQ(Text(queue.Take()), "a 2-2");
}

TEST(ChangeQueueTest, AFailedChangeIsToldAgainWithWhatCameSince) {
  const ObjectRef a1 = Make("a", 1);
  const ObjectRef a2 = Make("a", 2);
  const ObjectRef a3 = Make("a", 3);
  const auto after = [&](const Change& failed, const std::optional<Change>& since) {
    ChangeQueue returned_last;
    ChangeQueue returned_first;
    if (since) returned_last.Put(*since);
    returned_last.Return(failed);
    returned_first.Return(failed);
    if (since) returned_first.Put(*since);
    const std::string text = Text(returned_last.Take());
    EXPECT_EQ(text, Text(returned_first.Take()));
    EXPECT_EQ(returned_last.size() + returned_first.size(), 0U);
    return text;
  };
  EXPECT_EQ(after({.after = a1}, {}), "a 0-1");
  EXPECT_EQ(after({.before = a1}, {}), "a 1-0");
  EXPECT_EQ(after({.before = a1, .after = a2}, Change{.before = a2, .after = a3}), "a 1-3");
  EXPECT_EQ(after({.before = a1, .after = a2}, Change{.before = a2}), "a 1-0");
  EXPECT_EQ(after({.before = a1}, Change{.after = a3}), "a 1-3");
  EXPECT_EQ(after({.after = a1}, Change{.before = a1}), "a 1-0")
      << "the program may have done half of the add";
}

TEST(ChangeQueueTest, DeletionsThatWaitHaveABound) {
  ChangeQueue queue;
  const std::string value(1 << 20, 'x');
  std::size_t kept = 0;
  for (int i = 0; i < 100; ++i) {
    const auto object = sync::TypedObject<std::string>::Make(
        {.key = "k" + std::to_string(i), .value = value, .mod_revision = 1}, value);
    if (queue.Put({.before = object})) ++kept;
  }
  EXPECT_GE(kept, 20U);
  EXPECT_LT(kept, 64U);
  EXPECT_EQ(queue.size(), kept);
  while (queue.Take()) {
  }
  EXPECT_TRUE(queue.Put({.before = Make("a", 1)})) << "what was taken makes room";
}

// A taker of the changes, at any time, ends with the present values.
TEST(ChangeQueueTest, WhatIsTakenAddsUpToWhatWasPut) {
  Rng rng(7);
  ChangeQueue queue;
  std::map<std::string, ObjectRef> truth;
  std::map<std::string, ObjectRef> seen;
  const auto take = [&] {
    const auto change = queue.Take();
    if (!change) return;
    const std::string key((change->after ? change->after : change->before)->key());
    EXPECT_EQ(seen[key], change->before);
    seen[key] = change->after;
  };
  for (std::int64_t revision = 1; revision < 20'000; ++revision) {
    const std::string key(1, static_cast<char>('a' + rng.Below(8)));
    ObjectRef& now = truth[key];
    const ObjectRef after = now && rng.Below(2) == 0 ? ObjectRef() : Make(key, revision);
    queue.Put({.before = now, .after = after});
    now = after;
    EXPECT_LE(queue.size(), 8U);
    if (rng.Below(3) == 0) take();
  }
  while (queue.size() > 0) take();
  for (const auto& [key, object] : truth) EXPECT_EQ(seen[key], object) << key;
}

class ExecTest : public testing::Test {
 protected:
  ExecTest() : folder_(mkdtemp(name_.data())) {}
  ~ExecTest() override {
    unlink(File("log").c_str());
    rmdir(folder_.c_str());
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(File("log")).rdbuf();
    return text.str();
  }

  std::string name_ = "/tmp/kvorum-exec-XXXXXX";
  std::string folder_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  World world_{.in = in_, .out = out_, .err = err_, .environment = {}};
};

TEST_F(ExecTest, EachRunHasItsInputAndItsEnvironmentAndAFailureIsAWarning) {
  Reporter reporter(world_, {});
  std::deque<ExecRun> runs = {
      {.about = "a", .environment = {"KVORUM_KEY=a"}, .input = "one"},
      {.about = "b", .environment = {"KVORUM_KEY=b"}, .input = std::string(1 << 20, 'x')},
      {.about = "c", .environment = {"KVORUM_KEY=c"}, .input = ""}};
  std::promise<void> ended;
  std::vector<bool> how;
  {
    ExecThread thread("printf '%s %s ' $KVORUM_KEY $OTHER >> " + File("log") + "; wc -c >> " +
                          File("log") + "; test $KVORUM_KEY != b",
                      {"PATH=/usr/bin:/bin", "OTHER=kept", "KVORUM_KEY=inherited"}, reporter,
                      {.next = [&]() -> std::optional<ExecRun> {
                         if (runs.empty()) {
                           ended.set_value();
                           return std::nullopt;
                         }
                         ExecRun run = std::move(runs.front());
                         runs.pop_front();
                         return run;
                       },
                       .ended = [&](bool is_ok) { how.push_back(is_ok); },
                       .retry = [] {}});
    thread.Wake();
    ended.get_future().wait();
  }
  reporter.Finish();
  EXPECT_EQ(Log(), "a kept 3\nb kept 1048576\nc kept 0\n");
  EXPECT_EQ(err_.str(), "Warning: b: --exec: exit status 1\n");
  EXPECT_THAT(how, ElementsAre(true, false, true));
}

TEST_F(ExecTest, WhatFailedIsDueAgainAfterPausesThatGrow) {
  Reporter reporter(world_, {});
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> runs;
  bool is_due = true;
  std::promise<void> succeeded;
  {
    ExecThread thread(
        "test $(wc -l < " + File("log") + ") -ge 3 || { echo >> " + File("log") + "; exit 1; }",
        {"PATH=/usr/bin:/bin"}, reporter,
        {.next = [&]() -> std::optional<ExecRun> {
           if (!std::exchange(is_due, false)) return std::nullopt;
           runs.push_back(Clock::now());
           return ExecRun{.about = "a"};
         },
         .ended =
             [&](bool is_ok) {
               if (is_ok) succeeded.set_value();
             },
         .retry = [&] { is_due = true; }});
    std::ofstream(File("log")).flush();
    thread.Wake();
    succeeded.get_future().wait();
  }
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_GE(runs[1] - runs[0], std::chrono::seconds(1));
  EXPECT_GE(runs[2] - runs[1], std::chrono::seconds(2));
  EXPECT_GE(runs[3] - runs[2], std::chrono::seconds(4));
}

TEST_F(ExecTest, PasswordsOfTheEnvironmentStayHere) {
  Reporter reporter(world_, {});
  std::promise<void> ended;
  bool is_due = true;
  {
    ExecThread thread(
        "env | grep ETCD | sort > " + File("log"),
        {"PATH=/usr/bin:/bin", "ETCDCTL_PASSWORD=p1", "ETCDCTL_USER=u:p2",
         "ETCDCTL_AUTH_JWT_TOKEN=p3", "ETCDCTL_DEST_PASSWORD=p4", "ETCD_DISCOVERY_PASSWORD=p5",
         "ETCDCTL_DEST_USER=name", "ETCDCTL_ENDPOINTS=127.0.0.1:2379"},
        reporter,
        {.next = [&]() -> std::optional<ExecRun> {
           if (!std::exchange(is_due, false)) return std::nullopt;
           return ExecRun{.about = "a"};
         },
         .ended = [&](bool) { ended.set_value(); },
         .retry = [] {}});
    thread.Wake();
    ended.get_future().wait();
  }
  EXPECT_EQ(Log(), "ETCDCTL_DEST_USER=name\nETCDCTL_ENDPOINTS=127.0.0.1:2379\n");
}

TEST_F(ExecTest, AProgramThatDoesNotReadItsInputIsNotHeldUp) {
  const std::vector<std::string> command = {"/bin/sh", "-c", "exit 3"};
  const auto ended = RunProgram(command, {}, {.input = std::string(1 << 20, 'x')});
  EXPECT_EQ(ended->reason, "exit status 3");
}

TEST_F(ExecTest, AStopEndsAProgramAndWhatItStarted) {
  std::stop_source stop;
  std::jthread stopper([&] {
    while (Log().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  // The shell waits for its child, which has the pipe as well: both have to go.
  const std::vector<std::string> command = {"/bin/sh", "-c",
                                            "echo begun > " + File("log") + "; sleep 1000 & wait"};
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  const auto ended = RunProgram(command, environment, {.stop = stop.get_token()});
  EXPECT_EQ(ended->reason, "signal: terminated");
}

}  // namespace
}  // namespace kvorum::ctl
