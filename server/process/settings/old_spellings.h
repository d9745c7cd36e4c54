// The flags of etcd 3.4 to 3.6 that ended with 3.7, above all --experimental-*, each of which has
// another name there. Manifests and unit files still have them, so here they are taken, with a
// warning. They are environment variables and keys of the configuration file as well.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvorum::server {

struct OldSpelling {
  std::string_view name;
  // The flag that it stands for; empty if there is none.
  std::string_view flag = {};
  // The feature gate that a switch stands for; empty if there is none.
  std::string_view gate = {};
  // The reason why a name that stands for neither has no effect.
  std::string_view reason = {};
  bool is_switch = false;  // of those; a gate always is
};

std::span<const OldSpelling> OldSpellings();
// Null if there is none of that name.
const OldSpelling* FindOldSpelling(std::string_view name);

// The warning that one was used: it names the spelling of 3.7.
std::string WarningOf(const OldSpelling& old, std::string_view value);

}  // namespace kvorum::server
