// An informer over a cluster that suffers, for tests: three listeners check their notifications,
// and the copy is compared with the store on request.
//
//   sync-fault-probe ENDPOINTS DIRECT_ENDPOINTS PREFIX KEYS WINDOW [USER PASSWORD]
//
// The informer goes through the first endpoints, which may be broken; comparisons read the store
// through the second. Commands on standard input, each answered by one line:
//
//   listed           once the first list has been taken over
//   compare          equal REVISION KEYS | differs TEXT: the copy at a revision that it chooses
//   end              the same for a linearizable list, and for what each listener holds
//   state            JSON: what was told, skipped, wrong; lists made anew; memory
//
// A listener whose notification cannot follow the last one says "wrong ..." at once.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/key_range.h"
#include "client/client.h"
#include "proto/rpc.pb.h"
#include "sync/informer/informer.h"
#include "sync/kernel/metrics.h"
#include "sync/store/client_store.h"
#include "tests/sync/processes/fault_keys.h"
#include "tests/sync/processes/probe_client.h"
#include "tests/sync/processes/witness.h"

namespace kvorum::sync {
namespace {

using Copy = Informer<BytesCodec>;
using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

std::size_t HeapBytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

template <class Condition>
bool WaitUntil(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// Visits the prefix as the store has it at the revision.
template <class Visit>
Result<void> VisitStore(client::Client& client, const std::string& prefix, std::int64_t revision,
                        Visit visit) {
  etcdserverpb::RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(PrefixEnd(prefix));
  request.set_limit(1000);
  request.set_revision(revision);
  while (true) {
    KV_TRY(const auto page, client.Range(request, client::CallOptions::Within(kPatience)));
    for (const auto& kv : page.kvs()) visit(kv);
    if (!page.more()) return {};
    request.set_key(page.kvs(page.kvs_size() - 1).key() + '\0');
  }
}

bool IsEqual(const mvccpb::KeyValue& kv, const Copy::Entry& entry) {
  return entry.value() == kv.value() && entry.version() == kv.version() &&
         entry.mod_revision() == kv.mod_revision() &&
         entry.create_revision() == kv.create_revision() && entry.lease() == kv.lease();
}

class Probe {
 public:
  Probe(client::Client& client, client::Client& direct, std::string prefix, std::size_t keys,
        std::size_t window)
      : direct_(direct),
        prefix_(std::move(prefix)),
        keys_(keys),
        every_({.name = "every"}, keys, Say),
        slow_({.name = "slow",
               .overflow = OverflowPolicy::kCoalesce,
               .capacity = 16,
               .pause = 300ms,
               .pause_interval = 500ms},
              keys, Say),
        dropping_({.name = "dropping",
                   .overflow = OverflowPolicy::kDropAndResync,
                   .capacity = 16 + keys / 400,
                   .pause = 1s,
                   .pause_interval = 2s + 100us * keys},
                  keys, Say),
        heap_before_(HeapBytes()),
        store_(client),
        informer_(store_, executor_, OptionsOf(window)) {}

  bool Run() {
    for (Witness* witness : witnesses_) {
      if (!witness->Watch(informer_)) return false;
    }
    if (!informer_.Run()) return false;
    std::jthread sampler([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (informer_.is_listed()) most_held_ = std::max(most_held_.load(), HeldBytes());
        std::this_thread::sleep_for(100ms);
      }
    });
    for (std::string command; std::getline(std::cin, command);) Answer(command);
    informer_.Stop();
    return true;
  }

 private:
  Copy::Options OptionsOf(std::size_t window) {
    Copy::Options options;
    options.source.prefix = prefix_;
    options.source.metrics = &metrics_;
    options.window = window;
    options.on_report = [](const std::string& text) { std::cerr << "probe: " << text << '\n'; };
    return options;
  }

  std::size_t HeldBytes() const { return HeapBytes() - heap_before_; }

  void Answer(const std::string& command) {
    if (command == "listed") {
      Say(WaitUntil([&] { return informer_.is_listed(); }) ? command : "not listed");
    } else if (command == "compare") {
      Say(CompareNow());
    } else if (command == "end") {
      Say(CompareAtTheEnd());
    } else if (command == "state") {
      Say(State());
    }
  }

  std::string CompareNow() {
    const std::int64_t revision = informer_.revision();
    const auto view = informer_.Snapshot(revision);
    if (!view) return "differs: " + view.error().message;
    return CompareWith(*view, revision);
  }

  // Nothing is written any more.
  std::string CompareAtTheEnd() {
    etcdserverpb::RangeRequest request;
    request.set_key(prefix_);
    request.set_count_only(true);
    const auto now = direct_.Range(request, client::CallOptions::Within(kPatience));
    if (!now) return "differs: " + now.error().message;
    const std::int64_t revision = now->header().revision();
    if (!WaitUntil([&] { return informer_.revision() >= revision; }))
      return "differs: the copy stands at revision " + std::to_string(informer_.revision()) +
             ", the store at " + std::to_string(revision);
    const Copy::View view = informer_.List();
    std::vector<std::int64_t> held(keys_);
    view.ForEach(
        [&](const Copy::Entry& entry) { held[NumberOf(entry.key())] = entry.mod_revision(); });
    for (const Witness* witness : witnesses_) {
      if (!WaitUntil([&] { return witness->held() == held; }))
        return "differs: listener " + witness->name() + " holds something else";
    }
    return CompareWith(view, revision);
  }

  std::string CompareWith(const Copy::View& copy, std::int64_t revision) {
    std::size_t keys = 0;
    std::string different;
    const auto read = VisitStore(direct_, prefix_, revision, [&](const mvccpb::KeyValue& kv) {
      ++keys;
      const auto entry = copy.Get(kv.key());
      if (!entry || !IsEqual(kv, *entry)) different = kv.key();
    });
    const std::string at = "differs at revision " + std::to_string(revision) + ": ";
    if (!read) return at + read.error().message;
    if (!different.empty()) return at + different;
    if (keys != copy.size())
      return at + std::to_string(copy.size()) + " keys, not " + std::to_string(keys);
    return "equal " + std::to_string(revision) + " " + std::to_string(keys);
  }

  std::string State() {
    nlohmann::json state;
    for (const Witness* witness : witnesses_)
      state[witness->name()] = {{"told", witness->told()},
                                {"skipped", witness->skipped()},
                                {"wrong", witness->wrong()},
                                {"overflows", witness->overflows()}};
    std::size_t bytes = 0;
    informer_.List().ForEach(
        [&](const Copy::Entry& entry) { bytes += entry.key().size() + entry.value().size(); });
    state["relists"] = relists_->value();
    state["bytes"] = bytes;
    state["held"] = HeldBytes();
    state["most_held"] = most_held_.load();
    return state.dump();
  }

  client::Client& direct_;
  const std::string prefix_;
  const std::size_t keys_;
  Metrics metrics_;
  std::shared_ptr<Counter> relists_ = metrics_.Get(CounterName::kSourceRelists, {"compacted"});
  Witness every_;
  Witness slow_;
  Witness dropping_;
  const std::array<Witness*, 3> witnesses_ = {&every_, &slow_, &dropping_};
  const std::size_t heap_before_;  // the witnesses' memory is not the informer's
  std::atomic<std::size_t> most_held_ = 0;
  ClientStore store_;
  ThreadExecutor executor_{"informer"};
  Copy informer_;
};

int RunFaultProbe(const std::vector<std::string>& arguments) {
  const bool has_user = arguments.size() == 7;
  const std::string user = has_user ? arguments[5] : "";
  const std::string password = has_user ? arguments[6] : "";
  const auto client = ConnectProbe(arguments[0], user, password);
  const auto direct = ConnectProbe(arguments[1], user, password);
  if (!client || !direct) {
    Say("error " + (client ? direct : client).error().message);
    return 1;
  }
  Probe probe(**client, **direct, arguments[2], std::stoul(arguments[3]), std::stoul(arguments[4]));
  return probe.Run() ? 0 : 1;
}

}  // namespace
}  // namespace kvorum::sync

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 5 && arguments.size() != 7) return 2;
  return kvorum::sync::RunFaultProbe(arguments);
}
