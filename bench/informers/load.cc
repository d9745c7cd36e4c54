// The load of bench/compare_informers.py: puts each of the first COUNT keys of a prefix once, in
// transactions of SIZE, at a rate or (0) as fast as it goes. A value of 256 bytes begins with the
// wall clock's nanoseconds at its put. A key has 32 bytes.
//
//   kvorum-informer-load ENDPOINT PREFIX COUNT SIZE PUTS_PER_SECOND
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "proto/rpc.pb.h"

namespace kvorum::bench {
namespace {

constexpr std::size_t kThreads = 16;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kValueBytes = 256;

struct Load {
  client::Client& client;
  std::string prefix;
  std::size_t count = 0;
  std::size_t size = 0;
  std::size_t rate = 0;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
};

std::string Key(const Load& load, std::size_t number) {
  std::string digits = std::to_string(number);
  return load.prefix + std::string(kKeyBytes - load.prefix.size() - digits.size(), '0') + digits;
}

std::string Value() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string value = std::to_string(std::chrono::nanoseconds(now).count());
  value.resize(kValueBytes, '.');
  return value;
}

void Put(Load& load, std::chrono::steady_clock::time_point begin) {
  while (true) {
    const std::size_t first = load.next.fetch_add(load.size);
    if (first >= load.count || load.failed) return;
    if (load.rate != 0)
      std::this_thread::sleep_until(begin + std::chrono::nanoseconds(std::chrono::seconds(1)) *
                                                static_cast<std::int64_t>(first) /
                                                static_cast<std::int64_t>(load.rate));
    etcdserverpb::TxnRequest txn;
    for (std::size_t i = first; i < std::min(first + load.size, load.count); ++i) {
      auto& put = *txn.add_success()->mutable_request_put();
      put.set_key(Key(load, i));
      put.set_value(Value());
    }
    if (!load.client.Txn(txn)) load.failed = true;
  }
}

int LoadPrefix(const std::vector<std::string>& arguments) {
  const auto client = client::Client::Connect({.endpoints = {arguments[0]}});
  if (!client) return 1;
  Load load{.client = **client,
            .prefix = arguments[1],
            .count = std::stoul(arguments[2]),
            .size = std::stoul(arguments[3]),
            .rate = std::stoul(arguments[4])};
  if (load.size == 0 || load.prefix.size() > kKeyBytes / 2) return 2;
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&] { Put(load, begin); });
  for (std::thread& thread : threads) thread.join();
  return load.failed ? 1 : 0;
}

}  // namespace
}  // namespace kvorum::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 5) return 2;
  return kvorum::bench::LoadPrefix(arguments);
}
