// The messages of proto/discovery.proto and ours, for their carriers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sync/delta/delta_message.h"

namespace envoy::service::discovery::v3 {
class DeltaDiscoveryRequest;
class DeltaDiscoveryResponse;
}  // namespace envoy::service::discovery::v3

namespace kvorum::sync {

// Node, types, names and versions are UTF-8, or the other side refuses the message; a refusal's
// text is made so.
DeltaRequest FromWire(const envoy::service::discovery::v3::DeltaDiscoveryRequest& message);
DeltaResponse FromWire(const envoy::service::discovery::v3::DeltaDiscoveryResponse& message);
void ToWire(const DeltaRequest& request, envoy::service::discovery::v3::DeltaDiscoveryRequest& to);
void ToWire(const DeltaResponse& response,
            envoy::service::discovery::v3::DeltaDiscoveryResponse& to);
// The same messages as bytes. nullopt: the bytes are not such a message.
std::optional<DeltaRequest> DeltaRequestFromBytes(std::string_view bytes);
std::string BytesOf(const DeltaResponse& response);

}  // namespace kvorum::sync
