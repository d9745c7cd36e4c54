// Thousands of connections that misbehave, at little cost of their own: so that what others lose
// beside them is the server's doing. One thread; it sleeps between the few bytes that it sends.
//
// A connection sends its first bytes at once, then a byte at a time at a steady rate, and never
// reads. One that the server ends is opened again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvorum::bench {

struct HostileKind {
  enum class Then : std::uint8_t { kTrickles, kSaysOnce, kHalfCloses };
  std::string first;
  Then then = Then::kTrickles;
  std::string more;  // a byte at a time, over and over; or all of it once
};

struct HostileOptions {
  std::string endpoint;
  std::vector<HostileKind> kinds;  // by turns
  std::size_t connections = 5000;
  double opened_per_second = 1000;   // at most, until each has been opened
  double reopened_per_second = 100;  // at most, from then on
  double trickle_seconds = 10;       // between two bytes of a connection
};

struct HostileReport {
  std::uint64_t opened = 0;
  std::uint64_t ended = 0;  // by the server
  std::uint64_t cpu_nanos = 0;
};

// Kinds from text, one a line: one of "trickles", "says-once", "half-closes"; the first bytes; the
// others (both in hexadecimal, "-" for none).
Result<std::vector<HostileKind>> ParseHostileKinds(std::istream& lines);

// Runs until `stop` is readable. `on_all_open` is called when each has been opened.
// Errors: the address cannot be connected to.
Result<HostileReport> RunHostile(const HostileOptions& options, int stop,
                                 const std::function<void()>& on_all_open);

// The control: burns that share of one processor, in slices as short as the attack's, until `stop`
// is readable.
HostileReport RunBurner(double share, int stop);

}  // namespace kvorum::bench
