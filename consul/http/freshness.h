// The copy's freshness: asks the store for its revision with a caller's credentials, and waits
// until the copy has that revision.
//
// Thread-safe. Of one token one question is in progress at a time, and who comes meanwhile shares
// the next. Callbacks run on any thread: after kHoldTimeout at the latest if the store does not
// answer the question, and after another one if the copy stays behind the answer.
// Store, copy and access are not used after Stop, which drops who waits. Memory: who waits, and the
// last tokens that were let in.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/deadlines.h"
#include "consul/http/store_access.h"
#include "sync/kernel/gate.h"

namespace kvorum::consul {

class Freshness : public std::enable_shared_from_this<Freshness> {
 public:
  Freshness(CatalogCopy& copy, StoreAccess& access, std::shared_ptr<Deadlines> deadlines,
            std::string registry_prefix);

  // Waits for a callback in progress; late answers of the store find nothing any more.
  void Stop();

  // Answers once the copy has everything that was in the store when this was called.
  using OnFresh = std::move_only_function<void(Result<void>)>;
  void Ask(const std::string& token, OnFresh on_fresh);
  // Asks without waiting for the answer, unless a question of the token is in progress.
  void Refresh(const std::string& token);

  // True if the store let the token in during the last seconds; WasLetIn: if it ever did, as far as
  // is remembered. The agent's own (empty) token is always let in.
  bool IsLetIn(const std::string& token) const;
  bool WasLetIn(const std::string& token) const;

  // Since the last news from the store.
  Duration Age() const;
  // The last question was answered.
  bool knows_leader() const { return knows_leader_; }

 private:
  struct Group {
    bool is_asking = false;
    std::vector<OnFresh> next = {};  // who is answered by the next question
  };
  using Askers = std::shared_ptr<std::vector<OnFresh>>;

  void Send(const std::string& token);
  void TakeAnswer(const std::string& token, Result<std::int64_t> revision, std::int64_t had,
                  TimePoint asked, Askers askers);
  void Finish(const std::string& token, Result<void> result, TimePoint asked, Askers askers);
  void Remember(const std::string& token, const Result<void>& result);

  CatalogCopy& copy_;
  StoreAccess& access_;
  const std::shared_ptr<Deadlines> deadlines_;
  const Clock& clock_;
  const std::string prefix_;
  std::atomic<bool> knows_leader_ = true;
  std::atomic<std::int64_t> answered_ns_ = 0;  // when the last answered question was asked
  sync::Gate gate_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Group> groups_;
  std::map<std::string, TimePoint> let_in_;
  std::list<std::string> let_in_order_;
};

}  // namespace kvorum::consul
