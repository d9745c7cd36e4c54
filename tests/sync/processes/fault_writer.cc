// The changes of the tests under faults: fills a prefix, then changes it at a rate until its
// standard input ends. A change is a put or, one time in five, a delete; a transaction has one to
// seven of different keys.
//
//   sync-fault-writer ENDPOINTS PREFIX KEYS CHANGES_PER_SECOND [USER PASSWORD]
//
//   filled | wrote CHANGES in SECONDS s, REFUSED refused | error TEXT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tests/sync/processes/fault_keys.h"
#include "tests/sync/processes/probe_client.h"

namespace kvorum::sync {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kThreads = 16;
constexpr std::size_t kFillKeys = 100;  // in one transaction
constexpr std::size_t kMaxChanges = 7;  // in one transaction
constexpr std::size_t kMeanChanges = (1 + kMaxChanges) / 2;

struct Task {
  client::Client& client;
  std::string prefix;
  std::size_t keys = 0;
  std::size_t rate = 0;  // changes per second
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> changes = 0;
  std::atomic<std::uint64_t> refused = 0;
};

void AddPut(etcdserverpb::TxnRequest& txn, const Task& task, std::size_t number,
            std::uint64_t count) {
  auto& put = *txn.add_success()->mutable_request_put();
  put.set_key(FaultKey(task.prefix, number));
  put.set_value(FaultValue(number, count));
}

bool Send(Task& task, const etcdserverpb::TxnRequest& txn) {
  const auto done = task.client.Txn(txn, client::CallOptions::Within(std::chrono::seconds(1)));
  if (!done) {
    ++task.refused;
    return false;
  }
  task.changes += static_cast<std::uint64_t>(txn.success_size());
  return true;
}

// Every kThreads-th of the transactions that write all keys.
bool Fill(Task& task, std::size_t thread) {
  for (std::size_t first = thread * kFillKeys; first < task.keys; first += kThreads * kFillKeys) {
    etcdserverpb::TxnRequest txn;
    for (std::size_t i = first; i < std::min(first + kFillKeys, task.keys); ++i)
      AddPut(txn, task, i, 0);
    if (!Send(task, txn)) return false;
  }
  return true;
}

void Change(Task& task, std::size_t thread) {
  std::mt19937_64 chance(thread);
  // The time from one transaction of a thread to its next.
  const std::chrono::nanoseconds pause(std::chrono::nanoseconds(std::chrono::seconds(1)) *
                                       static_cast<int>(kThreads * kMeanChanges) /
                                       static_cast<int>(task.rate));
  Clock::time_point next =
      Clock::now() + pause * static_cast<int>(thread) / static_cast<int>(kThreads);
  for (std::uint64_t count = 1; !task.is_over; ++count) {
    std::this_thread::sleep_until(next);
    // Changes that a fault has held up are made up for, up to a second of them.
    next = std::max(next + pause, Clock::now() - std::chrono::seconds(1));
    std::set<std::size_t> numbers;
    const std::size_t size = 1 + chance() % kMaxChanges;
    while (numbers.size() < size) numbers.insert(chance() % task.keys);
    etcdserverpb::TxnRequest txn;
    for (const std::size_t number : numbers) {
      if (chance() % 5 == 0) {
        txn.add_success()->mutable_request_delete_range()->set_key(FaultKey(task.prefix, number));
      } else {
        AddPut(txn, task, number, count);
      }
    }
    Send(task, txn);
  }
}

template <class Work>
bool OnAllThreads(Task& task, Work work) {
  std::vector<std::thread> threads;
  std::atomic<bool> all = true;
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      if (!work(task, i)) all = false;
    });
  for (std::thread& thread : threads) thread.join();
  return all;
}

int RunFaultWriter(const std::vector<std::string>& arguments) {
  const auto client = ConnectProbe(arguments[0], arguments.size() == 6 ? arguments[4] : "",
                                   arguments.size() == 6 ? arguments[5] : "");
  if (!client) {
    std::cout << "error " << client.error().message << std::endl;
    return 1;
  }
  Task task{.client = **client,
            .prefix = arguments[1],
            .keys = std::stoul(arguments[2]),
            .rate = std::stoul(arguments[3])};
  if (task.keys < 2 * kMaxChanges || task.keys > kMaxFaultKeys || task.rate == 0) return 2;
  if (!OnAllThreads(task, Fill)) {
    std::cout << "error the prefix could not be filled" << std::endl;
    return 1;
  }
  task.changes = 0;
  std::cout << "filled" << std::endl;
  const auto begin = Clock::now();
  std::thread end([&] {
    for (std::string line; std::getline(std::cin, line);) {
    }
    task.is_over = true;
  });
  OnAllThreads(task, [](Task& all, std::size_t thread) {
    Change(all, thread);
    return true;
  });
  end.join();
  const std::chrono::duration<double> taken = Clock::now() - begin;
  std::cout << "wrote " << task.changes << " in " << taken.count() << " s, " << task.refused
            << " refused" << std::endl;
  return 0;
}

}  // namespace
}  // namespace kvorum::sync

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 4 && arguments.size() != 6) return 2;
  return kvorum::sync::RunFaultWriter(arguments);
}
