#include "server/integrity/divergence.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/majority.h"

namespace kvorum::server {
namespace {

using mvcc::HistorySum;

// A compaction and a revision, at which equal members have equal sums.
using Place = std::pair<std::int64_t, std::int64_t>;

}  // namespace

Comparison Compare(const std::vector<MemberHistory>& members, std::size_t cluster_size) {
  std::map<Place, std::vector<std::pair<std::uint64_t, raft::MemberId>>> places;
  for (const MemberHistory& member : members) {
    for (const HistorySum::Base& base : member.history.bases) {
      for (const HistorySum::Point& point : member.history.points) {
        places[{base.compact_revision, point.revision}].emplace_back(base.sum + point.added,
                                                                     member.member);
      }
    }
  }
  // The newest of those with most members.
  const auto best = std::ranges::max_element(places, [](const auto& a, const auto& b) {
    return std::pair(a.second.size(), a.first) < std::pair(b.second.size(), b.first);
  });
  if (best == places.end() || best->second.size() < 2) return {};
  Comparison comparison{.verdict = Comparison::Verdict::kEqual,
                        .revision = best->first.second,
                        .compact_revision = best->first.first,
                        .compared = best->second.size(),
                        .diverged = {}};
  std::map<std::uint64_t, std::vector<raft::MemberId>> by_sum;
  for (const auto& [sum, member] : best->second) by_sum[sum].push_back(member);
  if (by_sum.size() == 1) return comparison;
  comparison.verdict = Comparison::Verdict::kNoMajority;
  const auto most =
      std::ranges::max_element(by_sum, {}, [](const auto& of) { return of.second.size(); });
  if (most->second.size() < Majority(cluster_size)) return comparison;
  comparison.verdict = Comparison::Verdict::kMinority;
  for (const auto& [sum, ids] : by_sum) {
    if (sum != most->first)
      comparison.diverged.insert(comparison.diverged.end(), ids.begin(), ids.end());
  }
  return comparison;
}

std::optional<DivergenceRange> FindDivergence(const HistorySum::History& a,
                                              const HistorySum::History& b) {
  std::optional<std::uint64_t> base_a;
  std::optional<std::uint64_t> base_b;
  for (const HistorySum::Base& one : a.bases) {
    for (const HistorySum::Base& other : b.bases) {
      if (one.compact_revision != other.compact_revision) continue;
      base_a = one.sum;
      base_b = other.sum;
    }
  }
  if (!base_a.has_value()) return std::nullopt;
  std::map<std::int64_t, std::uint64_t> sums;
  for (const HistorySum::Point& point : b.points) sums[point.revision] = *base_b + point.added;
  DivergenceRange range;
  bool differs = false;
  for (const HistorySum::Point& point : a.points) {
    const auto other = sums.find(point.revision);
    if (other == sums.end()) continue;
    if (other->second == *base_a + point.added) {
      range.equal_at = point.revision;
      differs = false;
    } else if (!std::exchange(differs, true)) {
      range.differ_at = point.revision;
    }
  }
  if (!differs) return std::nullopt;
  return range;
}

}  // namespace kvorum::server
