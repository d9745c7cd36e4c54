// Wraps a service's handlers in the checks of every call: the request is decoded once, checked by
// its method's row (method.h) and against the call's metadata, then handed over typed.
//
// The order is the API's: a request that is not a message, a learner, metadata, permissions, space
// in the database, the request's own rules. A caller without permission whose request also breaks
// those rules gets the rules' error instead. Threads: handlers are called on the call's loop, or on
// any thread after permissions had to catch up.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "rpc/call/service.h"
#include "server/call/access.h"
#include "server/call/interceptors.h"
#include "server/call/method.h"
#include "server/call/proposer.h"
#include "server/call/reply.h"

namespace kvorum::server {

// For an admitted call: checks space and its rules, then calls `handler(request, reply)`, all
// within this call. A member's own calls start here.
template <class Request, class Response, class Handler>
void RunMethod(Proposer& proposer, const Method<Request, Response>& method, rpc::Loop* loop,
               Received<Request> request, Reply<Response> reply, const Handler& handler) {
  if (method.cost_bytes != nullptr && !proposer.HasSpaceFor(method.cost_bytes(request.request))) {
    return proposer.RefuseForSpace(
        loop, [reply = std::move(reply)](const Error& error) mutable { reply.Fail(error); });
  }
  if (method.check != nullptr) {
    if (auto valid = method.check(request.request, proposer.limits().max_txn_ops);
        !valid.has_value())
      return reply.Fail(std::move(valid).error());
  }
  handler(std::move(request), std::move(reply));
}

class MethodRegistrar {
 public:
  // Both outlive the router's calls.
  MethodRegistrar(rpc::Router& router, const CallGuard& guard) : router_(router), guard_(guard) {}

  // `handler` is void(const rpc::CallContext&, Received<Request>, Reply<Response>), or takes a
  // shared_ptr to the call if it keeps it.
  template <class Request, class Response, class Handler>
  void Add(const Method<Request, Response>& method, Handler handler) {
    router_.AddUnary(method.service, method.name, Guarded(guard_, method, std::move(handler)));
  }
  template <class Request, class Response, class Service>
  void Add(const Method<Request, Response>& method, Service* service,
           void (Service::*handler)(const rpc::CallContext&, Received<Request>, Reply<Response>)) {
    Add(method, [service, handler](const std::shared_ptr<rpc::CallContext>& call,
                                   Received<Request> request, Reply<Response> reply) {
      (service->*handler)(*call, std::move(request), std::move(reply));
    });
  }
  template <class Request, class Response, class Service>
  void Add(const Method<Request, Response>& method, Service* service,
           void (Service::*handler)(std::shared_ptr<rpc::CallContext>, Received<Request>,
                                    Reply<Response>)) {
    Add(method, [service, handler](const std::shared_ptr<rpc::CallContext>& call,
                                   Received<Request> request, Reply<Response> reply) {
      (service->*handler)(call, std::move(request), std::move(reply));
    });
  }
  void AddStream(const StreamMethod& method, rpc::StreamMethod handler) {
    router_.AddStream(method.service, method.name, method.kind,
                      server::Guarded(guard_, method, std::move(handler)));
  }

 private:
  template <class Request, class Response, class Handler>
  static rpc::UnaryMethod Guarded(const CallGuard& guard, const Method<Request, Response>& method,
                                  Handler handler);

  rpc::Router& router_;
  const CallGuard& guard_;
};

template <class Request, class Response, class Handler>
rpc::UnaryMethod MethodRegistrar::Guarded(const CallGuard& guard,
                                          const Method<Request, Response>& method,
                                          Handler handler) {
  const auto run = [&guard, &method](const Handler& admitted,
                                     const std::shared_ptr<rpc::CallContext>& call,
                                     Received<Request> request, Reply<Response> reply) {
    RunMethod(guard.proposer, method, call->loop(), std::move(request), std::move(reply),
              [&](Received<Request> valid, Reply<Response> to) {
                admitted(call, std::move(valid), std::move(to));
              });
  };
  const bool keeps_request = method.slow.summarize != nullptr;
  return [&guard, &method, run, keeps_request, handler = std::move(handler)](
             const std::shared_ptr<rpc::CallContext>& call, SharedBytes bytes,
             rpc::UnaryReply encoded) {
    Reply<Response> reply(std::move(encoded), method.encode);
    if (keeps_request) call->KeepRequest(bytes);
    auto decoded = method.decode(bytes.view());
    if (!decoded.has_value()) return reply.Fail(std::move(decoded).error());
    Received<Request> request{*std::move(decoded), std::move(bytes)};
    const bool learner_serves =
        method.learner_serves != nullptr && method.learner_serves(request.request);
    if (auto allowed = CheckCall(guard, *call, learner_serves); !allowed.has_value())
      return reply.Fail(std::move(allowed).error());
    if (method.admits == nullptr || guard.access.is_off())
      return run(handler, call, std::move(request), std::move(reply));

    const Access& access = guard.access;
    const auto admitted = access.Admit(
        *call, [&](const Asker& asker) { return method.admits(asker, request.request); });
    if (admitted.has_value()) return run(handler, call, std::move(request), std::move(reply));
    // An invalid request is reported as such to every caller, with any token.
    if (method.check != nullptr) {
      if (auto valid = method.check(request.request, guard.proposer.limits().max_txn_ops);
          !valid.has_value())
        return reply.Fail(std::move(valid).error());
    }
    // This member's permissions may lag: it catches up with the leader's, and checks again.
    const auto kept = std::make_shared<Received<Request>>(std::move(request));
    access.AdmitUpToDate(
        call, [&method, kept](const Asker& asker) { return method.admits(asker, kept->request); },
        [run, &handler, call, kept, reply = std::move(reply)](Result<void> verdict) mutable {
          if (!verdict.has_value()) return reply.Fail(std::move(verdict).error());
          run(handler, call, std::move(*kept), std::move(reply));
        });
  };
}

}  // namespace kvorum::server
