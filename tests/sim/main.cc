// kvorum-sim: runs the simulation from the command line (docs/simulation.md).
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/simulation.h"

namespace kvorum::sim {
namespace {

constexpr std::string_view kUsage =
    "usage: kvorum-sim [--seed N] [--seeds K] [--members 3|5] [--seconds S] [--trace FILE]\n"
    "                  [--posts] [--repeated-proposals] [--replica-checks] [--spoils] [--copies]\n"
    "                  [--replaced-disks] [--archive] [--keep-going]\n"
    "                  [--flaw unsynced-log|lease-reads|uncommitted-archived|object-skipped]\n"
    "Runs K seeds from N on. Without --members, one seed in four has five members.\n"
    "Exit 0: all passed. 1: a run failed. 2: bad usage.\n";

struct CommandLine {
  Options options{.members = 0};
  std::uint64_t seeds = 1;
  std::string trace_path;
  bool keep_going = false;
};

bool ParseNumber(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// The option that a word without a value sets; null if there is none.
bool* SwitchOf(std::string_view word, Options& options) {
  const std::array<std::pair<std::string_view, bool*>, 7> switches = {{
      {"--posts", &options.posts},
      {"--repeated-proposals", &options.repeated_proposals},
      {"--replica-checks", &options.replica_checks},
      {"--spoils", &options.spoils},
      {"--copies", &options.copies},
      {"--replaced-disks", &options.replaced_disks},
      {"--archive", &options.archive},
  }};
  for (const auto& [name, option] : switches) {
    if (name == word) return option;
  }
  return nullptr;
}

std::optional<Flaw> FlawNamed(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Flaw>, 4> kFlaws = {{
      {"unsynced-log", Flaw::kUnsyncedLog},
      {"lease-reads", Flaw::kLeaseReads},
      {"uncommitted-archived", Flaw::kUncommittedArchived},
      {"object-skipped", Flaw::kObjectSkipped},
  }};
  for (const auto& [known, flaw] : kFlaws) {
    if (known == name) return flaw;
  }
  return std::nullopt;
}

bool ParseCommandLine(const std::vector<std::string_view>& words, CommandLine& line) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--keep-going") {
      line.keep_going = true;
      continue;
    }
    if (bool* const asked = SwitchOf(words[i], line.options)) {
      *asked = true;
      continue;
    }
    if (i + 1 == words.size()) return false;
    const std::string_view flag = words[i];
    const std::string_view value = words[++i];
    std::uint64_t number = 0;
    if (flag == "--trace") {
      line.trace_path = value;
      continue;
    }
    if (flag == "--flaw") {
      const auto flaw = FlawNamed(value);
      if (!flaw.has_value()) return false;
      line.options.flaw = *flaw;
      continue;
    }
    if (!ParseNumber(value, number)) return false;
    if (flag == "--seed") {
      line.options.seed = number;
    } else if (flag == "--seeds") {
      line.seeds = number;
    } else if (flag == "--members" && (number == 3 || number == 5)) {
      line.options.members = number;
    } else if (flag == "--seconds") {
      line.options.seconds = number;
    } else {
      return false;
    }
  }
  return true;
}

Options running;

// A broken invariant of the code ends the process: say first which run it was.
void OnAbort(int) {
  const std::string text = RunningTail() + "ABORTED in seed " + std::to_string(running.seed) +
                           ", replay: " + ReplayCommand(running) + "\n";
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

int Run(CommandLine line) {
  std::signal(SIGABRT, OnAbort);
  if (!line.trace_path.empty()) {
    line.options.trace_file = std::fopen(line.trace_path.c_str(), "w");
    if (line.options.trace_file == nullptr) {
      std::perror(line.trace_path.c_str());
      return 2;
    }
  }
  const bool any_members = line.options.members == 0;
  const auto began = std::chrono::steady_clock::now();
  FaultCounters faults;
  double simulated = 0;
  std::uint64_t failed = 0;
  std::uint64_t ran = 0;
  std::uint64_t answered = 0;
  for (std::uint64_t i = 0; i < line.seeds; ++i) {
    running = line.options;
    running.seed = line.options.seed + i;
    if (any_members) running.members = MembersOf(running.seed);
    const Report report = RunSimulation(running);
    ++ran;
    faults.Merge(report.faults);
    simulated += report.seconds;
    answered += report.answered;
    if (line.seeds <= 10) {
      std::printf(
          "seed %llu: %s, trace %016llx, %llu events, %llu of %llu requests answered, "
          "%lld revisions (%llu unseen), %llu elections\n",
          static_cast<unsigned long long>(running.seed),
          report.failure.has_value() ? "FAILED" : "passed",
          static_cast<unsigned long long>(report.digest),
          static_cast<unsigned long long>(report.steps),
          static_cast<unsigned long long>(report.answered),
          static_cast<unsigned long long>(report.operations),
          static_cast<long long>(report.revisions),
          static_cast<unsigned long long>(report.unseen_revisions),
          static_cast<unsigned long long>(report.elections));
    }
    if (!report.failure.has_value()) continue;
    ++failed;
    std::printf("%s\nseed %llu FAILED: %s\nreplay: %s\n",
                line.keep_going ? "" : report.tail.c_str(),
                static_cast<unsigned long long>(running.seed), report.failure->c_str(),
                ReplayCommand(running).c_str());
    std::fflush(stdout);
    if (!line.keep_going) break;
  }
  if (line.options.trace_file != nullptr) std::fclose(line.options.trace_file);
  const double real =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (std::size_t i = 0; i < kFaultNames.size(); ++i) {
    std::printf("%-18s %llu\n", std::string(kFaultNames[i]).c_str(),
                static_cast<unsigned long long>(faults.at(i)));
  }
  std::printf(
      "%llu runs, %llu failed; %llu requests answered; %.0f simulated seconds in %.1f s: "
      "%.0f per second\n",
      static_cast<unsigned long long>(ran), static_cast<unsigned long long>(failed),
      static_cast<unsigned long long>(answered), simulated, real, simulated / real);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kvorum::sim

int main(int argc, char** argv) {
  kvorum::sim::CommandLine line;
  if (!kvorum::sim::ParseCommandLine({argv + 1, argv + argc}, line)) {
    std::fputs(kvorum::sim::kUsage.data(), stderr);
    return 2;
  }
  return kvorum::sim::Run(std::move(line));
}
