// The ways to a state of an archive: the plan by its listing, and where an object of that turns out
// damaged, the plan without it. A detour leads to the same state or is refused: nothing that a
// damaged object held is left out in silence.
//
// Used by one thread at a time; reads the beginning of a part of each base that lacks its manifest.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "archive/catalog/contents.h"
#include "archive/restore/base_reader.h"
#include "archive/restore/object_reads.h"
#include "archive/store/object_store.h"
#include "base/error.h"

namespace kvorum::archive {

class Plans {
 public:
  // `contents` is sorted and has the histories' records.
  Plans(ObjectStore& store, Contents contents, std::optional<HistoryId> history, Target target)
      : store_(store), contents_(std::move(contents)), history_(history), target_(target) {}

  // MakePlan's errors; after a damaged object, kDataLoss with that and with what can be restored.
  Result<Plan> Next();
  // From now on plans go without the object to blame. False if the error blames none.
  bool PassOver(const ObjectError& error);

  BaseToRead BaseOf(const Plan& plan) const;
  const Contents& contents() const { return contents_; }

 private:
  bool LeadsAsFar(const Plan& plan) const;
  void Forget(HistoryId id, const ObjectName& name);

  ObjectStore& store_;
  Contents contents_;
  const std::optional<HistoryId> history_;
  const Target target_;
  bool is_begun_ = false;
  std::optional<Plan> first_;
  std::optional<Error> damage_;          // the first
  std::set<BaseName> without_manifest_;  // bases whose manifest is damaged
};

// The last entry that the plan's objects have.
raft::Index EndOf(const Plan& plan);

}  // namespace kvorum::archive
