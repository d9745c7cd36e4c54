#include "consul/http/catalog_writes.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/key_range.h"
#include "consul/http/reading.h"
#include "consul/http/registration.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

constexpr int kMaxTries = 8;
constexpr std::string_view kDecodeFailed = "Request decode failed: ";

// Parts of keys must not be empty or too long.
Result<void> CheckName(std::string_view name) {
  if (const auto encoded = EncodeName(name); !encoded) return Fail(encoded.error());
  return {};
}
Result<void> CheckId(std::string_view id) {
  if (const auto encoded = EncodeId(id); !encoded) return Fail(encoded.error());
  return {};
}

void Refuse(Exchange& exchange, const Error& error) {
  if (error.code == Code::kInvalidArgument)
    return exchange.Text(400, std::string(kDecodeFailed) + error.message);
  exchange.Text(error.code == Code::kResourceExhausted ? 413 : 500, error.message);
}

// A read, then a transaction that holds if nothing of what was read has changed, until it does.
// Belongs to the exchange's loop.
class CatalogWrite : public std::enable_shared_from_this<CatalogWrite> {
 public:
  CatalogWrite(const CatalogWriteParts& parts, Exchange exchange)
      : parts_(parts), exchange_(std::move(exchange)), loop_(exchange_.loop()) {}
  virtual ~CatalogWrite() = default;
  CatalogWrite(const CatalogWrite&) = delete;
  CatalogWrite& operator=(const CatalogWrite&) = delete;

  void Begin() {
    parts_.access.StoreOf(exchange_.token(),
                          OnLoop<std::shared_ptr<sync::Store>>([](CatalogWrite& self, auto store) {
                            self.store_ = std::move(store);
                            self.ReadRecords();
                          }));
  }

 protected:
  using Revisions = std::map<std::string, std::int64_t>;  // of the keys that were read

  // The reads of the first step.
  virtual std::vector<sync::Operation> Reads() const = 0;
  // The operations on what was read; none: there is nothing to do. Keys that they rest on are in
  // the revisions, with 0 for those that are not there.
  virtual Result<std::vector<sync::Operation>> Change(const std::vector<sync::KeyValue>& read,
                                                      Revisions& revisions) = 0;

  const CatalogWriteParts& parts() const { return parts_; }

  static sync::Operation ReadKey(std::string key) {
    return {.kind = sync::Operation::Kind::kRange, .key = std::move(key)};
  }
  static sync::Operation ReadPrefix(std::string prefix) {
    std::string end = PrefixEnd(prefix);
    return {.kind = sync::Operation::Kind::kRange, .key = std::move(prefix), .end = std::move(end)};
  }
  static sync::Operation Put(std::string key, std::string value) {
    return {.kind = sync::Operation::Kind::kPut, .key = std::move(key), .value = std::move(value)};
  }
  static sync::Operation Delete(std::string key, std::string end = {}) {
    return {.kind = sync::Operation::Kind::kDelete, .key = std::move(key), .end = std::move(end)};
  }

 private:
  // The answer on the loop; an error of the store is the end.
  template <class T, class Take>
  sync::Store::OnAnswer<T> OnLoop(Take take) {
    return [self = shared_from_this(), take](Result<T> answer) {
      self->loop_.Post([self, take, answer = std::move(answer)]() mutable {
        if (!answer) return self->exchange_.StoreError(answer.error());
        take(*self, *std::move(answer));
      });
    };
  }

  void ReadRecords() {
    store_->Txn({.then = Reads()},
                OnLoop<sync::TxnAnswer>(
                    [](CatalogWrite& self, const sync::TxnAnswer& answer) { self.Write(answer); }));
  }

  void Write(const sync::TxnAnswer& answer) {
    std::vector<sync::KeyValue> read;
    for (const sync::RangeAnswer& range : answer.ranges)
      read.insert(read.end(), range.kvs.begin(), range.kvs.end());
    Revisions revisions;
    auto change = Change(read, revisions);
    if (!change) return Refuse(exchange_, change.error());
    if (change->empty()) return exchange_.OkJson(true);
    sync::TxnRequest request{.then = *std::move(change)};
    for (const auto& [key, revision] : revisions)
      request.compares.push_back({.key = key, .number = revision});
    store_->Txn(std::move(request),
                OnLoop<sync::TxnAnswer>([](CatalogWrite& self, const sync::TxnAnswer& written) {
                  if (written.succeeded) return self.exchange_.OkJson(true);
                  if (++self.tries_ < kMaxTries) return self.ReadRecords();
                  self.exchange_.Text(500, "the records were changed by others all the time");
                }));
  }

  const CatalogWriteParts parts_;
  Exchange exchange_;
  Executor& loop_;
  std::shared_ptr<sync::Store> store_;
  int tries_ = 0;
};

// A record is malformed if somebody else wrote it: it is as good as none.
NodeRecords RecordsIn(const RegistryKeys& keys, const std::vector<sync::KeyValue>& read) {
  NodeRecords records;
  for (const sync::KeyValue& kv : read) {
    const RegistryKeys::Parsed parsed = keys.Parse(kv.key);
    if (parsed.kind == RegistryKeys::Kind::kNode) {
      if (auto node = DecodeNode(parsed.node, kv.value)) records.node = *std::move(node);
    } else if (parsed.kind == RegistryKeys::Kind::kService) {
      if (auto service = DecodeService(parsed.node, parsed.id, kv.value))
        records.services[parsed.id] = *std::move(service);
    }
  }
  return records;
}

class RegisterWrite final : public CatalogWrite {
 public:
  RegisterWrite(const CatalogWriteParts& parts, Exchange exchange, Registration registration)
      : CatalogWrite(parts, std::move(exchange)), registration_(std::move(registration)) {}

 private:
  std::vector<sync::Operation> Reads() const override {
    std::vector<sync::Operation> reads{ReadKey(parts().keys.Node(registration_.node))};
    for (const std::string& id : ServicesOf(registration_))
      reads.push_back(ReadKey(parts().keys.Service(registration_.node, id)));
    return reads;
  }

  Result<std::vector<sync::Operation>> Change(const std::vector<sync::KeyValue>& read,
                                              Revisions& revisions) override {
    std::map<std::string, std::string> values;
    for (const sync::Operation& operation : Reads()) revisions[operation.key] = 0;
    for (const sync::KeyValue& kv : read) {
      revisions[kv.key] = kv.mod_revision;
      values[kv.key] = kv.value;
    }
    NodeRecords records = RecordsIn(parts().keys, read);
    const bool is_alive = parts().copy.Node(registration_.node).is_alive;
    KV_RETURN_IF_ERROR(Apply(registration_, is_alive, records));
    std::vector<sync::Operation> puts;
    const auto put = [&](std::string key, std::string value) -> Result<void> {
      if (value.size() > sync::kMaxRecordBytes)
        return Fail(Code::kResourceExhausted, "Request body too large, max size: " +
                                                  std::to_string(sync::kMaxRecordBytes) + " bytes");
      const auto before = values.find(key);
      if (before == values.end() || before->second != value)
        puts.push_back(Put(std::move(key), std::move(value)));
      return {};
    };
    KV_RETURN_IF_ERROR(put(parts().keys.Node(registration_.node), EncodeNode(*records.node)));
    for (const auto& [id, service] : records.services)
      KV_RETURN_IF_ERROR(put(parts().keys.Service(registration_.node, id), EncodeService(service)));
    return puts;
  }

  const Registration registration_;
};

class DeregisterWrite final : public CatalogWrite {
 public:
  DeregisterWrite(const CatalogWriteParts& parts, Exchange exchange, Deregistration what)
      : CatalogWrite(parts, std::move(exchange)), what_(std::move(what)) {}

 private:
  std::vector<sync::Operation> Reads() const override {
    const RegistryKeys& keys = parts().keys;
    if (!what_.service_id.empty()) return {ReadKey(keys.Service(what_.node, what_.service_id))};
    return {ReadKey(keys.Node(what_.node)), ReadPrefix(keys.ServicesOf(what_.node))};
  }

  Result<std::vector<sync::Operation>> Change(const std::vector<sync::KeyValue>& read,
                                              Revisions& revisions) override {
    const RegistryKeys& keys = parts().keys;
    if (read.empty()) return std::vector<sync::Operation>();
    if (!what_.service_id.empty())
      return std::vector{Delete(keys.Service(what_.node, what_.service_id))};
    if (!what_.check_id.empty()) return WithoutCheck(read, revisions);
    const std::string services = keys.ServicesOf(what_.node);
    std::vector<sync::Operation> deletes{Delete(keys.Node(what_.node)),
                                         Delete(services, PrefixEnd(services))};
    // More of them end when the janitor finds their node gone.
    constexpr std::size_t kMaxSessions = 64;
    for (const SessionRef& session : parts().copy.Sessions()) {
      if (session->node == what_.node && deletes.size() < kMaxSessions)
        deletes.push_back(Delete(keys.Session(session->id)));
    }
    return deletes;
  }

  std::vector<sync::Operation> WithoutCheck(const std::vector<sync::KeyValue>& read,
                                            Revisions& revisions) const {
    NodeRecords records = RecordsIn(parts().keys, read);
    std::vector<sync::Operation> puts;
    if (records.node && RemoveCheck(records.node->checks, what_.check_id))
      puts.push_back(Put(parts().keys.Node(what_.node), EncodeNode(*records.node)));
    for (auto& [id, service] : records.services) {
      if (RemoveCheck(service.checks, what_.check_id))
        puts.push_back(Put(parts().keys.Service(what_.node, id), EncodeService(service)));
    }
    for (const sync::Operation& put : puts) {
      for (const sync::KeyValue& kv : read) {
        if (kv.key == put.key) revisions[kv.key] = kv.mod_revision;
      }
    }
    return puts;
  }

  const Deregistration what_;
};

bool IsOurs(Exchange& exchange, const CatalogWriteParts& parts, const std::string& datacenter) {
  if (!IsOurDatacenter(exchange, parts.datacenter)) return false;
  if (datacenter.empty() || datacenter == parts.datacenter) return true;
  exchange.Text(500, "No path to datacenter");
  return false;
}

Result<void> CheckNames(const Registration& registration) {
  KV_RETURN_IF_ERROR(CheckName(registration.node));
  if (registration.service) KV_RETURN_IF_ERROR(CheckName(registration.service->name));
  for (const std::string& id : ServicesOf(registration)) KV_RETURN_IF_ERROR(CheckId(id));
  return {};
}

void Register(const CatalogWriteParts& parts, Exchange exchange) {
  const std::optional<Json> body = JsonBody(exchange, kDecodeFailed);
  if (!body) return;
  auto registration = ParseRegistration(*body);
  if (!registration) return Refuse(exchange, registration.error());
  if (const auto named = CheckNames(*registration); !named)
    return exchange.Text(400, named.error().message);
  if (!IsOurs(exchange, parts, registration->datacenter)) return;
  std::make_shared<RegisterWrite>(parts, std::move(exchange), *std::move(registration))->Begin();
}

void Deregister(const CatalogWriteParts& parts, Exchange exchange) {
  const std::optional<Json> body = JsonBody(exchange, kDecodeFailed);
  if (!body) return;
  auto what = ParseDeregistration(*body);
  if (!what) return Refuse(exchange, what.error());
  if (!IsOurs(exchange, parts, what->datacenter)) return;
  // Nothing can be there under a name that no key has.
  if (!CheckName(what->node) || (!what->service_id.empty() && !CheckId(what->service_id)))
    return exchange.OkJson(true);
  std::make_shared<DeregisterWrite>(parts, std::move(exchange), *std::move(what))->Begin();
}

}  // namespace

std::vector<Route> CatalogWriteRoutes(const CatalogWriteParts& parts) {
  return {{.path = "/v1/catalog/register",
           .methods = "PUT",
           .writes = true,
           .handle = [parts](Exchange exchange) { Register(parts, std::move(exchange)); }},
          {.path = "/v1/catalog/deregister",
           .methods = "PUT",
           .writes = true,
           .handle = [parts](Exchange exchange) { Deregister(parts, std::move(exchange)); }}};
}

}  // namespace kvorum::consul
