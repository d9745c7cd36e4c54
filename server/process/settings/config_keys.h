// The keys of the configuration file, and the flag that each stands for.
//
// Most keys are named as their flags; TLS, discovery and sockets have sections of their own. Flags
// that the file of etcd cannot set (raft-read-timeout, the revocation lists) have their name as key
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kvorum::server {

enum class ConfigType : std::uint8_t {
  kString,  // lists of URLs and names too, comma-separated
  kBool,
  kUnsigned,
  kSigned,
  kNanoseconds,
  kStrings,   // a list of strings
  kNoEffect,  // anything: its subject does not exist here
};

struct ConfigKey {
  std::string_view section;  // "", "client-transport-security", "discovery-config.client.secure" …
  std::string_view key;
  std::string_view flag;
  ConfigType type;
};

// In the order of --help.
std::span<const ConfigKey> ConfigKeys();
// Exactly, or else without regard to case, as Go reads JSON. Null if there is no such key.
const ConfigKey* FindConfigKey(std::string_view section, std::string_view key);
// The known name of the section that is nearest to an unknown one, if it is near; else empty.
std::string_view NearConfigKey(std::string_view section, std::string_view key);
bool IsConfigSection(std::string_view path);

}  // namespace kvorum::server
