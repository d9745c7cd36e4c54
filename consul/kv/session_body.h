// The body of /v1/session/create, and sessions as the API writes them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/model/api_json.h"
#include "consul/model/records.h"

namespace kvorum::consul {

// Why there is no such session, as it is answered.
struct SessionRefusal {
  unsigned status = 500;
  std::string text;
};

struct WantedSession {
  SessionRecord record;
  Duration ttl{};  // zero: none
};
// The node is the agent's own unless the body names one. The id is left empty.
std::expected<WantedSession, SessionRefusal> ParseSession(const Json& body, std::string_view node);

// The things that a session leans on, in the catalog as it is now.
struct SessionGround {
  NodeView node;
  std::vector<ServiceRef> services;  // of the node
};

// One of a session's checks.
struct CheckFound {
  bool exists = false;
  bool is_critical = false;
  bool is_life = false;     // serfHealth, which no record holds: the node's life is compared
  ServiceRef service = {};  // whose check it is; null: the node's
};
CheckFound FindCheck(const SessionGround& ground, std::string_view check);
std::vector<std::string> ChecksOf(const SessionRecord& session);  // both lists
bool LeansOnLife(const SessionRecord& session, const SessionGround& ground);

// Nothing is wrong: the session may begin. kFailedPrecondition with the API's text otherwise.
Result<void> CheckGround(const SessionRecord& session, const SessionGround& ground);

// A random UUID.
std::string NewSessionId();

}  // namespace kvorum::consul
