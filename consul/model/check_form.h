// A check's definition as part of a service's; for definitions.cc.
#pragma once

#include <optional>
#include <string>

#include "consul/model/definitions.h"

namespace kvorum::consul {

struct CheckOwner {
  std::optional<std::string> service_name = {};  // nothing: it was sent by itself
  std::string default_id = {};
};

// Nothing: it is the empty check of a service. Its bounds (sync/agent/entry.h) are not checked.
Result<std::optional<CheckForm>> ParseCheckOf(const Json& json, const CheckOwner& owner,
                                              const DefinitionRules& rules);

}  // namespace kvorum::consul
