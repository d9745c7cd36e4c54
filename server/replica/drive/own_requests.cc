#include "server/replica/drive/own_requests.h"

#include <memory>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"

namespace kvorum::server {
namespace {

class OutcomeWaiter final : public Waiter {
 public:
  explicit OutcomeWaiter(OwnRequests::Done done) : done_(std::move(done)) {}
  void Applied(ApplyResult result) override {
    if (!result.value.has_value()) return done_(std::unexpected(std::move(result.value).error()));
    done_({});
  }
  void Failed(const Error& error) override { done_(std::unexpected(error)); }

 private:
  OwnRequests::Done done_;
};

}  // namespace

void OwnRequests::Propose(RequestKind kind, std::string_view body, Duration timeout, Done done,
                          raft::Term only_in_term) {
  const std::uint64_t id = ids_.Next();
  std::vector<Proposal> proposals;
  proposals.push_back({.id = id,
                       .data = EncodeInternalRequest(id, kind, body),
                       .deadline = replica_.clock().Now() + timeout,
                       .waiter = std::make_unique<OutcomeWaiter>(std::move(done)),
                       .only_in_term = only_in_term});
  replica_.Propose(std::move(proposals));
}

}  // namespace kvorum::server
