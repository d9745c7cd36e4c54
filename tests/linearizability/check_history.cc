// kvorum-check-history FILE...: whether each file's history (history_text.h) is linearizable.
// Prints a line for each, and for a violation the operations that contradict each other. Exit 0 if
// all are, 1 if one is not or could not be decided, 2 if one cannot be read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/linearizability/checker.h"
#include "tests/linearizability/history_text.h"

namespace kvorum::linearizability {
namespace {

int CheckFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    std::printf("%s: cannot be read\n", path.c_str());
    return 2;
  }
  const Result<History> history = ParseHistory(text.str());
  if (!history.has_value()) {
    std::printf("%s: %s\n", path.c_str(), history.error().message.c_str());
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Verdict verdict = CheckHistory(*history);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  switch (verdict.kind) {
    case Verdict::Kind::kLinearizable:
      std::printf(
          "%s: linearizable: %zu acknowledged, %zu without an answer (%zu took effect), "
          "revision %lld, %.2f s\n",
          path.c_str(), verdict.acknowledged, verdict.unknown, verdict.unknown_applied,
          static_cast<long long>(verdict.last_revision), took.count());
      return 0;
    case Verdict::Kind::kViolation:
      std::printf("%s: NOT LINEARIZABLE: %s\n%s", path.c_str(),
                  std::string(Name(verdict.flaw)).c_str(), verdict.explanation.c_str());
      return 1;
    case Verdict::Kind::kUndecided:
      std::printf("%s: UNDECIDED: %s", path.c_str(), verdict.explanation.c_str());
      return 1;
  }
  return 1;
}

}  // namespace
}  // namespace kvorum::linearizability

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: kvorum-check-history FILE...\n", stderr);
    return 2;
  }
  int worst = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      worst = std::max(worst, kvorum::linearizability::CheckFile(argv[i]));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kvorum-check-history: %s\n", error.what());
    return 2;
  }
  return worst;
}
