// --feature-gates: features of the API level that an operator can turn on or off. Some have
// nothing to change here: they are accepted, with a warning each.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::server {

struct FeatureGate {
  std::string_view name;
  std::string_view stage;  // "ALPHA", "BETA"
  bool is_on = false;
};

struct GateWithoutEffect {
  std::string_view name;
  std::string_view reason;
};

struct FeatureGates {
  bool compact_hash_check = false;        // the leader compares the hashes of compactions
  bool initial_corrupt_check = false;     // a member compares itself with others at its start
  bool lease_checkpoint = false;          // the remaining time of long leases goes through the log
  bool lease_checkpoint_persist = false;  // always on here; requires the one above
  bool priority_request = false;          // revocations of leases pass where others may not
  bool set_member_local_addr = false;     // connections to members come from a fixed address
  bool stop_grpc_service_on_defrag = false;  // the health service says NOT_SERVING meanwhile
  // Those that are set to anything but their default and have no effect.
  std::vector<GateWithoutEffect> without_effect = {};
  std::vector<FeatureGate> all = {};
};

// A row of the table, for the pages made from it.
struct GateDescription {
  std::string_view name;
  std::string_view stage;
  bool by_default = false;
  bool has_effect = false;
  std::string_view reason;  // without effect
};
std::vector<GateDescription> DescribeGates();

// "Name=true,Other=false"; AllAlpha and AllBeta apply to gates that are not named themselves. The
// error is the reason why the text is refused.
std::expected<FeatureGates, std::string> ParseFeatureGates(std::string_view text);

}  // namespace kvorum::server
