// --feature-gates: features that the API level names and lets an operator turn on or off. Most have
// no subject here and are accepted all the same.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace kvorum::server {

struct FeatureGates {
  bool lease_checkpoint = false;          // what is left of long leases goes through the log
  bool lease_checkpoint_persist = false;  // always so here; asks for the one above
};

// "Name=true,Other=false"; AllAlpha and AllBeta are for those that are not named themselves. The
// error is the reason why the text cannot be taken.
std::expected<FeatureGates, std::string> ParseFeatureGates(std::string_view text);

}  // namespace kvorum::server
