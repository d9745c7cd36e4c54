#include "server/process/settings/config_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "base/letter_case.h"
#include "base/text/edit_distance.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/old_spellings.h"

namespace kvorum::server {
namespace {

using enum ConfigType;

constexpr std::string_view kClientTls = "client-transport-security";
constexpr std::string_view kPeerTls = "peer-transport-security";
constexpr std::string_view kSockets = "socket-options";
constexpr std::string_view kDiscovery = "discovery-config";
constexpr std::string_view kDiscoveryClient = "discovery-config.client";
constexpr std::string_view kDiscoveryTls = "discovery-config.client.secure";
constexpr std::string_view kDiscoveryUser = "discovery-config.client.auth";
constexpr auto kSections = std::to_array<std::string_view>(
    {kClientTls, kPeerTls, kSockets, kDiscovery, kDiscoveryClient, kDiscoveryTls, kDiscoveryUser});

constexpr ConfigKey kInSections[] = {
    {kSockets, "reuse-port", "socket-reuse-port", kBool},
    {kSockets, "reuse-address", "socket-reuse-address", kBool},

    {kDiscovery, "token", "discovery-token", kString},
    {kDiscoveryClient, "endpoints", "discovery-endpoints", kStrings},
    {kDiscoveryClient, "dial-timeout", "discovery-dial-timeout", kNanoseconds},
    {kDiscoveryClient, "request-timeout", "discovery-request-timeout", kNanoseconds},
    {kDiscoveryClient, "keepalive-time", "discovery-keepalive-time", kNanoseconds},
    {kDiscoveryClient, "keepalive-timeout", "discovery-keepalive-timeout", kNanoseconds},
    {kDiscoveryClient, "max-request-bytes", "", kNoEffect},
    {kDiscoveryClient, "max-recv-bytes", "", kNoEffect},
    {kDiscoveryTls, "insecure-transport", "discovery-insecure-transport", kBool},
    {kDiscoveryTls, "insecure-skip-tls-verify", "discovery-insecure-skip-tls-verify", kBool},
    {kDiscoveryTls, "cert", "discovery-cert", kString},
    {kDiscoveryTls, "key", "discovery-key", kString},
    {kDiscoveryTls, "cacert", "discovery-cacert", kString},
    {kDiscoveryUser, "username", "discovery-user", kString},
    {kDiscoveryUser, "password", "discovery-password", kString},

    {kClientTls, "cert-file", "cert-file", kString},
    {kClientTls, "key-file", "key-file", kString},
    {kClientTls, "client-cert-file", "client-cert-file", kString},
    {kClientTls, "client-key-file", "client-key-file", kString},
    {kClientTls, "client-cert-auth", "client-cert-auth", kBool},
    {kClientTls, "trusted-ca-file", "trusted-ca-file", kString},
    {kClientTls, "auto-tls", "auto-tls", kBool},
    {kClientTls, "allowed-cn", "client-cert-allowed-cn", kStrings},
    {kClientTls, "allowed-hostname", "client-cert-allowed-hostname", kStrings},
    {kClientTls, "skip-client-san-verification", "", kNoEffect},

    {kPeerTls, "cert-file", "peer-cert-file", kString},
    {kPeerTls, "key-file", "peer-key-file", kString},
    {kPeerTls, "client-cert-file", "peer-client-cert-file", kString},
    {kPeerTls, "client-key-file", "peer-client-key-file", kString},
    {kPeerTls, "client-cert-auth", "peer-client-cert-auth", kBool},
    {kPeerTls, "trusted-ca-file", "peer-trusted-ca-file", kString},
    {kPeerTls, "auto-tls", "peer-auto-tls", kBool},
    {kPeerTls, "allowed-cn", "peer-cert-allowed-cn", kStrings},
    {kPeerTls, "allowed-hostname", "peer-cert-allowed-hostname", kStrings},
    {kPeerTls, "skip-client-san-verification", "peer-skip-client-san-verification", kBool},
};

// Flags that are not keys: the file itself, and a choice that etcd's file lacks, whose sample has a
// value that the flag refuses.
constexpr auto kNoKeys = std::to_array<std::string_view>({"config-file", "discovery-fallback"});
// The flags of lists that are lists in the file too; others are texts with commas.
constexpr auto kLists = std::to_array<std::string_view>({"cipher-suites", "log-outputs"});

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

ConfigType TypeOf(const Flag& flag) {
  if (IsBoolean(flag)) return kBool;
  if (std::holds_alternative<std::uint64_t Options::*>(flag.field)) return kUnsigned;
  if (std::holds_alternative<std::int64_t Options::*>(flag.field)) return kSigned;
  if (std::holds_alternative<std::chrono::nanoseconds Options::*>(flag.field)) return kNanoseconds;
  if (flag.check == CheckDuration) return kNanoseconds;
  if (flag.check == CheckUnsigned || flag.check == CheckUnsigned32) return kUnsigned;
  if (flag.check == CheckSigned) return kSigned;
  return Contains(kLists, flag.name) ? kStrings : kString;
}

std::vector<ConfigKey> MakeKeys() {
  std::vector<ConfigKey> keys;
  for (const Flag& flag : Flags()) {
    const auto* const in_section = std::ranges::find(kInSections, flag.name, &ConfigKey::flag);
    if (in_section == std::end(kInSections) && !Contains(kNoKeys, flag.name))
      keys.push_back({"", flag.name, flag.name, TypeOf(flag)});
  }
  // The file of 3.4 to 3.6 has the old spellings.
  for (const OldSpelling& old : OldSpellings()) {
    const Flag* const flag = FindFlag(old.flag);
    if (flag == nullptr && old.gate.empty()) continue;  // an unknown key, as others of that time
    keys.push_back({"", old.name, old.name, flag == nullptr ? kBool : TypeOf(*flag)});
  }
  keys.insert(keys.end(), std::begin(kInSections), std::end(kInSections));
  return keys;
}

}  // namespace

std::span<const ConfigKey> ConfigKeys() {
  static const std::vector<ConfigKey> keys = MakeKeys();
  return keys;
}

const ConfigKey* FindConfigKey(std::string_view section, std::string_view key) {
  const ConfigKey* found = nullptr;
  for (const ConfigKey& each : ConfigKeys()) {
    if (each.section != section) continue;
    if (each.key == key) return &each;
    if (found == nullptr && LowerCase(std::string(key)) == each.key) found = &each;
  }
  return found;
}

std::string_view NearConfigKey(std::string_view section, std::string_view key) {
  std::string_view nearest;
  std::size_t least = kNearDistance + 1;
  for (const ConfigKey& known : ConfigKeys()) {
    if (known.section != section) continue;
    const std::size_t distance = EditDistance(key, known.key);
    if (distance >= least) continue;
    nearest = known.key;
    least = distance;
  }
  return nearest;
}

bool IsConfigSection(std::string_view path) { return Contains(kSections, path); }

}  // namespace kvorum::server
