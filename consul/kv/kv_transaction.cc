#include "consul/kv/kv_transaction.h"

#include <optional>
#include <utility>

#include "base/rng.h"
#include "consul/kv/kv_base_read.h"
#include "consul/kv/kv_write.h"
#include "sync/kernel/jitter.h"

namespace kvorum::consul {
namespace {

constexpr int kTries = 16;
constexpr sync::BackoffOptions kPauses = {.first = std::chrono::milliseconds(2),
                                          .cap = std::chrono::milliseconds(200)};

class Transaction : public std::enable_shared_from_this<Transaction> {
 public:
  Transaction(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
              std::vector<KvOperation> operations, OnKvDone on_done)
      : store_(std::move(store)),
        keys_(keys),
        work_(work),
        operations_(std::move(operations)),
        on_done_(std::move(on_done)) {}

  void Try() {
    ReadBase(store_, keys_, work_, operations_,
             [self = shared_from_this()](Result<KvBase> base) { self->Decide(std::move(base)); });
  }

 private:
  void Decide(Result<KvBase> base) {
    if (!base) {
      // The revision that the reads had begun with is compacted: they begin anew.
      if (base.error().code == Code::kOutOfRange) return TryAgain();
      return on_done_(Fail(base.error()));
    }
    KvOutcome outcome = Evaluate(operations_, *base);
    if (!outcome.errors.empty()) return on_done_(KvDone{.errors = std::move(outcome.errors)});
    if (!outcome.writes()) return Finish(std::move(outcome), base->revision);
    Result<sync::TxnRequest> request = WriteOf(outcome, *base, keys_);
    if (!request) return on_done_(Fail(request.error()));
    store_->Txn(*std::move(request),
                work_.On<sync::TxnAnswer>([self = shared_from_this(), outcome = std::move(outcome)](
                                              Result<sync::TxnAnswer> answer) mutable {
                  if (!answer) return self->on_done_(Fail(answer.error()));
                  if (!answer->succeeded) return self->TryAgain();
                  self->Finish(std::move(outcome), answer->revision);
                }));
  }

  void TryAgain() {
    if (++tries_ == kTries)
      return on_done_(Fail(Code::kAborted, "the keys are written by others all the time"));
    if (!rng_) rng_.emplace(EntropySeed());
    work_.After(pauses_.Next(work_.clock().Now(), *rng_),
                [self = shared_from_this()] { self->Try(); });
  }

  void Finish(KvOutcome outcome, std::int64_t revision) {
    for (KvResult& result : outcome.results) {
      if (result.pair.create_revision == kThisRevision) result.pair.create_revision = revision;
      if (result.pair.mod_revision == kThisRevision) result.pair.mod_revision = revision;
    }
    on_done_(KvDone{.results = std::move(outcome.results)});
  }

  const std::shared_ptr<sync::Store> store_;
  const KvKeys& keys_;
  const Work& work_;
  const std::vector<KvOperation> operations_;
  OnKvDone on_done_;
  int tries_ = 0;
  sync::Backoff pauses_{kPauses};
  std::optional<Rng> rng_;
};

}  // namespace

void RunOperations(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
                   std::vector<KvOperation> operations, OnKvDone on_done) {
  std::make_shared<Transaction>(std::move(store), keys, work, std::move(operations),
                                std::move(on_done))
      ->Try();
}

}  // namespace kvorum::consul
