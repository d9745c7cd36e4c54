#include "sync/store/copy.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace kvorum::sync {
namespace {

// Programs that embed the library do not have base/check.h's.
void MustHold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "copy of the store: %s\n", what);
  std::abort();
}

}  // namespace

std::pair<ObjectMap, ObjectMap> Copy::Apply(std::int64_t revision,
                                            std::span<const Change> changes) {
  ObjectMap after = objects();
  for (const Change& change : changes) {
    if (change.after) {
      after.Put(change.after);
    } else {
      after.Erase(change.before->key());
    }
  }
  ObjectMap before = Become(revision, after, changes, /*is_list=*/false);
  return {std::move(before), std::move(after)};
}

ObjectMap Copy::Replace(std::int64_t revision, ObjectMap after) {
  std::vector<Change> changes;
  MapDifference difference(objects(), after);
  for (Change change = difference.Next(); change.before || change.after;
       change = difference.Next()) {
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return Become(revision, std::move(after), changes, /*is_list=*/true);
}

ObjectMap Copy::Become(std::int64_t revision, ObjectMap after, std::span<const Change> changes,
                       bool is_list) {
  Functions known = functions();
  while (true) {
    auto values = IndexValuesOf(*known, changes);
    const std::lock_guard lock(mutex_);
    if (known != functions_) {  // an index has come
      known = functions_;
      continue;
    }
    auto of_index = values.begin();
    for (auto& [name, index] : indexes_) {
      for (std::size_t i = 0; i < changes.size(); ++i)
        index.Update(changes[i], std::move((*of_index)[i]));
      ++of_index;
    }
    for (auto& [name, missed] : missed_)
      missed.insert(missed.end(), changes.begin(), changes.end());
    ObjectMap before = std::exchange(objects_, std::move(after));
    if (is_list) {
      past_.clear();
      past_bytes_ = 0;
    }
    Remember(revision, changes);
    return before;
  }
}

void Copy::Reach(std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  revision_ = revision;
}

void Copy::Remember(std::int64_t revision, std::span<const Change> changes) {
  revision_ = revision;
  if (!past_.empty()) {
    for (const Change& change : changes) {
      if (change.before) past_.back().bytes += change.before->size_bytes();
    }
    past_bytes_ += past_.back().bytes;
  }
  past_.push_back({.revision = revision, .objects = objects_});
  while (past_.size() > 1 && (past_.size() > window_.revisions || past_bytes_ > window_.bytes)) {
    past_bytes_ -= past_.front().bytes;
    past_.pop_front();
  }
}

Result<void> Copy::AddIndex(const std::string& name, const IndexFunction& function) {
  ObjectMap objects;
  {
    const std::lock_guard lock(mutex_);
    if (indexes_.contains(name) || missed_.contains(name))
      return Fail(Code::kAlreadyExists, "there is an index of the name " + name);
    missed_[name];
    objects = objects_;
  }
  Index index;
  const auto update = [&](const Change& change) {
    index.Update(change, IndexValuesOf(function, change));
  };
  for (auto place = objects.Begin(); place.get() != nullptr; place.Next())
    update({.before = nullptr, .after = ObjectRef::Share(place.get())});
  while (true) {
    std::vector<Change> missed;
    {
      const std::lock_guard lock(mutex_);
      missed.swap(missed_[name]);
      if (missed.empty()) {
        missed_.erase(name);
        indexes_.emplace(name, std::move(index));
        auto functions = std::make_shared<IndexFunctions>(*functions_);
        functions->emplace(name, function);
        functions_ = std::move(functions);
        return {};
      }
    }
    for (const Change& change : missed) update(change);
  }
}

Copy::Functions Copy::functions() const {
  const std::lock_guard lock(mutex_);
  return functions_;
}

std::int64_t Copy::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

ObjectRef Copy::Find(std::string_view key) const { return objects().Find(key); }

ObjectMap Copy::objects() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

Result<ObjectMap> Copy::Snapshot(std::int64_t revision) const {
  const std::lock_guard lock(mutex_);
  if (revision > revision_) return Fail(Code::kOutOfRange, "the revision is still to come");
  const auto after = std::ranges::upper_bound(past_, revision, {}, &Past::revision);
  if (after == past_.begin()) return Fail(Code::kOutOfRange, "the revision has been compacted");
  return std::prev(after)->objects;
}

Result<const Index*> Copy::Named(std::string_view name) const {
  const auto found = indexes_.find(name);
  if (found == indexes_.end())
    return Fail(Code::kNotFound, "there is no index of the name " + std::string(name));
  return &found->second;
}

Result<std::vector<ObjectRef>> Copy::ByIndex(std::string_view name, std::string_view value) const {
  const std::lock_guard lock(mutex_);
  KV_TRY(const Index* index, Named(name));
  return index->Find(value);
}

Result<std::vector<std::string>> Copy::IndexValues(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  KV_TRY(const Index* index, Named(name));
  return index->Values();
}

void Copy::CheckInvariants() const {
  const std::lock_guard lock(mutex_);
  objects_.CheckInvariants();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < past_.size(); ++i) {
    bytes += past_[i].bytes;
    MustHold(i == 0 || past_[i - 1].revision < past_[i].revision, "revisions do not ascend");
  }
  MustHold(bytes == past_bytes_, "the window has other bytes than are counted");
  MustHold(past_.size() <= std::max<std::size_t>(window_.revisions, 1), "the window is too long");
  if (!past_.empty()) {
    MustHold(past_.back().revision <= revision_, "the window is ahead of the copy");
    MapDifference difference(past_.back().objects, objects_);
    for (Change change = difference.Next(); change.before || change.after;
         change = difference.Next())
      MustHold(change.before == change.after, "the newest revision has other objects");
  }
  for (const auto& [name, index] : indexes_) {
    for (const std::string& value : index.Values()) {
      for (const ObjectRef& object : index.Find(value))
        MustHold(objects_.Find(object->key()) == object, "an index has an object that is gone");
    }
  }
}

}  // namespace kvorum::sync
