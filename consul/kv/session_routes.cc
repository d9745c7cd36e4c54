#include "consul/kv/session_routes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "consul/kv/kv_answer.h"
#include "consul/kv/kv_form.h"
#include "consul/kv/session_body.h"
#include "consul/kv/session_creation.h"
#include "consul/kv/session_end.h"
#include "consul/kv/work.h"
#include "consul/model/api_json.h"

namespace kvorum::consul {

struct SessionRoutes::Context : std::enable_shared_from_this<Context> {
  explicit Context(SessionParts its_parts)
      : parts(std::move(its_parts)), keys(parts.root, parts.kv_root), work(parts.executor) {}

  template <class Handle>  // (Exchange, std::shared_ptr<sync::Store>), on the work
  void WithStore(Exchange exchange, Handle handle) {
    const std::string token = exchange.token();
    parts.access.StoreOf(token, work.OnInTime<std::shared_ptr<sync::Store>>(
                                    [exchange = std::move(exchange), handle = std::move(handle)](
                                        Result<std::shared_ptr<sync::Store>> store) mutable {
                                      if (!store) return exchange.StoreError(store.error());
                                      handle(std::move(exchange), *std::move(store));
                                    }));
  }

  // The session as the store has it now; null: it has ended.
  template <class Handle>  // (Exchange, std::shared_ptr<sync::Store>, SessionRef)
  void WithSession(Exchange exchange, Handle handle) {
    const std::string id = exchange.rest();
    if (!IsSessionId(id))  // no session has such an id
      return WithStore(std::move(exchange),
                       [handle](Exchange its, std::shared_ptr<sync::Store> store) mutable {
                         handle(std::move(its), std::move(store), nullptr);
                       });
    WithStore(std::move(exchange), [this, id, handle](Exchange its,
                                                      std::shared_ptr<sync::Store> store) mutable {
      store->Range({.key = keys.registry().Session(id)},
                   work.On<sync::RangeAnswer>([id, handle, its = std::move(its),
                                               store](Result<sync::RangeAnswer> answer) mutable {
                     if (!answer) return its.StoreError(answer.error());
                     handle(std::move(its), std::move(store), RecordOf(id, answer->kvs));
                   }));
    });
  }

  static SessionRef RecordOf(const std::string& id, const std::vector<sync::KeyValue>& kvs) {
    if (kvs.empty()) return nullptr;
    const sync::KeyValue& kv = kvs.front();
    SessionRecord record =
        DecodeSession(id, kv.value).value_or(SessionRecord{.id = id, .node = {}});
    record.lease = kv.lease;
    record.create_revision = kv.create_revision;
    record.mod_revision = kv.mod_revision;
    return std::make_shared<const SessionRecord>(std::move(record));
  }

  void Create(Exchange exchange);
  void Destroy(Exchange exchange);
  void Renew(Exchange exchange);
  void Ended(Exchange exchange, const SessionRef& session);
  // A list of those that are wanted.
  void List(Exchange exchange, std::function<bool(const SessionRecord&)> wants);

  const SessionParts parts;
  const KvKeys keys;
  Work work;
};

void SessionRoutes::Context::Create(Exchange exchange) {
  if (!IsOurDatacenter(exchange, parts.datacenter)) return;
  Json body = Json::object();
  if (!exchange.body().empty()) {
    std::optional<Json> parsed = JsonBody(exchange, "Request decode failed: ");
    if (!parsed) return;
    body = *std::move(parsed);
  }
  auto wanted = ParseSession(body, parts.node);
  if (!wanted) return exchange.Text(wanted.error().status, wanted.error().text);
  WithStore(std::move(exchange), [this, wanted = *std::move(wanted)](
                                     Exchange its, std::shared_ptr<sync::Store> store) mutable {
    CreateSession(std::move(store), parts.copy, keys, work, std::move(wanted),
                  [its = std::move(its)](Result<std::string> id) mutable {
                    if (id) return its.OkJson(Json{{"ID", *id}});
                    its.StoreError(id.error());
                  });
  });
}

void SessionRoutes::Context::Destroy(Exchange exchange) {
  if (!IsOurDatacenter(exchange, parts.datacenter)) return;
  if (exchange.rest().empty()) return exchange.Text(400, "Missing session");
  WithSession(std::move(exchange),
              [this](Exchange its, std::shared_ptr<sync::Store> store, SessionRef session) {
                if (session == nullptr) return its.OkJson(Json(true));
                sync::TxnRequest request;
                request.then.push_back({.kind = sync::Operation::Kind::kDelete,
                                        .key = keys.registry().Session(session->id)});
                store->Txn(std::move(request),
                           work.On<sync::TxnAnswer>([this, session, store, its = std::move(its)](
                                                        Result<sync::TxnAnswer> answer) mutable {
                             if (!answer) return its.StoreError(answer.error());
                             Ended(std::move(its), session);
                           }));
              });
}

// The janitor does what is not done here.
void SessionRoutes::Context::Ended(Exchange exchange, const SessionRef& session) {
  if (!session->ttl.empty() && session->lease != 0)
    parts.store.LeaseRevoke(session->lease, [](const Result<sync::LeaseAnswer>&) {});
  ClearSession(parts.store, keys, work, session->id,
               [its = std::move(exchange)](Result<void>) mutable { its.OkJson(Json(true)); });
}

void SessionRoutes::Context::Renew(Exchange exchange) {
  if (!IsOurDatacenter(exchange, parts.datacenter)) return;
  if (exchange.rest().empty()) return exchange.Text(400, "Missing session");
  WithSession(std::move(exchange), [this](Exchange its, std::shared_ptr<sync::Store> store,
                                          SessionRef session) {
    const auto is_unknown = [](Exchange& exchange) {
      exchange.Text(404, "Session id '" + exchange.rest() + "' not found");
    };
    if (session == nullptr) return is_unknown(its);
    if (session->ttl.empty() || session->lease == 0)
      return its.OkJson(Json::array({SessionJson(*session)}));
    store->LeaseKeepAlive(
        session->lease,
        work.On<sync::LeaseAnswer>([session, store, is_unknown, its = std::move(its)](
                                       Result<sync::LeaseAnswer> answer) mutable {
          const bool is_gone = answer ? answer->ttl_s <= 0 : answer.error().code == Code::kNotFound;
          if (is_gone) return is_unknown(its);
          if (!answer) return its.StoreError(answer.error());
          its.OkJson(Json::array({SessionJson(*session)}));
        }));
  });
}

void SessionRoutes::Context::List(Exchange exchange,
                                  std::function<bool(const SessionRecord&)> wants) {
  CatalogCopy& copy = parts.copy;
  parts.reading.Read(
      std::move(exchange), MovingOf(copy, {{.kind = Topic::Kind::kSessions}}),
      [self = shared_from_this(), wants = std::move(wants)](Exchange its) mutable {
        self->work.Post([self, wants = std::move(wants), its = std::move(its)]() mutable {
          Json list = Json::array();
          for (const SessionRef& session : self->parts.copy.Sessions()) {
            if (wants(*session)) list.push_back(SessionJson(*session));
          }
          its.OkJson(list);
        });
      });
}

SessionRoutes::SessionRoutes(SessionParts parts)
    : context_(std::make_shared<Context>(std::move(parts))) {}
SessionRoutes::~SessionRoutes() { context_->work.Stop(); }

std::vector<Route> SessionRoutes::Routes() {
  const auto context = context_;
  const auto list = [context](auto field, const char* missing) {
    return [context, field, missing](Exchange exchange) {
      const std::string rest = exchange.rest();
      if (rest.empty()) return exchange.Text(400, missing);
      context->List(std::move(exchange),
                    [field, rest](const SessionRecord& session) { return session.*field == rest; });
    };
  };
  return WithoutSlashes(
      {{.path = "/v1/session/create",
        .methods = "PUT",
        .writes = true,
        .handle = [context](Exchange exchange) { context->Create(std::move(exchange)); }},
       {.path = "/v1/session/destroy/",
        .methods = "PUT",
        .writes = true,
        .handle = [context](Exchange exchange) { context->Destroy(std::move(exchange)); }},
       {.path = "/v1/session/renew/",
        .methods = "PUT",
        .writes = true,
        .handle = [context](Exchange exchange) { context->Renew(std::move(exchange)); }},
       {.path = "/v1/session/info/",
        .methods = "GET",
        .handle = list(&SessionRecord::id, "Missing session")},
       {.path = "/v1/session/node/",
        .methods = "GET",
        .handle = list(&SessionRecord::node, "Missing node name")},
       {.path = "/v1/session/list", .methods = "GET", .handle = [context](Exchange exchange) {
          context->List(std::move(exchange), [](const SessionRecord&) { return true; });
        }}});
}

}  // namespace kvorum::consul
