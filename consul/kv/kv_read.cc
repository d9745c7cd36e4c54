// GET /v1/kv. A query that blocks reads twice: at first what its index is, with a standing interest
// in the key or the prefix, so that no change between the two is lost; then, when that has moved or
// the wait is over, the answer.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/key_range.h"
#include "consul/kv/kv_answer.h"
#include "consul/kv/kv_context.h"

namespace kvorum::consul {
namespace {

constexpr std::chrono::seconds kMostCopyLag(2);

struct Wish {
  std::string key;
  bool is_recursive = false;
  bool is_keys = false;
  bool is_raw = false;
  std::optional<std::string> separator = {};
  bool is_prefix() const { return is_recursive || is_keys; }
};

Wish WishOf(const Exchange& exchange) {
  Wish wish{.key = exchange.rest(),
            .is_recursive = exchange.Has("recurse"),
            .is_keys = exchange.Has("keys"),
            .is_raw = exchange.Has("raw")};
  // The misspelt name is as old as the API.
  wish.separator = exchange.Parameter("separator");
  if (!wish.separator) wish.separator = exchange.Parameter("seperator");
  return wish;
}

std::uint64_t IndexOf(const KvChanges& changes, const Wish& wish, const Tree& tree) {
  if (!wish.is_prefix()) {
    if (!tree.pairs.empty()) return static_cast<std::uint64_t>(tree.pairs.front().mod_revision);
    return changes.DeletionOf(wish.key);
  }
  std::uint64_t index = changes.DeletionUnder(wish.key);
  for (const KvPair& pair : tree.pairs)
    index = std::max(index, static_cast<std::uint64_t>(pair.mod_revision));
  return index;
}

void AnswerKeys(Exchange exchange, const Wish& wish, const Tree& tree) {
  if (tree.pairs.empty() && !wish.key.empty()) return exchange.Text(404, "");
  exchange.OkJson(Json(KeyNames(tree.pairs, wish.key, wish.separator)));
}

void AnswerPairs(Exchange exchange, const Wish& wish, Tree tree) {
  if (wish.is_keys) return AnswerKeys(std::move(exchange), wish, tree);
  if (tree.pairs.empty()) return exchange.Text(404, "");
  if (wish.is_raw && !wish.is_recursive) {
    exchange.SetHeader("X-Content-Type-Options", "nosniff");
    exchange.SetHeader("Content-Security-Policy", "sandbox");
    return exchange.OkText(std::move(tree.pairs.front().value), "text/plain");
  }
  Json pairs = Json::array();
  for (KvPair& pair : tree.pairs) {
    pairs.push_back(PairJson(pair));
    pair = {.key = {}};  // so that no more than one copy is in memory
  }
  exchange.OkJson(pairs);
}

// The keys' sessions that have ended are not shown, before they are cleared too. A session that the
// copy does not have has ended if the copy is as new as the read.
bool HideEnded(const CatalogCopy& copy, Tree& tree, bool is_final) {
  const bool is_new = copy.revision() >= tree.revision;
  std::set<std::string> alive;
  bool is_certain = true;
  for (KvPair& pair : tree.pairs) {
    if (pair.session.empty() || alive.contains(pair.session)) continue;
    if (copy.Session(pair.session) != nullptr)
      alive.insert(pair.session);
    else if (is_new)
      pair.session.clear();
    else
      is_certain = false;
  }
  return is_certain || is_final;
}

class KvRead : public std::enable_shared_from_this<KvRead> {
 public:
  KvRead(std::shared_ptr<KvContext> context, Exchange exchange)
      : context_(std::move(context)),
        exchange_(std::move(exchange)),
        wish_(WishOf(exchange_)),
        begun_(context_->work.clock().Now()) {}

  void Begin(const ReadOptions& options) {
    is_serializable_ = options.is_stale && options.index == 0;
    if (options.index == 0)
      return Wait({.index = [] { return std::uint64_t{1}; }, .wait = nullptr});
    interest_ = context_->parts.changes.Follow(wish_.key, wish_.is_prefix());
    context_->WithStore(
        std::move(exchange_),
        [self = shared_from_this()](Exchange exchange, std::shared_ptr<sync::Store> store) {
          self->exchange_ = std::move(exchange);
          self->AskIndex(std::move(store));
        });
  }

 private:
  // The newest of the keys tells the index of all.
  void AskIndex(std::shared_ptr<sync::Store> store) {
    const std::string key = context_->keys.Value(wish_.key);
    const std::int64_t before = context_->parts.changes.revision();
    sync::RangeRequest request{.key = key,
                               .end = wish_.is_prefix() ? PrefixEnd(key) : std::string(),
                               .limit = 1,
                               .keys_only = true,
                               .newest_first = wish_.is_prefix()};
    store->Range(std::move(request),
                 context_->work.OnInTime<sync::RangeAnswer>(
                     [self = shared_from_this(), store, before](Result<sync::RangeAnswer> answer) {
                       if (!answer) return self->exchange_.StoreError(answer.error());
                       self->context_->parts.changes.Saw(answer->revision, before);
                       self->WaitFrom(*answer);
                     }));
  }

  void WaitFrom(const sync::RangeAnswer& answer) {
    Tree newest;
    for (const sync::KeyValue& kv : answer.kvs)
      newest.pairs.push_back({.key = {}, .mod_revision = kv.mod_revision});
    const std::uint64_t first = IndexOf(context_->parts.changes, wish_, newest);
    const bool was_found = !answer.kvs.empty();
    Wait({.index =
              [first, interest = interest_] {
                return std::max(first, static_cast<std::uint64_t>(interest->last_change()));
              },
          .wait =
              [interest = interest_](std::uint64_t after, std::move_only_function<void()> moved) {
                interest->Wait(static_cast<std::int64_t>(after), std::move(moved));
                return std::shared_ptr<void>(interest.get(),
                                             [interest](void*) { interest->Drop(); });
              },
          .is_found = [was_found,
                       interest = interest_] { return was_found || interest->has_put(); }});
  }

  void Wait(Moving moving) {
    context_->parts.reading.Read(
        std::move(exchange_), std::move(moving),
        [self = shared_from_this()](Exchange exchange) {
          self->context_->work.Post([self, exchange = std::move(exchange)]() mutable {
            self->interest_.reset();
            self->ReadAnswer(std::move(exchange));
          });
        },
        begun_);
  }

  void ReadAnswer(Exchange exchange) {
    context_->WithStore(std::move(exchange), [self = shared_from_this()](
                                                 Exchange its, std::shared_ptr<sync::Store> store) {
      self->exchange_ = std::move(its);
      const std::int64_t before = self->context_->parts.changes.revision();
      ReadTree(std::move(store), self->context_->keys, self->context_->work,
               {.prefix = self->wish_.key,
                .is_key = !self->wish_.is_prefix(),
                .keys_only = self->wish_.is_keys,
                .is_serializable = self->is_serializable_},
               [self, before](Result<Tree> tree) { self->Take(std::move(tree), before); });
    });
  }

  void Take(Result<Tree> tree, std::int64_t before) {
    if (!tree) return exchange_.StoreError(tree.error());
    if (!is_serializable_) context_->parts.changes.Saw(tree->revision, before);
    exchange_.SetIndex(IndexOf(context_->parts.changes, wish_, *tree));
    if (HideEnded(context_->parts.copy, *tree, is_serializable_))
      return AnswerPairs(std::move(exchange_), wish_, *std::move(tree));
    const std::int64_t revision = tree->revision;
    context_->parts.copy.WaitForRevision(
        revision, context_->work.clock().Now() + kMostCopyLag,
        context_->work.On<void>(
            [self = shared_from_this(), tree = *std::move(tree)](Result<void>) mutable {
              HideEnded(self->context_->parts.copy, tree, true);
              AnswerPairs(std::move(self->exchange_), self->wish_, std::move(tree));
            }));
  }

  const std::shared_ptr<KvContext> context_;
  Exchange exchange_;
  const Wish wish_;
  const TimePoint begun_;
  bool is_serializable_ = false;
  std::shared_ptr<KvChanges::Interest> interest_;
};

}  // namespace

void ReadKv(const std::shared_ptr<KvContext>& context, Exchange exchange) {
  const std::optional<ReadOptions> options = ParseRead(exchange, context->parts.datacenter);
  if (!options) return;
  if (exchange.rest().empty() && !exchange.Has("recurse") && !exchange.Has("keys"))
    return exchange.Text(400, "Missing key name");
  std::make_shared<KvRead>(context, std::move(exchange))->Begin(*options);
}

}  // namespace kvorum::consul
