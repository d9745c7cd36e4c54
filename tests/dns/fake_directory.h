// A directory of the test's own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dns/directory.h"

namespace kvorum::dns {

class FakeDirectory final : public Directory {
 public:
  FakeDirectory& Add(const std::string& name, std::string_view value, bool is_healthy = true) {
    services_[name].push_back({.is_healthy = is_healthy, .endpoint = ParseEndpoint(value)});
    return *this;
  }
  void set_revision(std::int64_t revision) { revision_ = revision; }

  std::int64_t revision() const override { return revision_; }
  std::vector<Instance> Find(const std::string& name) const override {
    const auto found = services_.find(name);
    return found == services_.end() ? std::vector<Instance>() : found->second;
  }

 private:
  std::map<std::string, std::vector<Instance>> services_;
  std::int64_t revision_ = 7;
};

}  // namespace kvorum::dns
