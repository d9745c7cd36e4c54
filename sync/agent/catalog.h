// The catalog's form in the store, which agents write and everybody reads.
//
//   ROOT/nodes/NODE                 an agent's session: who holds this key may write the rest
//   ROOT/catalog/NODE/ID            the record of an entry
//   ROOT/services/NAME/NODE.ID      the same record, found by the service's name
//
// All three hang on the agent's lease. A record is JSON:
//   {"id":"web1","name":"web","value":"10.0.0.1:80","checks":[{"id":"up","status":"passing","output":""}]}
// A value that is not UTF-8 stands as "value_base64" instead. Unknown members are ignored.
//
// An agent that keeps records writes these too. The first two are on no lease, so that what was
// registered outlives its agent; the third is on the agent's lease and tells that it lives:
//
//   ROOT/registry/node/NODE         {"is_external":false,"details":{},"checks":[CHECK,...]}
//   ROOT/registry/service/NODE/ID   {"id":"web1","name":"web","value":"10.0.0.1:80","details":{},
//                                    "checks":[CHECK,...]}
//   ROOT/registry/life/NODE         empty
//
// where CHECK is {"id":"up","status":"passing","output":"","details":{}}. Details are objects that
// this library carries and does not read (entry.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sync/agent/entry.h"

namespace kvorum::sync {

struct CheckStatus {
  std::string id;
  Health health = Health::kCritical;
  std::string output = {};

  friend bool operator==(const CheckStatus&, const CheckStatus&) = default;
};

struct CatalogRecord {
  std::string id;
  std::string name;
  std::string value;
  std::vector<CheckStatus> checks = {};

  friend bool operator==(const CatalogRecord&, const CatalogRecord&) = default;
};

// The worst of the checks; passing without any.
Health HealthOfRecord(const CatalogRecord& record);

std::string EncodeRecord(const CatalogRecord& record);
// kInvalidArgument if the bytes are not a record.
Result<CatalogRecord> DecodeRecord(std::string_view bytes);

struct KeptCheck {
  CheckStatus status;
  std::string details = {};
};

struct KeptService {
  std::string id;
  std::string name;
  std::string value;
  std::string details = {};
  std::vector<KeptCheck> checks = {};
};

struct KeptNode {
  bool is_external = false;
  std::string details = {};
  std::vector<KeptCheck> checks = {};
};

// Details must be valid (ValidateDetails).
std::string EncodeKeptService(const KeptService& record);
std::string EncodeKeptNode(const KeptNode& record);
// The record of the same service on the lease.
CatalogRecord LeasedOf(const KeptService& record);

// Node, id and name are valid names (entry.h). Immutable.
class CatalogKeys {
 public:
  // The root without its slash at the end.
  explicit CatalogKeys(std::string root) : root_(std::move(root)) {}

  std::string Nodes() const { return root_ + "/nodes/"; }
  std::string Node(std::string_view node) const { return Nodes().append(node); }
  std::string EntriesOf(std::string_view node) const {
    return (root_ + "/catalog/").append(node) + "/";
  }
  std::string EntryOf(std::string_view node, std::string_view id) const {
    return EntriesOf(node).append(id);
  }
  std::string Services() const { return root_ + "/services/"; }
  std::string Service(std::string_view name) const { return Services().append(name) + "/"; }
  std::string ServiceEntry(std::string_view name, std::string_view node,
                           std::string_view id) const {
    return Service(name).append(node) + "." + std::string(id);
  }

  std::string KeptNode(std::string_view node) const {
    return (root_ + "/registry/node/").append(node);
  }
  std::string KeptServicesOf(std::string_view node) const {
    return (root_ + "/registry/service/").append(node) + "/";
  }
  std::string KeptService(std::string_view node, std::string_view id) const {
    return KeptServicesOf(node).append(id);
  }
  std::string Life(std::string_view node) const { return (root_ + "/registry/life/").append(node); }

 private:
  std::string root_;
};

}  // namespace kvorum::sync
