// How much memory this process may use: the machine's, or less where a limit of its own (RLIMIT_AS,
// RLIMIT_DATA) or one of its control groups (memory.max; memory.limit_in_bytes of version 1) says
// so. Read once, at the start.
#pragma once

#include <cstdint>
#include <string>

namespace kvorum::server {

// `root` stands for "/": tests have their own /proc and /sys.
std::uint64_t MemoryLimitBytes(const std::string& root = "");

// The share that answers that clients have not taken may hold of it, unless a flag says otherwise.
std::uint64_t DefaultAnswerMemoryBytes(std::uint64_t memory_limit_bytes);

}  // namespace kvorum::server
