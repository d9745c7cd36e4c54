// 500 seeds, 60 simulated seconds each with faults, and what proves that they mean something: every
// kind of fault fires, an equal seed makes an equal trace, and known flaws are found. A failure
// prints its seed and the command that runs it again (docs/simulation.md).
#include "tests/sim/simulation.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

namespace kvorum::sim {
namespace {

// The report at the end of a run, also of one that an invariant of the code ends.
Report RunSeed(Options options) {
  static Options running;
  static const bool registered = [] {
    std::signal(SIGABRT, [](int) {
      std::fputs((RunningTail() + "aborted; replay: " + ReplayCommand(running) + "\n").c_str(),
                 stderr);
    });
    return true;
  }();
  static_cast<void>(registered);
  running = options;
  return RunSimulation(options);
}

Options OptionsOf(std::uint64_t seed) { return {.seed = seed, .members = MembersOf(seed)}; }

class Seeds : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint64_t kPerCase = 25;

  // Runs this many seeds from the first one on, with what the options ask for.
  static void Run(std::uint64_t first, const Options& asked = {}) {
    std::uint64_t answered = 0;
    for (std::uint64_t i = 0; i < kPerCase; ++i) {
      Options options = OptionsOf(first + i);
      options.posts = asked.posts;
      options.repeated_proposals = asked.repeated_proposals;
      options.copies = asked.copies;
      options.replaced_disks = asked.replaced_disks;
      options.archive = asked.archive;
      const Report report = RunSeed(options);
      ASSERT_FALSE(report.failure.has_value())
          << report.tail << "\nseed " << options.seed << ": " << *report.failure
          << "\nreplay: " << ReplayCommand(options);
      answered += report.answered;
    }
    EXPECT_GT(answered, kPerCase * 100) << "hardly anybody was served";
  }
};

TEST_P(Seeds, NothingIsLostAndNothingIsWrong) { Run(GetParam() * kPerCase); }

INSTANTIATE_TEST_SUITE_P(Of500, Seeds, testing::Range<std::uint64_t>(0, 20));

class Networks : public Seeds {};

TEST_P(Networks, OfPostsInsteadOfStreams) { Run(GetParam(), {.posts = true}); }
TEST_P(Networks, ThatRepeatProposals) { Run(GetParam(), {.repeated_proposals = true}); }

INSTANTIATE_TEST_SUITE_P(From501, Networks, testing::Values(501));

class Copying : public Seeds {};

TEST_P(Copying, ConvergesAndIsFenced) { Run(GetParam() * kPerCase, {.copies = true}); }

INSTANTIATE_TEST_SUITE_P(Of50, Copying, testing::Range<std::uint64_t>(40, 42));

class Disks : public Seeds {};

TEST_P(Disks, ReplacedByOlderOnesLoseNothing) {
  Run(GetParam() * kPerCase, {.replaced_disks = true});
}

INSTANTIATE_TEST_SUITE_P(Of25, Disks, testing::Values(60));

class Archiving : public Seeds {};

TEST_P(Archiving, RestoresWhatWasCommitted) { Run(GetParam() * kPerCase, {.archive = true}); }

INSTANTIATE_TEST_SUITE_P(Of50, Archiving, testing::Range<std::uint64_t>(80, 82));

// A fault that never fires proves nothing. Some kinds are rare: sectors are torn only by a power
// cut in the middle of a write.
TEST(Faults, OfEveryKindHappen) {
  FaultCounters faults;
  const auto never = [&] {
    std::string names;
    for (std::size_t kind = 0; kind < kFaultNames.size(); ++kind) {
      if (faults.at(kind) == 0) names += std::string(kFaultNames[kind]) + " ";
    }
    return names;
  };
  // A transfer of more than 20 s is rare without spoiled records, of which even seeds have them.
  for (std::uint64_t seed = 2010; faults[Fault::kTransferLong] == 0 && seed < 2040; seed += 2)
    faults.Merge(RunSeed({.seed = seed, .members = 3, .seconds = 90, .spoils = true}).faults);
  for (std::uint64_t seed = 1; seed <= 200 && !never().empty(); ++seed)
    faults.Merge(RunSeed(OptionsOf(seed)).faults);
  EXPECT_EQ(never(), "");
}

TEST(Replay, AnEqualSeedMakesAnEqualTrace) {
  for (const std::uint64_t seed : {1001U, 1002U, 1003U, 1008U}) {
    Options options = OptionsOf(seed);
    options.keep_trace = true;
    const Report first = RunSeed(options);
    const Report second = RunSeed(options);
    ASSERT_GT(first.trace_lines, 2'000U);
    EXPECT_TRUE(first.trace == second.trace) << "seed " << seed;
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.steps, second.steps);
  }
}

TEST(Replay, AnotherSeedMakesAnotherTrace) {
  EXPECT_NE(RunSeed({.seed = 1, .seconds = 5}).digest, RunSeed({.seed = 2, .seconds = 5}).digest);
}

// A seed among the first `seeds` fails with the flaw, by a failure or an invariant's abort, and
// passes without it. The runs with the flaw have a separate process, which may die.
void ExpectFound(Flaw flaw, std::uint64_t seeds) {
  void* shared = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::uint64_t& running = *static_cast<std::uint64_t*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    for (running = 1; running <= seeds; ++running) {
      Options options = OptionsOf(running);
      options.flaw = flaw;
      if (RunSimulation(options).failure.has_value()) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const std::uint64_t found = running;
  munmap(shared, sizeof(std::uint64_t));
  if (WIFEXITED(status)) {
    ASSERT_EQ(WEXITSTATUS(status), 1) << "not found in " << seeds << " seeds";
  } else {
    ASSERT_EQ(WTERMSIG(status), SIGABRT) << "seed " << found;
  }
  const Report sound = RunSeed(OptionsOf(found));
  EXPECT_FALSE(sound.failure.has_value()) << "seed " << found << " fails for another reason";
}

TEST(Canary, ALogThatIsNotSyncedIsFound) { ExpectFound(Flaw::kUnsyncedLog, 20); }

TEST(Canary, AnUncommittedEntryInTheArchiveIsFound) {
  ExpectFound(Flaw::kUncommittedArchived, 200);
}

TEST(Canary, AnObjectThatTheBucketDoesNotKeepIsFound) { ExpectFound(Flaw::kObjectSkipped, 20); }

TEST(Canary, ReadsThatTrustTheClockAreFound) { ExpectFound(Flaw::kLeaseReads, 200); }

}  // namespace
}  // namespace kvorum::sim
