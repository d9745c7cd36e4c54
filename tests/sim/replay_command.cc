#include <fmt/core.h>

#include <string>

#include "tests/sim/simulation.h"

namespace kvorum::sim {

std::string ReplayCommand(const Options& options) {
  std::string command =
      fmt::format("build/release/bin/kvorum-sim --seed {} --members {} --seconds {}", options.seed,
                  options.members, options.seconds);
  if (options.flaw == Flaw::kUnsyncedLog) command += " --flaw unsynced-log";
  if (options.flaw == Flaw::kLeaseReads) command += " --flaw lease-reads";
  if (options.posts) command += " --posts";
  if (options.repeated_proposals) command += " --repeated-proposals";
  if (options.replica_checks) command += " --replica-checks";
  if (options.spoils) command += " --spoils";
  if (options.copies) command += " --copies";
  if (options.flaw == Flaw::kUncommittedArchived) command += " --flaw uncommitted-archived";
  if (options.flaw == Flaw::kObjectSkipped) command += " --flaw object-skipped";
  if (options.archive) command += " --archive";
  if (options.replaced_disks) command += " --replaced-disks";
  return command + " --trace trace.txt";
}

}  // namespace kvorum::sim
