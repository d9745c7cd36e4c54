// --feature-gates: features that the API level names and lets an operator turn on or off. Most have
// no subject here: they are accepted, with a warning each.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::server {

struct FeatureGates {
  bool lease_checkpoint = false;          // what is left of long leases goes through the log
  bool lease_checkpoint_persist = false;  // always so here; asks for the one above
  // Names of those that are set to something else than their default and have no effect.
  std::vector<std::string_view> without_effect = {};
};

// "Name=true,Other=false"; AllAlpha and AllBeta are for those that are not named themselves. The
// error is the reason why the text cannot be taken.
std::expected<FeatureGates, std::string> ParseFeatureGates(std::string_view text);

}  // namespace kvorum::server
