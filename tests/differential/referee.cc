#include "tests/differential/referee.h"

#include <charconv>

namespace kvorum::differential {
namespace {

// The 4 of "3.4.23"; an invalid version counts as the oldest.
int MinorOf(const std::string& version) {
  int minor = 0;
  const std::size_t dot = version.find('.');
  if (dot == std::string::npos) return minor;
  std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

}  // namespace

Referee::Referee(const std::string& peer_version) {
  const int minor = MinorOf(peer_version);
  for (const AllowedDifference& difference : AllowedDifferences()) {
    if (minor < difference.peer_minor_before) allowed_.push_back({.difference = difference});
  }
}

std::vector<std::string> Referee::Judge(const Request& request, const Answer& ours, Answer& peer) {
  std::vector<std::string> lines = Differences(ours, peer);
  if (lines.empty()) return lines;
  for (Allowed& allowed : allowed_) {
    if (allowed.difference.correct(request, ours, peer)) ++allowed.uses;
  }
  return Differences(ours, peer);
}

}  // namespace kvorum::differential
