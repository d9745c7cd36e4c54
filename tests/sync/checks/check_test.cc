// The checks of an agent: their state machine and runner with a clock of the test's own, and the
// probes themselves on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sync/agent/check_machine.h"
#include "sync/checks/check_runner.h"
#include "sync/checks/system_prober.h"
#include "tests/eventually.h"
#include "tests/manual_clock.h"
#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr TimePoint kNow{1'000'000'000};

const CheckDefinition kTcpCheck{.id = "up", .kind = CheckKind::kTcp, .target = "127.0.0.1:1"};

TEST(SyncCheckMachine, ProbesComeAnIntervalAfterTheLastOneEnded) {
  Rng rng(3);
  const ManualClock clock;
  CheckMachine machine({.definition = kTcpCheck}, clock, rng);
  const TimePoint first = machine.due();
  EXPECT_LT(first, kNow + 10s);
  EXPECT_FALSE(machine.TakeProbe(first - 1ns));
  EXPECT_TRUE(machine.TakeProbe(first));
  EXPECT_FALSE(machine.TakeProbe(first + 1h)) << "one is under way";
  machine.ProbeEnded({.health = Health::kPassing}, first + 3s);
  EXPECT_EQ(machine.due(), first + 13s);
}

TEST(SyncCheckMachine, AProbeThatDoesNotEndIsAFailureOnce) {
  Rng rng(3);
  const ManualClock clock;
  CheckDefinition definition = kTcpCheck;
  definition.failures_before_critical = 2;
  CheckMachine machine({.definition = definition, .health = Health::kPassing}, clock, rng);
  const TimePoint first = machine.due();
  ASSERT_TRUE(machine.TakeProbe(first));
  EXPECT_FALSE(machine.TakeExpired(first + 5s));
  EXPECT_EQ(machine.due(), first + 6s);
  EXPECT_EQ(machine.TakeExpired(first + 6s),
            (ProbeResult{.health = Health::kPassing, .output = "no answer within 5000 ms"}));
  EXPECT_FALSE(machine.TakeExpired(first + 1h));
  EXPECT_FALSE(machine.TakeProbe(first + 1h)) << "it is under way";
  EXPECT_EQ(machine.ProbeEnded({.health = Health::kCritical}, first + 2h).health, Health::kPassing);
  ASSERT_TRUE(machine.TakeProbe(first + 2h + 10s));
  EXPECT_EQ(machine.TakeExpired(first + 3h)->health, Health::kCritical);
}

TEST(SyncCheckMachine, ThresholdsHoldTheStatusBack) {
  Rng rng(3);
  const ManualClock clock;
  CheckDefinition definition = kTcpCheck;
  definition.successes_before_passing = 2;
  definition.failures_before_critical = 3;
  CheckMachine machine({.definition = definition, .health = Health::kCritical}, clock, rng);
  std::vector<Health> says;
  const auto probe = [&](Health health) {
    says.push_back(machine.ProbeEnded({.health = health}, kNow).health);
  };
  for (const Health health :
       {Health::kPassing, Health::kCritical, Health::kPassing, Health::kPassing, Health::kCritical,
        Health::kCritical, Health::kWarning, Health::kWarning, Health::kCritical, Health::kCritical,
        Health::kCritical})
    probe(health);
  using enum Health;
  EXPECT_THAT(says, ElementsAre(kCritical, kCritical, kCritical, kPassing, kPassing, kPassing,
                                kPassing, kWarning, kWarning, kWarning, kCritical));
}

TEST(SyncCheckMachine, ATtlCheckIsCriticalWhenNobodyReports) {
  Rng rng(3);
  const ManualClock clock;
  CheckMachine machine({.definition = {.id = "ttl", .interval = 10s}}, clock, rng);
  EXPECT_EQ(machine.due(), kNever) << "it begins critical";
  machine.Reported(Health::kPassing, kNow);
  machine.Reported(Health::kWarning, kNow + 5s);
  EXPECT_FALSE(machine.TakeExpired(kNow + 14s));
  EXPECT_FALSE(machine.TakeProbe(kNow + 15s));
  EXPECT_EQ(machine.TakeExpired(kNow + 15s)->health, Health::kCritical);
  EXPECT_FALSE(machine.TakeExpired(kNow + 1h));
}

TEST(SyncCheckMachine, ATtlChecksDeadlineCountsFromItsLastReport) {
  Rng rng(3);
  const ManualClock clock;  // whose time of day is kNow as well
  const auto due = [&](Duration ago) {
    const Check check{.definition = {.id = "ttl", .interval = 10s},
                      .health = Health::kPassing,
                      .reported_unix_ns = (kNow - ago).ns};
    return CheckMachine(check, clock, rng).due();
  };
  EXPECT_EQ(due(300ms), kNow + 9700ms);
  EXPECT_EQ(due(-5s), kNow + 10s) << "the clock was set back";
  EXPECT_EQ(due(900ms), kNow + 9100ms);
  Check check{.definition = {.id = "ttl", .interval = 500ms},
              .health = Health::kPassing,
              .reported_unix_ns = kNow.ns - 400'000'000};
  EXPECT_EQ(CheckMachine(check, clock, rng).due(), kNow + 100ms);
  ExpireTtl(check, kNow.ns + 99'999'999);
  EXPECT_EQ(check.health, Health::kPassing);
  ExpireTtl(check, kNow.ns + 100'000'000);
  EXPECT_EQ(check.health, Health::kCritical);
  EXPECT_EQ(check.output, "no report within the time to live");
  EXPECT_EQ(CheckMachine(check, clock, rng).due(), kNever);
}

class FakeProber final : public Prober {
 public:
  struct Probe {
    CheckDefinition check;
    OnEnd on_end;
  };
  void Begin(const CheckDefinition& check, OnEnd on_end) override {
    probes.push_back({check, std::move(on_end)});
  }
  std::vector<Probe> probes;
};

class SyncCheckRunner : public AgentWorld {
 protected:
  SyncCheckRunner() : agent_(Started("n1")), runner_(executor_, prober_, *agent_->syncer, 9) {}

  void Register(const std::string& id, const CheckDefinition& check) {
    ASSERT_TRUE(agent_->syncer->Register(
        {.id = id, .name = "web", .value = "", .checks = {{.definition = check}}}));
    runner_.Refresh();
    executor_.Settle();
  }
  Check CheckOf(const std::string& id) {
    for (const auto& listed : agent_->syncer->List(Registry::Which::kVisible))
      if (listed.entry.id == id) return listed.entry.checks.front();
    return {};
  }

  FakeProber prober_;
  std::unique_ptr<Agent> agent_;
  CheckRunner runner_;
};

TEST_F(SyncCheckRunner, AResultReachesTheStore) {
  Register("a", kTcpCheck);
  for (int i = 0; i < 100 && prober_.probes.empty(); ++i) Pass(100ms);
  ASSERT_THAT(prober_.probes, SizeIs(1));
  prober_.probes[0].on_end({.health = Health::kPassing, .output = "fine"});
  Pass(100ms);
  EXPECT_EQ(CheckOf("a").health, Health::kPassing);
  EXPECT_EQ(RemoteOutput("a"), "fine");
  Pass(11s);
  EXPECT_THAT(prober_.probes, SizeIs(2));
}

TEST_F(SyncCheckRunner, AProbeThatDoesNotEndIsCriticalAllTheSame) {
  ASSERT_TRUE(agent_->syncer->Register(
      {.id = "a",
       .name = "web",
       .value = "",
       .checks = {{.definition = kTcpCheck, .health = Health::kPassing}}}));
  runner_.Refresh();
  Pass(17s);
  EXPECT_THAT(prober_.probes, SizeIs(1));
  EXPECT_EQ(CheckOf("a").health, Health::kCritical);
  EXPECT_EQ(RemoteOutput("a"), "no answer within 5000 ms");
}

// A report, then agents that each live a while, with pauses between them, by what the last one
// saved.
class SyncTtlOverRestarts : public AgentWorld {
 protected:
  static Entry Beaten() {
    return {.id = "a",
            .name = "web",
            .value = "",
            .checks = {{.definition = {.id = "beat", .interval = 8s}}}};
  }
  void Begin() {
    const AgentState state = saved_.empty() ? AgentState{} : DecodeState(saved_).value();
    agent_ = NewAgent("n1", state);
    ASSERT_TRUE(agent_->syncer->Register(Beaten()));
    runner_.emplace(executor_, prober_, *agent_->syncer, 9);
    runner_->Refresh();
    ASSERT_TRUE(agent_->syncer->Start());
    Pass(100ms);
  }
  void End() {
    runner_->Stop();
    agent_->syncer->Stop();
    saved_ = agent_->saved;
    runner_.reset();
  }
  void Report() { ASSERT_TRUE(runner_->Report("a", "beat", Health::kPassing, "ok")); }
  std::optional<Health> Told() {
    const auto record = DecodeRecord(store_.ValueOf(EntryKey("a")));
    if (!record || record->checks.empty()) return std::nullopt;
    return record->checks.front().health;
  }
  void Restart(Duration pause) {
    End();
    Pass(pause);
    Begin();
  }

  FakeProber prober_;
  std::string saved_;
  std::unique_ptr<Agent> agent_;
  std::optional<CheckRunner> runner_;
};

TEST_F(SyncTtlOverRestarts, TheDeadlineCountsOnWhileNoAgentRuns) {
  Begin();
  Report();
  Pass(500ms);
  Restart(5s);
  EXPECT_EQ(Told(), Health::kPassing);
  Pass(2s);
  EXPECT_EQ(Told(), Health::kPassing) << "7.7 s after the report";
  Pass(500ms);
  EXPECT_EQ(Told(), Health::kCritical) << "8.2 s after the report";
}

TEST_F(SyncTtlOverRestarts, APassedDeadlineIsCriticalAtOnceAndNothingElseIsTold) {
  Begin();
  Report();
  Pass(500ms);
  End();
  Pass(12s);
  std::vector<std::optional<Health>> told;
  store_.on_txn = [&](const TxnRequest& request) {
    for (const Operation& op : request.then) {
      if (op.kind != Operation::Kind::kPut || op.key != EntryKey("a")) continue;
      const auto record = DecodeRecord(op.value);
      told.emplace_back(record ? std::optional(record->checks.front().health) : std::nullopt);
    }
  };
  Begin();
  Pass(1s);
  EXPECT_EQ(Told(), Health::kCritical);
  EXPECT_THAT(told, Each(Health::kCritical));
}

TEST_F(SyncTtlOverRestarts, RestartsDoNotPutItOff) {
  Begin();
  Report();
  for (int i = 0; i < 4; ++i) {
    Pass(1900ms);
    Restart(100ms);
  }
  EXPECT_EQ(Told(), Health::kCritical);
  Report();
  Pass(100ms);
  EXPECT_EQ(Told(), Health::kPassing);
}

TEST_F(SyncTtlOverRestarts, AReportThatChangesNothingCountsAsWell) {
  Begin();
  for (int i = 0; i < 3; ++i) {
    Report();
    Pass(5s);
  }
  Report();
  Restart(5s);
  EXPECT_EQ(Told(), Health::kPassing) << "5.1 s after the last report, 20.1 s after the first";
}

TEST_F(SyncTtlOverRestarts, AKilledAgentLosesASecondAtMost) {
  Begin();
  Report();
  Pass(100ms);
  Report();
  Pass(1s);
  const std::string saved = agent_->saved;
  End();
  saved_ = saved;  // as if it had been killed before it stopped
  Pass(6s);
  Begin();
  EXPECT_EQ(Told(), Health::kPassing);
  Pass(1s);
  EXPECT_EQ(Told(), Health::kCritical);
}

TEST_F(SyncCheckRunner, AnAnswerOfAReplacedCheckIsDropped) {
  Register("a", kTcpCheck);
  Pass(10s);
  ASSERT_THAT(prober_.probes, SizeIs(1));
  CheckDefinition other = kTcpCheck;
  other.target = "127.0.0.1:2";
  Register("a", other);
  prober_.probes[0].on_end({.health = Health::kPassing, .output = "of the old one"});
  Pass(1ms);
  EXPECT_EQ(CheckOf("a").health, Health::kCritical);
  ASSERT_TRUE(agent_->syncer->Deregister("a"));
  runner_.Refresh();
  const std::size_t probes = prober_.probes.size();
  Pass(60s);
  EXPECT_LE(prober_.probes.size(), probes);
}

TEST_F(SyncCheckRunner, AnEqualRegistrationDoesNotBeginAnew) {
  Register("a", kTcpCheck);
  Pass(10s);
  Register("a", kTcpCheck);
  Pass(60s);
  EXPECT_THAT(prober_.probes, SizeIs(1)) << "the first is still under way";
}

TEST_F(SyncCheckRunner, ReportsAreForTtlChecks) {
  Register("a", {.id = "ttl", .interval = 10s});
  Register("b", kTcpCheck);
  EXPECT_TRUE(runner_.Report("a", "ttl", Health::kPassing, "here"));
  EXPECT_EQ(runner_.Report("b", "up", Health::kPassing, "").error().message,
            "check up of entry b is probed");
  EXPECT_EQ(runner_.Report("c", "up", Health::kPassing, "").error().code, Code::kNotFound);
  Pass(5s);
  EXPECT_EQ(CheckOf("a").health, Health::kPassing);
  Pass(6s);
  EXPECT_EQ(CheckOf("a").health, Health::kCritical);
}

ProbeResult ProbeOnce(const CheckDefinition& check) {
  std::promise<ProbeResult> result;
  SystemProber prober;
  prober.Begin(check, [&](ProbeResult ended) { result.set_value(std::move(ended)); });
  return result.get_future().get();
}

// Answers the first connection with the text, and keeps it open.
class OneAnswer {
 public:
  explicit OneAnswer(std::string text)
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        thread_([this, text = std::move(text)] {
          tcp::socket socket(io_);
          boost::system::error_code error;
          acceptor_.accept(socket, error);
          if (error) return;
          boost::asio::write(socket, boost::asio::buffer(text), error);
          std::string rest(1, '\0');
          while (!error) socket.read_some(boost::asio::buffer(rest), error);
        }) {}
  ~OneAnswer() { thread_.join(); }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

CheckDefinition HttpCheck(const std::string& address) {
  return {.id = "up", .kind = CheckKind::kHttp, .target = "http://" + address + "/health?x=1"};
}

TEST(SyncProber, AConnectionThatIsAcceptedPasses) {
  const OneAnswer server("");
  CheckDefinition check = kTcpCheck;
  check.target = server.address();
  EXPECT_EQ(ProbeOnce(check),
            (ProbeResult{.health = Health::kPassing, .output = "connected to " + check.target}));
}

TEST(SyncProber, AConnectionThatIsRefusedIsCritical) {
  EXPECT_EQ(ProbeOnce(kTcpCheck),
            (ProbeResult{.health = Health::kCritical, .output = "Connection refused"}));
}

TEST(SyncProber, AnHttpStatusDecides) {
  const std::vector<std::pair<std::string, Health>> table = {{"200 OK", Health::kPassing},
                                                             {"204 No Content", Health::kPassing},
                                                             {"429 Busy", Health::kWarning},
                                                             {"302 Found", Health::kCritical},
                                                             {"503 Down", Health::kCritical}};
  for (const auto& [status, health] : table) {
    const OneAnswer server("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n");
    const ProbeResult result = ProbeOnce(HttpCheck(server.address()));
    EXPECT_EQ(result.health, health) << status;
    EXPECT_EQ(result.output, "HTTP " + status.substr(0, 3) + "\n");
  }
}

TEST(SyncProber, AnInterimAnswerDecidesNothing) {
  const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
  const OneAnswer server(interim + interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup");
  EXPECT_EQ(ProbeOnce(HttpCheck(server.address())),
            (ProbeResult{.health = Health::kPassing, .output = "HTTP 200\nup"}));
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += interim;
  const OneAnswer endless_server(endless);
  EXPECT_EQ(ProbeOnce(HttpCheck(endless_server.address())),
            (ProbeResult{.health = Health::kCritical,
                         .output = "too many 1xx answers before the final one"}));
}

TEST(SyncProber, ABodyIsReadAsFarAsItIsKept) {
  // It tells of a gigabyte, and sends no more than this.
  const OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" +
                         std::string(20'000, 'x'));
  const ProbeResult result = ProbeOnce(HttpCheck(server.address()));
  EXPECT_EQ(result.health, Health::kPassing);
  EXPECT_THAT(result.output, SizeIs(kMaxOutputBytes));
}

TEST(SyncProber, RubbishInsteadOfHttpIsCritical) {
  const OneAnswer server("\x01\x02 rubbish\r\n\r\n");
  EXPECT_EQ(ProbeOnce(HttpCheck(server.address())).health, Health::kCritical);
}

TEST(SyncProber, AServerThatDoesNotAnswerIsCriticalAfterTheTimeOut) {
  const OneAnswer server("");
  CheckDefinition check = HttpCheck(server.address());
  check.timeout = 50ms;
  EXPECT_EQ(ProbeOnce(check),
            (ProbeResult{.health = Health::kCritical, .output = "no answer within 50 ms"}));
}

CheckDefinition ExecCheck(const std::string& script) {
  return {.id = "run", .kind = CheckKind::kExec, .command = {"/bin/sh", "-c", script}};
}

TEST(SyncProber, AProgramHasNoPasswordOfTheAgents) {
  for (const char* name : {"ETCDCTL_PASSWORD", "ETCDCTL_AUTH_JWT_TOKEN"}) setenv(name, "secret", 1);
  setenv("ETCDCTL_USER", "me:secret", 1);
  setenv("ETCDCTL_ENDPOINTS", "127.0.0.1:1", 1);
  EXPECT_EQ(ProbeOnce(ExecCheck("env | grep ETCD")).output, "ETCDCTL_ENDPOINTS=127.0.0.1:1\n");
  for (const char* name :
       {"ETCDCTL_PASSWORD", "ETCDCTL_AUTH_JWT_TOKEN", "ETCDCTL_USER", "ETCDCTL_ENDPOINTS"})
    unsetenv(name);
}

TEST(SyncProber, AnExitCodeDecides) {
  EXPECT_EQ(ProbeOnce(ExecCheck("echo out; echo err >&2")),
            (ProbeResult{.health = Health::kPassing, .output = "out\nerr\n"}));
  EXPECT_EQ(ProbeOnce(ExecCheck("exit 1")).health, Health::kWarning);
  EXPECT_EQ(ProbeOnce(ExecCheck("exit 2")).health, Health::kCritical);
  EXPECT_EQ(ProbeOnce(ExecCheck("kill -9 $$")),
            (ProbeResult{.health = Health::kCritical, .output = "ended by signal 9\n"}));
  EXPECT_EQ(ProbeOnce(ExecCheck("read line || echo no input")).output, "no input\n");
}

// The host program's handling of children, for a test.
class ChildrenReaped {
 public:
  ChildrenReaped() : before_(signal(SIGCHLD, SIG_IGN)) {}
  ~ChildrenReaped() { (void)signal(SIGCHLD, before_); }
  ChildrenReaped(const ChildrenReaped&) = delete;
  ChildrenReaped& operator=(const ChildrenReaped&) = delete;

 private:
  sighandler_t before_;
};

TEST(SyncProber, AProgramWhoseEndSomebodyElseTookIsCritical) {
  const ChildrenReaped reaped;
  EXPECT_EQ(ProbeOnce(ExecCheck("echo out; exit 0")),
            (ProbeResult{.health = Health::kCritical, .output = "its end was not seen\nout\n"}));
}

TEST(SyncProber, AProgramSeesItsOwnChildrenEnd) {
  const ChildrenReaped reaped;
  CheckDefinition check = ExecCheck("");  // not through a shell, which may handle the signal
  check.command = {"grep", "SigIgn", "/proc/self/status"};
  const std::string output = ProbeOnce(check).output;
  const std::size_t colon = output.find(':');
  ASSERT_NE(colon, std::string::npos) << output;
  const auto ignored = std::stoull(output.substr(colon + 1), nullptr, 16);
  EXPECT_EQ(ignored & (1ULL << (SIGCHLD - 1U)), 0U) << output;
}

TEST(SyncProber, AProgramThatIsNotThereIsCritical) {
  CheckDefinition check = ExecCheck("");
  check.command = {"/no/such/program"};
  EXPECT_EQ(ProbeOnce(check).output,
            "/no/such/program could not be run: No such file or directory");
}

TEST(SyncProber, AnEndlessOutputIsCutAndTheProgramKilled) {
  CheckDefinition check = ExecCheck("while :; do echo xxxxxxxxxxxxxxxx; done");
  check.timeout = 200ms;
  const ProbeResult result = ProbeOnce(check);
  EXPECT_EQ(result.health, Health::kCritical);
  EXPECT_THAT(result.output, StartsWith("killed after 200 ms\nxxxx"));
  EXPECT_LE(result.output.size(), kMaxOutputBytes);
}

// True once the process is gone or has ended.
bool HasEnded(const std::string& pid) {
  std::ifstream status("/proc/" + pid + "/stat");
  std::string id;
  std::string name;
  std::string state;
  status >> id >> name >> state;
  return !status || state == "Z" || state == "X";
}

TEST(SyncProber, WhatAProgramLeavesBehindIsKilled) {
  const ProbeResult result = ProbeOnce(ExecCheck("sleep 1000 & echo $!"));
  EXPECT_EQ(result.health, Health::kPassing);
  const std::string pid = result.output.substr(0, result.output.find('\n'));
  ASSERT_FALSE(pid.empty());
  EXPECT_TRUE(Eventually([&] { return HasEnded(pid); }));
}

TEST(SyncProber, ADestroyedProberLeavesNoProgramBehind) {
  const std::string file = testing::TempDir() + "/sync-prober-" + std::to_string(getpid());
  std::string pid;
  {
    SystemProber prober;
    prober.Begin(
        ExecCheck("echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000"),
        [](const ProbeResult&) { ADD_FAILURE() << "there is no result"; });
    ASSERT_TRUE(Eventually([&] { return bool(std::ifstream(file) >> pid); }));
  }
  EXPECT_TRUE(HasEnded(pid));
  unlink(file.c_str());
}

}  // namespace
}  // namespace kvorum::sync
