// Records of nodes, services, checks and sessions in the store below ROOT/registry/
// (docs/consul.md), and their keys.
//
// Values; the functions are pure and thread-safe. Ids and names are decoded ones (ids.h); in the
// values of keys, as in sync::Entry, they are encoded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sync/agent/entry.h"

namespace kvorum::consul {

using sync::Health;

struct TaggedAddress {
  std::string address;
  int port = 0;
  friend bool operator==(const TaggedAddress&, const TaggedAddress&) = default;
};

struct CheckRecord {
  std::string id;
  Health health = Health::kCritical;
  std::string output = {};
  std::string name = {};
  std::string notes = {};
  // CheckTypeOf, or maintenance; empty: of the catalog alone.
  std::string type = {};
  std::string interval = {};  // Go durations' texts, as the API shows them
  std::string timeout = {};
  std::string definition = {};  // the API's Definition, a JSON object as text; empty: {}
  // The agent deregisters the service that has been critical by this check for so long; 0: never.
  std::int64_t deregister_after_ns = 0;
  friend bool operator==(const CheckRecord&, const CheckRecord&) = default;
};

struct NodeDetails {
  std::string id = {};  // a UUID or empty
  std::string address = {};
  std::map<std::string, std::string> tagged_addresses = {};
  std::map<std::string, std::string> meta = {};
  friend bool operator==(const NodeDetails&, const NodeDetails&) = default;
};

struct NodeRecord {
  std::string node;
  bool is_external = false;  // registered in the catalog; no agent answers for it
  NodeDetails details = {};
  std::vector<CheckRecord> checks = {};  // of the node, without serfHealth
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
};

struct ServiceDetails {
  std::string kind = {};
  std::vector<std::string> tags = {};
  std::string address = {};
  std::map<std::string, TaggedAddress> tagged_addresses = {};
  std::map<std::string, std::string> meta = {};
  int port = 0;
  std::string socket_path = {};
  int weight_passing = 1;
  int weight_warning = 1;
  bool enable_tag_override = false;
  friend bool operator==(const ServiceDetails&, const ServiceDetails&) = default;
};

struct ServiceRecord {
  std::string node;
  std::string id;
  std::string name;
  ServiceDetails details = {};
  std::vector<CheckRecord> checks = {};
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
};

struct SessionRecord {
  std::string id;
  std::string name = {};
  std::string node;
  std::int64_t lock_delay_ns = 15'000'000'000;
  std::string behavior = "release";  // or "delete"
  std::string ttl = {};              // a Go duration's text; empty: none
  std::vector<std::string> node_checks = {};
  std::vector<std::string> service_checks = {};
  std::int64_t lease = 0;  // of its key
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
};

// "details" of a kept record and of a check in it, as texts of JSON objects: what sync::Entry and
// sync::CheckDefinition carry.
std::string EncodeServiceDetails(const ServiceDetails& details);
std::string EncodeNodeDetails(const NodeDetails& details);
std::string EncodeCheckDetails(const CheckRecord& check);  // without id, status and output

// kInvalidArgument if the text is not such an object; an empty text is one without members. The
// check has its id as name if the details have none.
Result<ServiceDetails> DecodeServiceDetails(std::string_view details);
Result<NodeDetails> DecodeNodeDetails(std::string_view details);
Result<CheckRecord> DecodeCheckDetails(std::string_view id, std::string_view details);

// An entry of this agent as its record, without revisions. One without details is our own: its
// address and port are those that its value has, if it is ADDRESS:PORT.
ServiceRecord RecordOf(std::string_view node, const sync::Entry& entry);
CheckRecord RecordOf(const sync::Check& check);
// The Type of a check in the API: "script" for a program, else the kind's name.
std::string_view CheckTypeOf(sync::CheckKind kind);

// Values of the keys. The node's name, the id and the revisions come from the key.
std::string EncodeNode(const NodeRecord& record);
std::string EncodeService(const ServiceRecord& record);
std::string EncodeSession(const SessionRecord& record);
// kInvalidArgument if the bytes are not such a record. Unknown members are ignored.
Result<NodeRecord> DecodeNode(std::string_view node, std::string_view bytes);
Result<ServiceRecord> DecodeService(std::string_view node, std::string_view id,
                                    std::string_view bytes);
Result<SessionRecord> DecodeSession(std::string_view id, std::string_view bytes);

// The keys below ROOT/registry/, with encoded parts (ids.h). Immutable.
class RegistryKeys {
 public:
  // The root without its slash at the end.
  explicit RegistryKeys(std::string_view root) : prefix_(std::string(root) + "/registry/") {}
  const std::string& prefix() const { return prefix_; }
  // A part that cannot be encoded (ids.h: empty or too long) stands for itself.
  std::string Node(std::string_view node) const;
  std::string Service(std::string_view node, std::string_view id) const;
  std::string ServicesOf(std::string_view node) const;  // a prefix
  std::string Life(std::string_view node) const;
  std::string Session(std::string_view id) const;

  enum class Kind : std::uint8_t { kNode, kService, kLife, kSession, kOther };
  struct Parsed {
    Kind kind = Kind::kOther;
    std::string node = {};  // of a session: empty
    std::string id = {};    // of a service or a session
  };
  Parsed Parse(std::string_view key) const;

 private:
  std::string prefix_;
};

}  // namespace kvorum::consul
