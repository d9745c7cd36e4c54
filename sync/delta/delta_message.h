// The messages of the delta discovery protocol (proto/discovery.proto) in our own words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sync/informer/snapshot.h"

namespace kvorum::sync {

struct DeltaRequest {
  std::string node = {};  // in the first of a stream
  std::string type = {};
  std::vector<std::string> subscribe = {};  // none in a type's first request, or "*": everything
  std::vector<std::string> unsubscribe = {};
  // Name to version of what the subscriber holds; in a type's first request.
  std::map<std::string, std::string> initial_versions = {};
  std::string nonce = {};                   // of the response that this one answers
  std::optional<std::string> refusal = {};  // why the response was refused
};

struct DeltaResource {
  std::string name;
  std::string version;
  Bytes bytes;
};

struct DeltaResponse {
  std::string type = {};
  std::string nonce = {};
  std::string system_version = {};  // of the type's whole set
  std::vector<DeltaResource> resources = {};
  std::vector<std::string> removed = {};
};

// Ends the system version of a response that more responses complete: the set that it belongs to
// was too large for one message. Other people's clients show the field to people, and nothing else.
inline constexpr std::string_view kPartialMark = "+";

// Stands for all resources of a type in a list of names.
inline constexpr std::string_view kAllNames = "*";

}  // namespace kvorum::sync
