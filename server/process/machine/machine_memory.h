// The memory that this process may use: the machine's, or less if its own limits (RLIMIT_AS,
// RLIMIT_DATA) or one of its control groups (memory.max; memory.limit_in_bytes of version 1) say
// so. Read once, at the start.
#pragma once

#include <cstdint>
#include <string>

namespace kvorum::server {

// `root` stands for "/": tests have their own /proc and /sys.
std::uint64_t MemoryLimitBytes(const std::string& root = "");

// The default share of it for answers that clients have not read.
std::uint64_t DefaultAnswerMemoryBytes(std::uint64_t memory_limit_bytes);

}  // namespace kvorum::server
