// The parts of a query that choose among what a question is about: ?node-meta, ?tag, ?near,
// ?passing, ?filter. They change no index.
//
// Values; used by one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/model/filter.h"

namespace kvorum::consul {

class Selection {
 public:
  // Nothing: the exchange was answered with the API's error (a bad ?filter or ?passing).
  static std::optional<Selection> Of(Exchange& exchange, const std::string& own_node,
                                     FilterRows rows);

  bool has_node_meta() const { return !node_meta_.empty(); }
  bool has_filter() const { return filter_.has_value(); }
  bool only_passing() const { return only_passing_; }

  bool TakesNode(const NodeRecord& node) const;
  bool TakesTags(const std::vector<std::string>& tags) const;
  bool TakesInstance(const Instance& instance) const;
  bool TakesJson(const Json& item) const;

  // The node that is asked for goes first, the rest stays in order.
  void SortNodes(std::vector<NodeView>& nodes) const;
  void SortInstances(std::vector<Instance>& instances) const;

 private:
  std::vector<std::pair<std::string, std::string>> node_meta_;
  std::vector<std::string> tags_;
  std::string near_;  // a node's name; empty: no order is asked for
  bool only_passing_ = false;
  std::optional<Filter> filter_;
};

}  // namespace kvorum::consul
