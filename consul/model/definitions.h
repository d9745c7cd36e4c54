// Definitions of services and checks, as clients register them over HTTP and as files hold them.
//
// Pure functions. Errors are kInvalidArgument, and their texts are whole answers of the API. What
// an agent has no prober for (docker, os_service) and what belongs to a mesh is refused by its
// name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "consul/model/records.h"
#include "sync/agent/entry.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {

using sync::Json;

enum class Scripts : std::uint8_t {
  kRefused,
  kLocal,    // in files alone
  kAllowed,  // over HTTP too
};

struct DefinitionRules {
  // It comes from a file of the agent: an unknown member is an error; over HTTP it is ignored.
  bool is_file = false;
  Scripts scripts = Scripts::kRefused;
  std::string node_address = {};  // of services that have none of their own
};

struct ServiceForm {
  // Its id, name and checks' ids are encoded (ids.h), its details and those of its checks are set,
  // its value is where it listens: ADDRESS:PORT, or ADDRESS.
  sync::Entry entry;
  std::vector<std::string> warnings = {};  // what was raised to its least
};
Result<ServiceForm> ParseService(const Json& json, const DefinitionRules& rules);

struct CheckForm {
  sync::Check check;            // as in a service's entry
  std::string service_id = {};  // not encoded; empty: it is a check of the node
  std::string token = {};
  bool has_status = false;  // the definition says how it begins
  std::vector<std::string> warnings = {};
};
Result<CheckForm> ParseCheck(const Json& json, const DefinitionRules& rules);

// A file with "service", "services", "check" or "checks", with entries in that order. A check of
// a service must stand beside it in the file.
struct DefinitionFile {
  std::vector<sync::Entry> entries = {};
  std::vector<std::string> warnings = {};
};
// True if the object has one of these members: it is not an entry in our form.
bool IsDefinitionFile(const Json& json);
Result<DefinitionFile> ParseDefinitionFile(std::string_view text, DefinitionRules rules);

// A check in maintenance: of the node, or of the service with the id.
sync::Check MaintenanceCheck(std::string_view service_id, std::string_view reason);
// Carries a service's maintenance over to its new registration, as when its file has changed.
void KeepMaintenance(const sync::Entry& old, sync::Entry& entry);
// The place where a service listens, as its entry's value.
std::string ValueOf(const ServiceDetails& details, std::string_view node_address);
// The API's texts about metadata and weights; also for what is registered in the catalog.
Result<void> ValidateMeta(const std::map<std::string, std::string>& meta);
Result<void> ValidateWeights(const ServiceDetails& details);
// 0.0.0.0 and ::, with brackets or without.
bool IsAnyAddress(std::string_view address);

}  // namespace kvorum::consul
