// The API's texts about what this agent does not have.
#pragma once

#include <string>

#include "base/text/go_quote.h"

namespace kvorum::consul {

inline std::string UnknownService(const std::string& id) {
  return "Unknown service ID " + GoQuote(id) +
         ". Ensure that the service ID is passed, not the service name.";
}

inline std::string UnknownCheck(const std::string& id) {
  return "Unknown check ID " + GoQuote(id) +
         ". Ensure that the check ID is passed, not the check name.";
}

}  // namespace kvorum::consul
