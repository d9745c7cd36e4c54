#include "consul/agent/tag_override.h"

#include <utility>

#include "consul/model/records.h"

namespace kvorum::consul {

std::optional<std::string> WithCatalogTags(const std::string& details, const std::string& kept) {
  auto ours = DecodeServiceDetails(details);
  if (!ours || !ours->enable_tag_override) return std::nullopt;
  // Node and id are of the key, and not looked at here.
  auto theirs = DecodeService("", "", kept);
  if (!theirs) return std::nullopt;
  ours->tags = std::move(theirs->details.tags);
  return EncodeServiceDetails(*ours);
}

}  // namespace kvorum::consul
