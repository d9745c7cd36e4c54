#include "sync/delta/delta_wire.h"

#include <memory>

#include "base/error.h"
#include "proto/discovery.pb.h"
#include "sync/agent/entry.h"

namespace kvorum::sync {
namespace {

namespace wire = envoy::service::discovery::v3;

}  // namespace

DeltaRequest FromWire(const wire::DeltaDiscoveryRequest& message) {
  DeltaRequest request{
      .node = message.node().id(),
      .type = message.type_url(),
      .subscribe = {message.resource_names_subscribe().begin(),
                    message.resource_names_subscribe().end()},
      .unsubscribe = {message.resource_names_unsubscribe().begin(),
                      message.resource_names_unsubscribe().end()},
      .initial_versions = {message.initial_resource_versions().begin(),
                           message.initial_resource_versions().end()},
      .nonce = message.response_nonce(),
  };
  if (message.has_error_detail()) request.refusal = message.error_detail().message();
  return request;
}

DeltaResponse FromWire(const wire::DeltaDiscoveryResponse& message) {
  DeltaResponse response{
      .type = message.type_url(),
      .nonce = message.nonce(),
      .system_version = message.system_version_info(),
      .removed = {message.removed_resources().begin(), message.removed_resources().end()},
  };
  for (const wire::Resource& resource : message.resources())
    response.resources.push_back(
        {resource.name(), resource.version(),
         std::make_shared<const std::string>(resource.resource().value())});
  return response;
}

void ToWire(const DeltaRequest& request, wire::DeltaDiscoveryRequest& to) {
  to.Clear();
  if (!request.node.empty()) to.mutable_node()->set_id(request.node);
  to.set_type_url(request.type);
  for (const std::string& name : request.subscribe) to.add_resource_names_subscribe(name);
  for (const std::string& name : request.unsubscribe) to.add_resource_names_unsubscribe(name);
  to.mutable_initial_resource_versions()->insert(request.initial_versions.begin(),
                                                 request.initial_versions.end());
  to.set_response_nonce(request.nonce);
  if (request.refusal) {
    to.mutable_error_detail()->set_code(static_cast<int>(Code::kInvalidArgument));
    to.mutable_error_detail()->set_message(CleanOutput(*request.refusal));
  }
}

void ToWire(const DeltaResponse& response, wire::DeltaDiscoveryResponse& to) {
  to.Clear();
  to.set_type_url(response.type);
  to.set_nonce(response.nonce);
  to.set_system_version_info(response.system_version);
  for (const DeltaResource& resource : response.resources) {
    wire::Resource& added = *to.add_resources();
    added.set_name(resource.name);
    added.set_version(resource.version);
    added.mutable_resource()->set_type_url(response.type);
    added.mutable_resource()->set_value(*resource.bytes);
  }
  for (const std::string& name : response.removed) to.add_removed_resources(name);
}

std::optional<DeltaRequest> DeltaRequestFromBytes(std::string_view bytes) {
  wire::DeltaDiscoveryRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return FromWire(message);
}

std::string BytesOf(const DeltaResponse& response) {
  wire::DeltaDiscoveryResponse message;
  ToWire(response, message);
  return message.SerializeAsString();
}

}  // namespace kvorum::sync
