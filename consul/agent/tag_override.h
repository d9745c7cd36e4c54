// EnableTagOverride: who writes a service's record in the catalog may change its tags, and they
// stay. Pure.
#pragma once

#include <optional>
#include <string>

namespace kvorum::consul {

// An entry's details with the tags of its kept record (sync::RegistryOptions::take_over); nothing:
// the service does not let others change its tags, or the record is malformed.
std::optional<std::string> WithCatalogTags(const std::string& details, const std::string& kept);

}  // namespace kvorum::consul
