#include "consul/kv/session_creation.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kvorum::consul {
namespace {

using sync::Compare;

constexpr int kCreationTries = 8;
constexpr std::chrono::seconds kMostCreationLag(5);

class Creation : public std::enable_shared_from_this<Creation> {
 public:
  Creation(std::shared_ptr<sync::Store> store, CatalogCopy& copy, const KvKeys& keys,
           const Work& work, WantedSession wanted, OnSession on_session)
      : store_(std::move(store)),
        copy_(copy),
        keys_(keys),
        work_(work),
        wanted_(std::move(wanted)),
        on_session_(std::move(on_session)) {
    record().id = NewSessionId();
  }

  void ReadLife() {
    const std::string key = keys_.registry().Life(record().node);
    store_->Range(
        {.key = key},
        work_.On<sync::RangeAnswer>([self = shared_from_this()](Result<sync::RangeAnswer> answer) {
          if (!answer) return self->Finish(Fail(answer.error()));
          self->life_ = answer->kvs.empty() ? sync::KeyValue{} : answer->kvs.front();
          self->WaitForCopy(answer->revision);
        }));
  }

 private:
  SessionRecord& record() { return wanted_.record; }

  void WaitForCopy(std::int64_t revision) {
    copy_.WaitForRevision(revision, work_.clock().Now() + kMostCreationLag,
                          work_.On<void>([self = shared_from_this()](Result<void> reached) {
                            if (!reached) return self->Finish(Fail(reached.error()));
                            self->Look();
                          }));
  }

  void Look() {
    ground_ = {.node = copy_.Node(record().node), .services = copy_.ServicesOf(record().node)};
    if (auto sound = CheckGround(record(), ground_); !sound) return Finish(Fail(sound.error()));
    if (wanted_.ttl == Duration::zero())
      lease_ = LeansOnLife(record(), ground_) ? life_.lease : 0;
    else if (lease_ == 0)
      return Grant();
    Write();
  }

  // Twice the TTL, as a client may count on the TTL and no more.
  void Grant() {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(2 * wanted_.ttl);
    store_->LeaseGrant(
        seconds.count(),
        work_.On<sync::LeaseAnswer>([self = shared_from_this()](Result<sync::LeaseAnswer> answer) {
          if (!answer) return self->Finish(Fail(answer.error()));
          self->lease_ = answer->id;
          self->Write();
        }));
  }

  void Write() {
    sync::TxnRequest request;
    AddCompares(request);
    request.then.push_back({.kind = sync::Operation::Kind::kPut,
                            .key = keys_.registry().Session(record().id),
                            .value = EncodeSession(record()),
                            .lease = lease_});
    store_->Txn(
        std::move(request),
        work_.On<sync::TxnAnswer>([self = shared_from_this()](Result<sync::TxnAnswer> answer) {
          // The life's lease may have ended meanwhile.
          const bool is_lease_gone = !answer && answer.error().code == Code::kNotFound;
          if (!answer && !is_lease_gone) return self->Finish(Fail(answer.error()));
          if (answer && answer->succeeded) return self->Finish(self->record().id);
          self->TryAgain();
        }));
  }

  void AddCompares(sync::TxnRequest& request) const {
    const RegistryKeys& registry = keys_.registry();
    const std::string& node = wanted_.record.node;
    request.compares.push_back(
        {.key = registry.Node(node), .number = ground_.node.node->mod_revision});
    std::set<std::string> compared;
    for (const std::string& check : ChecksOf(wanted_.record)) {
      const CheckFound found = FindCheck(ground_, check);
      if (found.is_life && compared.insert(std::string()).second) {
        request.compares.push_back({.key = registry.Life(node), .number = life_.mod_revision});
      } else if (found.service != nullptr && compared.insert(found.service->id).second) {
        request.compares.push_back({.key = registry.Service(node, found.service->id),
                                    .number = found.service->mod_revision});
      }
    }
  }

  void TryAgain() {
    if (++tries_ == kCreationTries)
      return Finish(Fail(Code::kAborted, "the node and its checks change all the time"));
    ReadLife();
  }

  void Finish(Result<std::string> id) {
    if (!id && wanted_.ttl != Duration::zero() && lease_ != 0)
      store_->LeaseRevoke(lease_, [store = store_](const Result<sync::LeaseAnswer>&) {});
    on_session_(std::move(id));
  }

  const std::shared_ptr<sync::Store> store_;
  CatalogCopy& copy_;
  const KvKeys& keys_;
  const Work& work_;
  WantedSession wanted_;
  OnSession on_session_;
  sync::KeyValue life_;
  SessionGround ground_;
  std::int64_t lease_ = 0;
  int tries_ = 0;
};

}  // namespace

void CreateSession(std::shared_ptr<sync::Store> store, CatalogCopy& copy, const KvKeys& keys,
                   const Work& work, WantedSession wanted, OnSession on_session) {
  std::make_shared<Creation>(std::move(store), copy, keys, work, std::move(wanted),
                             std::move(on_session))
      ->ReadLife();
}

}  // namespace kvorum::consul
