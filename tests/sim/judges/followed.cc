#include "tests/sim/judges/followed.h"

#include <utility>

namespace kvorum::sim {

bool Followed::Reaches(std::int64_t revision) {
  if (world_.failed()) return false;
  if (revision > events_.last_revision()) {
    world_.Fail("{} is told of revision {}, and nothing above {} is published", name_, revision,
                events_.last_revision());
  } else if (revision < replay_.revision()) {
    world_.Fail("{} is told of revision {} behind {}", name_, revision, replay_.revision());
  }
  return !world_.failed();
}

void Followed::OnListBegin(std::int64_t revision) {
  if (!Reaches(revision)) return;
  if (lists_ != 0) world_.faults.Add(Fault::kSourceListedAgain);
  ++lists_;
  list_revision_ = revision;
  listed_.clear();
}

void Followed::OnListPage(std::vector<sync::KeyValue> kvs) {
  for (sync::KeyValue& kv : kvs) {
    if (!listed_.empty() && kv.key <= listed_.rbegin()->first)
      return world_.Fail("{} is given {} behind {} in a list", name_, kv.key,
                         listed_.rbegin()->first);
    std::string key = kv.key;
    listed_.emplace(std::move(key), std::move(kv));
  }
}

void Followed::OnListEnd() {
  if (!Reaches(list_revision_)) return;
  replay_.Advance(list_revision_);
  world_.Note("{} has listed {} keys at revision {}", name_, listed_.size(), list_revision_);
  if (listed_ != replay_.rows()) {
    world_.Fail("{} is given a list of {} keys at revision {}, which is not the state there", name_,
                listed_.size(), list_revision_);
  }
}

void Followed::OnRevision(std::int64_t revision, std::vector<sync::Event> events) {
  OnProgress(revision - 1);
  if (!Reaches(revision)) return;
  const std::vector<PublishedEvent> owed = replay_.EventsAt(revision);
  if (revision == replay_.revision() || owed.size() != events.size()) {
    return world_.Fail("{} is given {} events of revision {} behind {}, which has {}", name_,
                       events.size(), revision, replay_.revision(), owed.size());
  }
  for (std::size_t i = 0; i < owed.size(); ++i) Same(events[i], owed[i]);
  replay_.Advance(revision);
}

void Followed::Same(const sync::Event& told, const PublishedEvent& owed) {
  const sync::KeyValue row = RowOf(owed.record);
  const bool is_same = told.is_delete == owed.is_delete && told.kv.key == row.key &&
                       (told.is_delete || told.kv == row);
  const bool has_previous = told.prev.mod_revision != 0;
  const bool is_previous_right =
      !has_previous || (!owed.previous.empty() && told.prev == RowOf(owed.previous));
  if (!is_same || !is_previous_right)
    world_.Fail("{} is given another event of {} than was published", name_, told.kv.key);
}

void Followed::OnProgress(std::int64_t revision) {
  if (!Reaches(revision)) return;
  for (std::int64_t each = replay_.revision() + 1; each <= revision; ++each) {
    if (!replay_.EventsAt(each).empty())
      return world_.Fail("{} is at revision {}, and was not given revision {}", name_, revision,
                         each);
  }
  replay_.Advance(revision);
}

void Followed::OnError(const Error& error) { world_.Note("{}: {}", name_, error.message); }

}  // namespace kvorum::sim
