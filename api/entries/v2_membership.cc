#include "api/entries/v2_membership.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/member_id.h"

namespace kvorum::server {
namespace {

using Json = nlohmann::ordered_json;

// The tree of nodes, each of which states its own path.
class Tree {
 public:
  Tree() {
    root_ = Node("/", 0);
    root_["Children"] = Json::object();
    // The folder of clients' keys.
    root_["Children"]["1"] = Node("/1", 0);
    root_["Children"]["1"]["Children"] = Json::object();
    Folder("/0");
  }

  // Creates the folders above it.
  void Set(const std::string& path, std::string value) {
    ++index_;
    const std::size_t slash = path.rfind('/');
    Json node = Node(path, index_);
    node["Value"] = std::move(value);
    Folder(path.substr(0, slash))["Children"][path.substr(slash + 1)] = std::move(node);
  }

  std::string Text() && {
    Json store;
    store["Root"] = std::move(root_);
    store["CurrentIndex"] = index_;
    store["CurrentVersion"] = 2;
    return store.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  static Json Node(const std::string& path, std::uint64_t index) {
    Json node;
    node["Path"] = path;
    node["CreatedIndex"] = index;
    node["ModifiedIndex"] = index;
    node["ExpireTime"] = "0001-01-01T00:00:00Z";  // never
    node["Value"] = "";
    node["Children"] = nullptr;
    return node;
  }
  Json& Folder(const std::string& path) {
    Json* at = &root_;
    for (std::size_t begin = 1; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      Json& child = (*at)["Children"][path.substr(begin, end - begin)];
      if (child.is_null()) {
        child = Node(path.substr(0, end), index_);
        child["Children"] = Json::object();
      }
      at = &child;
      begin = end + 1;
    }
    return *at;
  }

  Json root_;
  std::uint64_t index_ = 0;
};

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string EncodeV2Membership(const MembershipView& view) {
  Tree tree;
  for (const auto& [id, member] : view.members) {
    const std::string folder = "/0/members/" + IdText(id);
    Json raft_attributes;
    raft_attributes["peerURLs"] = member.peer_urls;
    if (member.is_learner) raft_attributes["isLearner"] = true;
    tree.Set(folder + "/raftAttributes", TextOf(raft_attributes));
    if (member.client_urls.empty()) continue;  // it has not published itself yet
    Json attributes;
    if (!member.name.empty()) attributes["name"] = member.name;
    attributes["clientURLs"] = member.client_urls;
    tree.Set(folder + "/attributes", TextOf(attributes));
  }
  for (const raft::MemberId id : view.removed) tree.Set("/0/removed_members/" + IdText(id), "");
  if (!view.cluster_version.empty()) tree.Set("/0/version", view.cluster_version);
  return std::move(tree).Text();
}

}  // namespace kvorum::server
