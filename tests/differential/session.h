// A session: kvorum and its peer side by side, the same stream of requests to both, in phases.
// After each phase both stores are compared as a whole, by HashKV and by their content; between
// phases the history is compacted, and after some of them both servers are stopped or killed and
// restarted.
//
// With a mover, the directory of one of the two goes from etcd to kvorum and back at the restarts:
// it begins as the peer's twin, and its holder answers as the peer does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/differential/referee.h"
#include "tests/differential/request_stream.h"
#include "tests/differential/server_process.h"

namespace kvorum::differential {

struct SessionOptions {
  std::uint64_t seed = 1;
  std::int64_t requests = 100'000;
  std::filesystem::path kvorum;
  std::filesystem::path peer;
  std::filesystem::path mover = {};  // kvorumutl; empty: each server keeps its program
};

class Session {
 public:
  explicit Session(SessionOptions options);

  // An error describes the first difference that is not allowed, or why there is no comparison.
  Result<void> Run();

 private:
  Result<void> Start();
  Result<void> RunPhase(int phase);
  Result<void> Restart(int phase);
  // Between our stop and our start.
  Result<void> Move();
  // Sends the requests to both and compares; `answers` are ours.
  Result<std::vector<Answer>> Exchange(std::span<const Request> requests);
  void Count(const Request& request, const Answer& ours);
  Result<void> CompareStores();
  Result<void> CompareHashes();
  // Compactions at the last revisions, tombstones among them, one after the other.
  Result<void> CompactStepwise();
  // Compacts. HashKV must still know the revision's hash, which both have returned before.
  Result<void> CompareHashThroughCompaction(std::int64_t revision);
  Result<void> CheckCoverage() const;
  void PrintSummary() const;
  Error Report(const Request& request, const Answer& ours, const Answer& peer,
               const std::vector<std::string>& differences) const;
  std::string Replay() const;

  const SessionOptions options_;
  RequestStream stream_;
  ServerProcess ours_;
  ServerProcess peer_;
  bool is_etcd_ = false;  // ours, while the peer has its directory
  std::unique_ptr<Referee> referee_;
  std::int64_t sent_ = 0;
  std::int64_t newest_ = 1;
  std::int64_t compacted_ = 0;
  std::int64_t ranges_with_rows_ = 0;
  std::map<std::string, std::int64_t> outcomes_;  // by method and text of the error
};

}  // namespace kvorum::differential
