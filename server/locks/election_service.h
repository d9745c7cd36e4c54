// v3electionpb.Election: elects one of several candidates. The leader is the oldest key of a queue,
// and its proclaimed value is that key's value.
//
// Handlers are transport-free and may be called on any I/O loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/locks/local_client.h"
#include "server/locks/waiting_calls.h"

namespace kvorum::server {

class MethodRegistrar;

class ElectionService {
 public:
  explicit ElectionService(const LocalClient& client, WaitingCalls::Limits limits = {})
      : client_(client), waiting_(limits) {}
  void Register(MethodRegistrar& methods);

  const WaitingCalls& waiting() const { return waiting_; }

 private:
  void Campaign(std::shared_ptr<rpc::CallContext> call, Received<CampaignRequest> campaign,
                Reply<Elected> reply);
  void Proclaim(std::shared_ptr<rpc::CallContext> call, Received<LeadershipRequest> received,
                Reply<EmptyMessage> reply);
  void Leader(const rpc::CallContext& call, Received<std::string_view> name,
              Reply<std::string> reply);
  void Resign(const rpc::CallContext& call, Received<LeadershipRequest> resign,
              Reply<EmptyMessage> reply);
  void Observe(std::shared_ptr<rpc::ServerStream> stream);

  LocalClient client_;
  WaitingCalls waiting_;
};

}  // namespace kvorum::server
