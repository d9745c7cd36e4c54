// The store as one would write it if nothing had to be fast: the list of all changes ever made,
// looked through from the start for each question. Answers are texts, to be compared with those of
// the real store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/api_errors.h"
#include "base/crc32c.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/revision.h"
#include "mvcc/records/txn.h"
#include "mvcc/store/hash.h"

namespace kvorum::mvcc {

// ---- answers as texts ----

inline std::string ShowPair(std::string_view encoded) {
  const Result<KeyValue> kv = DecodeKeyValue(encoded);
  if (!kv) return "<" + kv.error().message + ">";
  std::ostringstream out;
  out << kv->key << "=" << kv->value << "/" << kv->create_revision << "/" << kv->mod_revision << "/"
      << kv->version << "/" << kv->lease;
  return out.str();
}
inline std::string ShowAnswer(const RangeResult& result) {
  std::ostringstream out;
  out << "range rev " << result.revision << " count " << result.count << " more " << result.more;
  for (std::size_t i = 0; i < result.rows.size(); ++i) out << " " << ShowPair(result.rows[i]);
  return out.str();
}
inline std::string ShowAnswer(const PutResult& result) {
  return "put rev " + std::to_string(result.revision) +
         (result.prev_kv.empty() ? "" : " prev " + ShowPair(result.prev_kv.view()));
}
inline std::string ShowAnswer(const DeleteRangeResult& result) {
  std::ostringstream out;
  out << "delete rev " << result.revision << " deleted " << result.deleted;
  for (std::size_t i = 0; i < result.prev_kvs.size(); ++i)
    out << " " << ShowPair(result.prev_kvs[i]);
  return out.str();
}
inline std::string ShowAnswer(std::monostate) { return "nothing"; }
inline std::string ShowAnswer(const TxnResult& result);
inline std::string ShowAnswer(const std::unique_ptr<TxnResult>& result) {
  return ShowAnswer(*result);
}
inline std::string ShowAnswer(const TxnResult& result) {
  std::string text = "txn rev ";
  text.append(std::to_string(result.revision)).append(result.succeeded ? " then {" : " else {");
  for (const OpResult& response : result.responses) {
    text += std::visit([](const auto& answer) { return ShowAnswer(answer); }, response) + "; ";
  }
  return text + "}";
}
template <class T>
std::string ShowAnswer(const Result<T>& result) {
  return result.has_value() ? ShowAnswer(*result) : "error " + result.error().message;
}

// ---- the model ----

class StoreModel {
 public:
  explicit StoreModel(const std::set<std::int64_t>& leases) : leases_(&leases) {}

  std::int64_t revision() const { return revision_; }
  std::int64_t compact_revision() const { return compact_revision_; }

  std::string Range(const RangeRequest& request) const {
    if (request.revision > revision_) return Error(kErrFutureRev);
    const std::int64_t at = request.revision <= 0 ? revision_ : request.revision;
    if (at < compact_revision_) return Error(kErrCompacted);
    return RangeAt(request, at, revision_);
  }

  std::string Put(const PutRequest& request) {
    Work work{*this};
    std::string refused = work.CheckPut(request);
    if (!refused.empty()) return refused;
    std::string answer = work.Put(request);
    work.End();
    return answer;
  }

  std::string Delete(const DeleteRangeRequest& request) {
    Work work{*this};
    std::string answer = work.Delete(request);
    work.End();
    return answer;
  }

  std::string Txn(const TxnRequest& request) {
    const StoreModel before = *this;
    if (std::string refused = before.Check(before, request, {}); !refused.empty()) return refused;
    Work work{*this};
    std::string answer = work.Txn(before, request, /*nested=*/false);
    work.End();
    return answer;
  }

  std::string Compact(std::int64_t revision) {
    if (revision <= compact_revision_) return Error(kErrCompacted);
    if (revision > revision_) return Error(kErrFutureRev);
    compact_revision_ = revision;
    return "compacted";
  }

  // HashKV by its definition, for a compaction at `compacted`.
  std::uint32_t Hash(std::int64_t compacted, std::int64_t revision) const {
    return Hash(compacted, revision, /*old_if_none_lives=*/true);
  }
  // The hash that a compaction at `revision` leaves, where the one before it was at `compacted`.
  std::uint32_t HashOfCompaction(std::int64_t compacted, std::int64_t revision) const {
    return Hash(compacted, revision, /*old_if_none_lives=*/false);
  }

  // The records that a finished compaction leaves: "2.0", "3.1t".
  std::vector<std::string> Records() const {
    const std::set<Revision> live = LiveRevisions(compact_revision_);
    std::vector<std::string> records;
    for (const Change& change : changes_) {
      const bool tombstone_there = change.at.main == compact_revision_ && change.tombstone;
      if (change.at.main > compact_revision_ || live.contains(change.at) || tombstone_there) {
        records.push_back(std::to_string(change.at.main) + "." + std::to_string(change.at.sub) +
                          (change.tombstone ? "t" : ""));
      }
    }
    return records;
  }

 private:
  struct Change {
    std::string key;
    std::string value;
    std::int64_t lease = 0;
    std::int64_t create = 0;
    std::int64_t version = 0;
    Revision at;
    bool tombstone = false;
  };

  std::uint32_t Hash(std::int64_t compacted, std::int64_t revision, bool old_if_none_lives) const {
    const std::set<Revision> live = LiveRevisions(revision);
    const std::set<Revision> on_disk = LiveRevisions(compacted);
    std::uint32_t crc = Crc32c(0, "key");
    for (const Change& change : changes_) {
      if (change.at.main > revision) break;
      if (change.at.main <= compacted) {
        if (!live.contains(change.at) && !(live.empty() && old_if_none_lives)) continue;
        if (!on_disk.contains(change.at)) continue;
      }
      crc = Crc32c(crc, RevisionKey(change.at, change.tombstone).view());
      crc = Crc32c(crc, Encode(change));
    }
    return crc;
  }

  static std::string Error(const ApiError& error) { return "error " + std::string(error.message); }

  static std::string Encode(const Change& change) {
    KeyValue kv;
    kv.key = change.key;
    if (!change.tombstone) {
      kv.value = change.value;
      kv.create_revision = change.create;
      kv.mod_revision = change.at.main;
      kv.version = change.version;
      kv.lease = change.lease;
    }
    return mvcc::Encode(kv);
  }

  static bool InRange(std::string_view key, std::string_view begin, std::string_view end) {
    if (end.empty()) return key == begin;
    if (end == std::string_view("\0", 1)) return key >= begin;
    return key >= begin && key < end;
  }

  // All live pairs by key.
  std::map<std::string, Change> Live(std::int64_t at) const {
    std::map<std::string, Change> live;
    for (const Change& change : changes_) {
      if (change.at.main > at) break;
      if (change.tombstone) {
        live.erase(change.key);
      } else {
        live[change.key] = change;
      }
    }
    return live;
  }
  std::set<Revision> LiveRevisions(std::int64_t at) const {
    std::set<Revision> revisions;
    for (const auto& [key, change] : Live(at)) revisions.insert(change.at);
    return revisions;
  }
  std::vector<Change> LiveIn(std::string_view begin, std::string_view end, std::int64_t at) const {
    std::vector<Change> found;
    for (const auto& [key, change] : Live(at)) {
      if (InRange(key, begin, end)) found.push_back(change);
    }
    return found;
  }

  std::string RangeAt(const RangeRequest& request, std::int64_t at, std::int64_t header) const {
    std::vector<Change> found = LiveIn(request.key, request.range_end, at);
    const std::size_t count = found.size();
    if (request.count_only) found.clear();
    const bool filtered = request.min_mod_revision != 0 || request.max_mod_revision != 0 ||
                          request.min_create_revision != 0 || request.max_create_revision != 0;
    const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(request.limit, 0));
    if (request.sort_order == SortOrder::kNone && !filtered && limit > 0) {
      found.resize(std::min(found.size(), limit + 1));
    }
    std::erase_if(found, [&](const Change& c) {
      return (request.max_mod_revision != 0 && c.at.main > request.max_mod_revision) ||
             (request.min_mod_revision != 0 && c.at.main < request.min_mod_revision) ||
             (request.max_create_revision != 0 && c.create > request.max_create_revision) ||
             (request.min_create_revision != 0 && c.create < request.min_create_revision);
    });
    const auto less = [&](const Change& a, const Change& b) {
      switch (request.sort_target) {
        case SortTarget::kKey:
          return a.key < b.key;
        case SortTarget::kVersion:
          return a.version < b.version;
        case SortTarget::kCreate:
          return a.create < b.create;
        case SortTarget::kMod:
          return a.at.main < b.at.main;
        case SortTarget::kValue:
          return a.value < b.value;
      }
      return false;
    };
    if (request.sort_order == SortOrder::kDescend) {
      std::ranges::stable_sort(found, [&](const Change& a, const Change& b) { return less(b, a); });
    } else {
      std::ranges::stable_sort(found, less);
    }
    const bool more = limit > 0 && found.size() > limit;
    if (more) found.resize(limit);
    RangeResult result;
    result.revision = header;
    result.count = static_cast<std::int64_t>(count);
    result.more = more;
    std::ostringstream out;
    out << ShowAnswer(result);
    for (Change& change : found) {
      if (request.keys_only) {
        change.value.clear();
        if (request.sort_target != SortTarget::kValue) change.lease = 0;
      }
      out << " " << ShowPair(Encode(change));
    }
    return out.str();
  }

  bool Holds(const Compare& compare) const {
    const std::vector<Change> found = LiveIn(compare.key, compare.range_end, revision_);
    if (found.empty()) return compare.target != CompareTarget::kValue && Holds(compare, Change());
    return std::ranges::all_of(found, [&](const Change& change) { return Holds(compare, change); });
  }
  static bool Holds(const Compare& compare, const Change& change) {
    int order = 0;
    const auto to = [&](std::int64_t number) {
      order = number < compare.number ? -1 : number > compare.number ? 1 : 0;
    };
    switch (compare.target) {
      case CompareTarget::kVersion:
        to(change.version);
        break;
      case CompareTarget::kCreate:
        to(change.create);
        break;
      case CompareTarget::kMod:
        to(change.at.main);
        break;
      case CompareTarget::kLease:
        to(change.lease);
        break;
      case CompareTarget::kValue:
        order = std::string_view(change.value).compare(compare.value);
        break;
    }
    switch (compare.result) {
      case CompareResult::kEqual:
        return order == 0;
      case CompareResult::kNotEqual:
        return order != 0;
      case CompareResult::kGreater:
        return order > 0;
      case CompareResult::kLess:
        return order < 0;
    }
    return true;
  }
  bool Succeeds(const TxnRequest& request) const {
    return std::ranges::all_of(request.compare, [&](const Compare& c) { return Holds(c); });
  }

  // The first refusal on the txn's way, or nothing. `deleted` are the deletes before.
  using Deletes = std::vector<DeleteRangeRequest>;
  std::string Check(const StoreModel& before, const TxnRequest& request, Deletes deleted) const {
    return CheckBranch(before, request, deleted);
  }
  std::string CheckBranch(const StoreModel& before, const TxnRequest& request,
                          Deletes& deleted) const {
    for (const RequestOp& op : before.Succeeds(request) ? request.success : request.failure) {
      std::string refused;
      if (const auto* range = std::get_if<RangeRequest>(&op)) {
        if (range->revision > revision_) refused = Error(kErrFutureRev);
        if (range->revision != 0 && range->revision < compact_revision_) {
          refused = Error(kErrCompacted);
        }
      } else if (const auto* put = std::get_if<PutRequest>(&op)) {
        refused = CheckPut(*put);
        for (const DeleteRangeRequest& del : deleted) {
          const bool ignores = put->ignore_value || put->ignore_lease;
          if (refused.empty() && ignores && InRange(put->key, del.key, del.range_end)) {
            refused = Error(kErrKeyNotFound);
          }
        }
      } else if (const auto* del = std::get_if<DeleteRangeRequest>(&op)) {
        deleted.push_back(*del);
      } else if (const auto* nested = std::get_if<std::unique_ptr<TxnRequest>>(&op)) {
        refused = CheckBranch(before, **nested, deleted);
      }
      if (!refused.empty()) return refused;
    }
    return {};
  }
  std::string CheckPut(const PutRequest& put) const {
    if (put.lease != 0 && !leases_->contains(put.lease)) return Error(kErrLeaseNotFound);
    if ((put.ignore_value || put.ignore_lease) && !Live(INT64_MAX).contains(std::string(put.key))) {
      return Error(kErrKeyNotFound);
    }
    return {};
  }

  // A transaction in progress.
  struct Work {
    StoreModel& model;
    std::int64_t changes = 0;

    std::int64_t revision() const { return model.revision_ + (changes > 0 ? 1 : 0); }
    void End() const { model.revision_ = revision(); }

    std::string CheckPut(const PutRequest& request) const { return model.CheckPut(request); }

    std::string Put(const PutRequest& request) {
      const std::map<std::string, Change> live = model.Live(INT64_MAX);
      const auto old = live.find(std::string(request.key));
      Change change{.key = std::string(request.key),
                    .value = std::string(request.value),
                    .lease = request.lease,
                    .create = model.revision_ + 1,
                    .version = 1,
                    .at = {model.revision_ + 1, changes}};
      PutResult result{.revision = model.revision_ + 1, .prev_kv = {}};
      if (old != live.end()) {
        change.create = old->second.create;
        change.version = old->second.version + 1;
        if (request.ignore_value) change.value = old->second.value;
        if (request.ignore_lease) change.lease = old->second.lease;
        if (request.prev_kv) result.prev_kv = SharedBytes::Copy(Encode(old->second));
      }
      model.changes_.push_back(change);
      ++changes;
      return ShowAnswer(result);
    }

    std::string Delete(const DeleteRangeRequest& request) {
      std::string rows;
      std::int64_t deleted = 0;
      for (const Change& old : model.LiveIn(request.key, request.range_end, INT64_MAX)) {
        Change change;
        change.key = old.key;
        change.at = {model.revision_ + 1, changes++};
        change.tombstone = true;
        model.changes_.push_back(std::move(change));
        if (request.prev_kv) rows.append(" ").append(ShowPair(Encode(old)));
        ++deleted;
      }
      DeleteRangeResult result;
      result.revision = revision();
      result.deleted = deleted;
      return ShowAnswer(result) + rows;
    }

    std::string Txn(const StoreModel& before, const TxnRequest& request, bool nested) {
      const bool succeeds = before.Succeeds(request);
      std::string responses;
      for (const RequestOp& op : succeeds ? request.success : request.failure) {
        responses += std::visit([&](const auto& o) { return Run(before, o); }, op) + "; ";
      }
      TxnResult result{.succeeded = succeeds, .revision = nested ? 0 : revision(), .responses = {}};
      std::string text = ShowAnswer(result);
      return text.substr(0, text.size() - 1) + responses + "}";
    }

    std::string Run(const StoreModel&, std::monostate) { return "nothing"; }
    std::string Run(const StoreModel&, const RangeRequest& range) {
      const std::int64_t at = range.revision <= 0 ? revision() : range.revision;
      return model.RangeAt(range, at, revision());
    }
    std::string Run(const StoreModel&, const PutRequest& put) { return Put(put); }
    std::string Run(const StoreModel&, const DeleteRangeRequest& del) { return Delete(del); }
    std::string Run(const StoreModel& before, const std::unique_ptr<TxnRequest>& nested) {
      return Txn(before, *nested, /*nested=*/true);
    }
  };

  const std::set<std::int64_t>* leases_;
  std::vector<Change> changes_;
  std::int64_t revision_ = 1;
  std::int64_t compact_revision_ = -1;
};

}  // namespace kvorum::mvcc
