// Makes the snapshots: each type's content is kept as it was last read, once for all subscribers,
// and a subscriber's snapshot is what its view leaves of it.
//
// A pure class for one executor. Costs: a hash of each resource whose bytes were not the same
// object before; for a subscriber without a view nothing, since it shares the content itself.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sync/informer/snapshot.h"

namespace kvorum::sync {

// Gives one subscriber's part of a resource: nothing (null), the bytes as they are, or other bytes.
// A view gives the same answer for the same arguments. A null view gives everything as it is.
using View = std::function<Bytes(const std::string& type, const std::string& name, const Bytes&)>;

class Reconciler {
 public:
  // The names of resources that are left out, since they are not UTF-8, which names on the wire
  // are.
  std::vector<std::string> Update(const std::string& type, const Objects& objects);
  // The snapshot that follows `before` once these types have changed. Types that are not named, or
  // have never been read, or whose content is as before, are taken over. kInternal if the view
  // throws.
  Result<Snapshot> Build(const View& view, const std::set<std::string>& types,
                         const Snapshot& before) const;

 private:
  Snapshot contents_;
};

}  // namespace kvorum::sync
