#include "server/services/kv/nested_txn.h"

#include <memory>
#include <utility>
#include <variant>

#include "api/entries/older_entry.h"
#include "api/kv_request_encode.h"
#include "server/call/admitted_proposal.h"
#include "server/call/cluster_facts.h"
#include "server/call/proposer.h"

namespace kvorum::server {
namespace {

class NestedTxnWaiter final : public AdmittedWaiter {
 public:
  NestedTxnWaiter(const ClusterFacts& cluster, NestedRanges nested, Reply<mvcc::TxnResult> reply)
      : cluster_(cluster), nested_(std::move(nested)), reply_(std::move(reply)) {}

  void Failed(const Error& error) override { reply_.Fail(error); }

 private:
  void Outcome(ApplyResult&& result) override {
    if (!result.value.has_value()) return reply_.Fail(std::move(result.value).error());
    auto& txn = std::get<mvcc::TxnResult>(*result.value);
    TakeOut(nested_, txn);
    const ResponseHeader header = cluster_.Header(txn.revision, result.term);
    reply_.Send(header, std::move(txn), std::move(result.held));
  }
  std::unique_ptr<AdmittedWaiter> Successor() override {
    return std::make_unique<NestedTxnWaiter>(cluster_, std::move(nested_), std::move(reply_));
  }

  const ClusterFacts& cluster_;
  NestedRanges nested_;
  Reply<mvcc::TxnResult> reply_;
};

}  // namespace

void ProposeNested(Proposer& proposer, const rpc::CallContext& call, Received<mvcc::TxnRequest> txn,
                   Reply<mvcc::TxnResult> reply) {
  NestedRanges nested = NestRanges(txn.request);
  const SharedBytes body = EncodeTxn(txn.request);
  proposer.ProposeFor(
      call.caller, call.loop(), RequestKind::kTxn, body.view(),
      std::make_unique<NestedTxnWaiter>(proposer.cluster(), std::move(nested), std::move(reply)),
      proposer.limits().request_timeout);
}

}  // namespace kvorum::server
