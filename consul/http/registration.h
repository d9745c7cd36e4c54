// The bodies of catalog/register and catalog/deregister, and what a registration makes of the
// records that are there.
//
// Values; the functions are pure. Errors: kInvalidArgument if the body does not decode (the API's
// 400), kFailedPrecondition with the servers' own text (500), kResourceExhausted for a record that
// is too large (413).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "consul/http/exchange.h"
#include "consul/model/records.h"

namespace kvorum::consul {

bool IsUuid(std::string_view text);

struct RegisteredCheck {
  CheckRecord check;
  std::string service_id = {};  // empty: of the node
};

struct Registration {
  std::string node;
  std::string datacenter = {};
  NodeDetails details = {};
  bool skips_node_update = false;
  std::optional<ServiceRecord> service = {};
  std::vector<RegisteredCheck> checks = {};
};
Result<Registration> ParseRegistration(const Json& body);

struct Deregistration {
  std::string node;
  std::string datacenter = {};
  std::string service_id = {};
  std::string check_id = {};
};
Result<Deregistration> ParseDeregistration(const Json& body);

// The records of a node that a registration is about. A service that is not there has no entry.
struct NodeRecords {
  std::optional<NodeRecord> node = {};
  std::map<std::string, ServiceRecord> services = {};  // by id
};
// The ids of the services that it is about.
std::vector<std::string> ServicesOf(const Registration& registration);
// Changes the records to what is registered: a node that was not there is an external one. An
// agent's node answers for itself: is_alive says that there is one.
Result<void> Apply(const Registration& registration, bool is_alive, NodeRecords& records);
// Removes the check; false if there is none of that id.
bool RemoveCheck(std::vector<CheckRecord>& checks, const std::string& id);

}  // namespace kvorum::consul
