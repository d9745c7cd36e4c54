#include "sync/delta/delta_receiver.h"

#include <algorithm>
#include <utility>

namespace kvorum::sync {
namespace {

// The text of an answer that refuses some resources of a response.
class Refusals {
 public:
  void Add(const std::string& name, const std::string& reason) {
    ++count_;
    if (named_.size() < kMaxBytes) named_ += (named_.empty() ? "" : "; ") + name + ": " + reason;
  }
  std::optional<std::string> Text(std::size_t of) const {
    if (count_ == 0) return std::nullopt;
    std::string text =
        std::to_string(count_) + " of " + std::to_string(of) + " resources refused: " + named_;
    if (text.size() > kMaxBytes) text.resize(kMaxBytes);
    return text;
  }

 private:
  static constexpr std::size_t kMaxBytes = 4096;

  std::size_t count_ = 0;
  std::string named_;
};

}  // namespace

DeltaReceiver::DeltaReceiver(DeltaSink& sink, std::string node,
                             const std::vector<std::string>& types)
    : sink_(sink), node_(std::move(node)) {
  for (const std::string& type : types) types_[type].held = sink.Load(type);
}

std::vector<DeltaRequest> DeltaReceiver::Begin() {
  std::vector<DeltaRequest> requests;
  for (auto& [name, type] : types_) {
    DeltaRequest request{.node = node_, .type = name};
    type.whole.reset();
    for (const auto& [resource, held] : type.held) {
      if (!held.version.empty()) request.initial_versions[resource] = held.version;
    }
    if (request.initial_versions.size() < type.held.size() || type.held.empty()) {
      request.initial_versions.clear();
      type.whole.emplace();
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

DeltaRequest DeltaReceiver::Receive(const DeltaResponse& response) {
  DeltaRequest answer{.type = response.type, .nonce = response.nonce};
  const auto place = types_.find(response.type);
  if (place == types_.end()) {
    answer.refusal = "type " + response.type + " was not asked for";
    return answer;
  }
  Type& type = place->second;
  std::set<std::string> added;
  for (const DeltaResource& resource : response.resources) added.insert(resource.name);
  for (const std::string& name : response.removed) {
    if (!added.contains(name)) Remove(type, response.type, name);
  }
  Refusals refusals;
  for (const DeltaResource& resource : response.resources) {
    if (type.whole) type.whole->insert(resource.name);
    if (const auto put = Put(type, response.type, resource); !put)
      refusals.Add(resource.name, put.error().message);
  }
  if (!response.system_version.ends_with(kPartialMark)) RemoveOthers(type, response.type);
  answer.refusal = refusals.Text(response.resources.size());
  return answer;
}

Result<void> DeltaReceiver::Put(Type& type, const std::string& type_name,
                                const DeltaResource& resource) {
  const ContentHash content = HashOf(*resource.bytes);
  if (const auto held = type.held.find(resource.name);
      held != type.held.end() && held->second.content == content) {
    held->second.version = resource.version;
    return {};
  }
  KV_RETURN_IF_ERROR(sink_.Put(type_name, resource));
  type.held.insert_or_assign(resource.name, DeltaSink::Held{resource.version, content});
  return {};
}

void DeltaReceiver::Remove(Type& type, const std::string& type_name, const std::string& name) {
  if (type.whole) type.whole->erase(name);
  if (type.held.erase(name) != 0) sink_.Remove(type_name, name);
}

void DeltaReceiver::RemoveOthers(Type& type, const std::string& type_name) {
  if (!type.whole) return;
  const std::set<std::string> whole = std::move(*type.whole);
  type.whole.reset();
  std::erase_if(type.held, [&](const auto& held) {
    if (whole.contains(held.first)) return false;
    sink_.Remove(type_name, held.first);
    return true;
  });
}

}  // namespace kvorum::sync
