// The limits that requests are held to. The owner of the services sets them before the first call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace kvorum::server {

// The most memory that reads may hold; tests use less.
struct AnswerLimits {
  std::size_t max_bytes = INT32_MAX;               // of one answer, as gRPC has it
  std::size_t loop_bytes = std::size_t{64} << 10;  // read on an I/O loop
  std::size_t keep_bytes = std::size_t{4} << 20;   // of one answer, before it is made in pieces
  std::size_t piece_bytes = std::size_t{1} << 20;  // of the rest, at a time
  Duration piece_wait = std::chrono::seconds(10);  // for memory
  Duration piece_retry = std::chrono::milliseconds(20);
};

struct ServiceLimits {
  std::size_t max_request_bytes = 0;
  std::size_t max_txn_ops = 0;
  std::int64_t quota_bytes = 0;  // for Status; negative: no quota
  Duration request_timeout{};
  Duration election_timeout = std::chrono::seconds(1);
  // The bytes that a Watch call may have to send before its watchers wait for the client.
  std::size_t watch_window_bytes = std::size_t{256} << 10;
  bool strict_reconfig_check = true;
  // Revocations of leases are taken while apply is up to twice as far behind as other writes may
  // find it: they are what takes load away.
  bool revokes_have_priority = false;
  std::size_t max_learners = 1;
  std::uint64_t snapshot_bytes_per_second = 0;  // of one that a client saves; 0: no limit
  AnswerLimits answers = {};
};

}  // namespace kvorum::server
