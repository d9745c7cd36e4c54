// The subscriber's side of the delta discovery protocol: what it holds of each type, what it
// announces when a stream begins, and how it handles a response.
//
// A pure class for one executor; it calls the sink, and nothing else. A response is applied as far
// as it can be: a resource that the sink refuses is skipped and named in the answer, and the rest
// is applied. Content that is held already is not written again, even with another version.
// After the first complete set of a stream that could present no versions, what was not in it is
// removed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "sync/delta/delta_message.h"
#include "sync/kernel/content_hash.h"

namespace kvorum::sync {

// Keeps a subscriber's resources. May block where the executor may.
class DeltaSink {
 public:
  struct Held {
    std::string version;  // empty: not known
    ContentHash content;
  };

  virtual ~DeltaSink() = default;
  // The resources of the type that are there already, by name. Asked once. If a version is unknown
  // the server sends the whole set.
  virtual std::map<std::string, Held> Load(const std::string& type) = 0;
  // An error says why the resource is not valid, to the reader of the server's log.
  virtual Result<void> Put(const std::string& type, const DeltaResource& resource) = 0;
  virtual void Remove(const std::string& type, const std::string& name) = 0;
};

class DeltaReceiver {
 public:
  DeltaReceiver(DeltaSink& sink, std::string node, const std::vector<std::string>& types);

  // The requests that begin a stream.
  std::vector<DeltaRequest> Begin();
  // Applies the response; the answer to it.
  DeltaRequest Receive(const DeltaResponse& response);

 private:
  struct Type {
    std::map<std::string, DeltaSink::Held> held;
    // The names of the whole set that is coming, as far as it has come.
    std::optional<std::set<std::string>> whole;
  };
  // Says why the resource was refused.
  Result<void> Put(Type& type, const std::string& type_name, const DeltaResource& resource);
  void Remove(Type& type, const std::string& type_name, const std::string& name);
  void RemoveOthers(Type& type, const std::string& type_name);

  DeltaSink& sink_;
  const std::string node_;
  std::map<std::string, Type> types_;
};

}  // namespace kvorum::sync
