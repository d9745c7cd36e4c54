// Rules over what was read of a cluster: they find what is wrong, and say what to do. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/session/member_probe.h"

namespace kvorum::ctl {

enum class Severity : std::uint8_t {
  kNote,      // good to know
  kWarning,   // will become trouble, or has been
  kCritical,  // the cluster is not working, or is about to fail
};

std::string_view SeverityName(Severity severity);

struct Finding {
  Severity severity = Severity::kNote;
  std::string code;     // the rule's name, for scripts
  std::string subject;  // a member's name, or "cluster"
  std::string what;     // a sentence
  std::string advice;   // what to do; may be empty
};

struct MemberHash {
  std::uint32_t hash = 0;
  std::int64_t compact_revision = 0;
};

// A member with what only doctor asks.
struct ExaminedMember {
  MemberReading reading;
  std::string read_error = {};  // of a linearizable read; empty: it succeeded
  std::chrono::milliseconds read_took{0};
  std::optional<MemberHash> hash = {};  // of all keys at ClusterFacts::hash_revision
  std::string no_hash = {};             // why there is none
};

struct ClusterFacts {
  std::chrono::sys_seconds now = {};
  MemberList list = {};
  std::vector<ExaminedMember> members = {};
  std::vector<etcdserverpb::AlarmMember> alarms = {};
  std::string no_alarms = {};  // why they are not known
  std::int64_t hash_revision = 0;
  // Files of the line with certificates, and their ends.
  std::vector<std::pair<std::string, std::chrono::sys_seconds>> own_certificates = {};
};

// The worst first.
std::vector<Finding> Diagnose(const ClusterFacts& facts);

}  // namespace kvorum::ctl
