#include "sync/agent/write_permission.h"

#include <map>
#include <utility>

#include "sync/store/answer.h"

namespace kvorum::sync {

struct WritePermission::Question {
  std::vector<TxnRequest> requests;
  Answer<void> answer;
  std::shared_ptr<Store> store_of_token = {};
};

EntryPlace PlaceOf(const Entry& entry) {
  return {.id = entry.id, .name = entry.name, .kind = entry.kind};
}

void WritePermission::Ask(const std::vector<EntryPlace>& places, const std::string& token,
                          std::int64_t lease, OnAnswer on_answer) const {
  auto question = std::make_shared<Question>(Question{
      .requests = RequestsAbout(places, lease), .answer = Answer<void>(std::move(on_answer))});
  if (token.empty() || !options_.store_of) return AskNext(question, store_, loop_);
  // The callback may come after this object: it has what it needs.
  options_.store_of(
      token, OnLoop<std::shared_ptr<Store>>(
                 loop_, [question, loop = loop_](Result<std::shared_ptr<Store>> store) {
                   if (!store && store.error().code == Code::kUnauthenticated)
                     return question->answer(Fail(Code::kPermissionDenied, store.error().message));
                   if (!store) return question->answer(Fail(store.error()));
                   question->store_of_token = *std::move(store);
                   AskNext(question, *question->store_of_token, loop);
                 }));
}

std::vector<TxnRequest> WritePermission::RequestsAbout(const std::vector<EntryPlace>& places,
                                                       std::int64_t lease) const {
  std::map<std::string, std::int64_t> keys;  // and their leases
  for (const EntryPlace& place : places) {
    if (place.kind == EntryKind::kNode) {
      if (options_.keeps_records) keys[options_.keys.KeptNode(options_.node)] = 0;
      continue;
    }
    keys[options_.keys.EntryOf(options_.node, place.id)] = lease;
    keys[options_.keys.ServiceEntry(place.name, options_.node, place.id)] = lease;
    if (options_.keeps_records) keys[options_.keys.KeptService(options_.node, place.id)] = 0;
  }
  std::vector<TxnRequest> requests;
  for (const auto& [key, its_lease] : keys) {
    if (requests.empty() || requests.back().then.size() >= options_.max_txn_operations) {
      // The key that every write compares, with a revision that no key has.
      requests.push_back({.compares = {{.key = options_.keys.Node(options_.node),
                                        .target = Compare::Target::kCreateRevision,
                                        .number = -1}}});
    }
    requests.back().then.push_back({.kind = Operation::Kind::kPut, .key = key, .lease = its_lease});
  }
  return requests;
}

void WritePermission::AskNext(const std::shared_ptr<Question>& question, Store& store,
                              const Loop::Handle& loop) {
  if (question->requests.empty()) return question->answer({});
  TxnRequest request = std::move(question->requests.back());
  question->requests.pop_back();
  store.Txn(std::move(request),
            OnLoop<TxnAnswer>(loop, [question, &store, loop](Result<TxnAnswer> answer) {
              if (answer) return AskNext(question, store, loop);
              const Code code = answer.error().code;
              question->answer(Fail(code == Code::kUnauthenticated ? Code::kPermissionDenied : code,
                                    answer.error().message));
            }));
}

}  // namespace kvorum::sync
