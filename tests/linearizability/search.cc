#include "tests/linearizability/search.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace kvorum::linearizability {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// A call or a return, in a list from which operations are lifted once they have a place.
struct Event {
  std::size_t operation = 0;
  std::size_t previous = kNone;
  std::size_t next = kNone;
  std::size_t partner = kNone;  // of a call: its return, if it has one
  bool is_call = false;
};

class Timeline {
 public:
  explicit Timeline(std::span<const Operation* const> operations) {
    struct Moment {
      std::int64_t time;
      bool is_return;
      std::size_t operation;
    };
    std::vector<Moment> moments;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      moments.push_back({operations[i]->call, false, i});
      if (operations[i]->acknowledged) moments.push_back({operations[i]->returned, true, i});
    }
    // At the same moment calls come first: operations that only touch may overlap.
    std::ranges::sort(moments, [](const Moment& a, const Moment& b) {
      return std::tie(a.time, a.is_return, a.operation) <
             std::tie(b.time, b.is_return, b.operation);
    });
    events_.push_back({});
    std::vector<std::size_t> call_of(operations.size());
    for (const Moment& moment : moments) {
      const std::size_t at = events_.size();
      events_.push_back(
          {.operation = moment.operation, .previous = at - 1, .is_call = !moment.is_return});
      events_[at - 1].next = at;
      if (moment.is_return) {
        events_[call_of[moment.operation]].partner = at;
      } else {
        call_of[moment.operation] = at;
      }
    }
  }

  std::size_t First() const { return events_[0].next; }
  const Event& At(std::size_t event) const { return events_[event]; }

  void Lift(std::size_t call) {
    Unlink(call);
    if (events_[call].partner != kNone) Unlink(events_[call].partner);
  }
  void PutBack(std::size_t call) {
    if (events_[call].partner != kNone) Link(events_[call].partner);
    Link(call);
  }

 private:
  void Unlink(std::size_t event) {
    const Event& gone = events_[event];
    events_[gone.previous].next = gone.next;
    if (gone.next != kNone) events_[gone.next].previous = gone.previous;
  }
  void Link(std::size_t event) {
    const Event& back = events_[event];
    events_[back.previous].next = event;
    if (back.next != kNone) events_[back.next].previous = event;
  }

  std::vector<Event> events_;  // the first is the list's head
};

struct Seen {
  std::uint64_t ordered;
  std::uint64_t state;
  friend bool operator==(const Seen&, const Seen&) = default;
};
struct SeenHash {
  std::size_t operator()(const Seen& seen) const { return seen.ordered ^ (seen.state * 31); }
};

}  // namespace

SearchResult Search(KvModel model, std::span<const Operation* const> operations,
                    std::size_t max_steps) {
  std::size_t to_order = 0;
  std::vector<std::uint64_t> tag;
  Rng rng(1);
  for (const Operation* operation : operations) {
    KV_CHECK(!operation->serializable, "a serializable read has no place in an order by time");
    if (operation->acknowledged) ++to_order;
    tag.push_back(rng());
  }
  struct Placed {
    std::size_t call;
    KvModel::Mark before;
  };
  Timeline timeline(operations);
  std::vector<Placed> order;
  std::unordered_set<Seen, SeenHash> seen;
  std::uint64_t ordered = 0;
  SearchResult result;
  std::size_t event = timeline.First();
  std::size_t steps = 0;
  const auto remember = [&] {
    result.longest.clear();
    for (const Placed& placed : order) result.longest.push_back(timeline.At(placed.call).operation);
  };
  while (to_order > 0) {
    if (event != kNone && timeline.At(event).is_call) {
      const std::size_t at = timeline.At(event).operation;
      const Operation& operation = *operations[at];
      const KvModel::Mark before = model.Here();
      const KvModel::Outcome outcome = model.Apply(operation);
      if (++steps > max_steps) {
        result.kind = SearchResult::Kind::kGaveUp;
        return result;
      }
      if ((!operation.acknowledged || !Compared(operation, outcome).has_value()) &&
          seen.insert({ordered ^ tag[at], model.fingerprint()}).second) {
        order.push_back({event, before});
        ordered ^= tag[at];
        if (operation.acknowledged) --to_order;
        timeline.Lift(event);
        if (order.size() > result.longest.size()) remember();
        event = timeline.First();
      } else {
        model.GoBack(before);
        event = timeline.At(event).next;
      }
      continue;
    }
    // The next operation to return has no place yet, and nothing can come before it: undo the last
    // one.
    if (order.empty()) {
      result.kind = SearchResult::Kind::kImpossible;
      return result;
    }
    const Placed last = order.back();
    order.pop_back();
    model.GoBack(last.before);
    const std::size_t at = timeline.At(last.call).operation;
    ordered ^= tag[at];
    if (operations[at]->acknowledged) ++to_order;
    timeline.PutBack(last.call);
    event = timeline.At(last.call).next;
  }
  remember();
  return result;
}

}  // namespace kvorum::linearizability
