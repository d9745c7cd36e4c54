// The machinery under the server: timers, the mailbox, the loop's order of work, output batches.
#include "rpc/io/loop.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "rpc/call/output_batch.h"
#include "rpc/io/mailbox.h"
#include "rpc/io/timer_heap.h"
#include "rpc/tls/socket.h"

namespace kvorum::rpc {
namespace {

struct CountingTimer final : Timer {
  void OnTimer() override { ++fired; }
  int fired = 0;
};

TEST(TimerHeapTest, AgreesWithASortedModel) {
  Rng rng(7);
  TimerHeap heap;
  std::vector<CountingTimer> timers(50);
  std::map<std::size_t, std::int64_t> model;  // armed timers
  for (int step = 0; step < 20'000; ++step) {
    const auto i = static_cast<std::size_t>(rng.Below(timers.size()));
    if (rng.Below(3) == 0) {
      heap.Disarm(timers[i]);
      model.erase(i);
    } else {
      const auto when = static_cast<std::int64_t>(rng.Below(1000));
      heap.Arm(timers[i], {when});
      model[i] = when;
    }
    ASSERT_EQ(heap.size(), model.size());
    std::int64_t earliest = INT64_MAX;
    for (const auto& [index, when] : model) earliest = std::min(earliest, when);
    if (model.empty()) {
      ASSERT_EQ(heap.Earliest(), std::nullopt);
    } else {
      ASSERT_EQ(heap.Earliest()->ns, earliest);
    }
    if (step % 100 == 0) {
      const TimePoint now{static_cast<std::int64_t>(rng.Below(1000))};
      TimePoint last{0};
      while (Timer* timer = heap.PopDue(now)) {
        ASSERT_LE(last, timer->when());
        last = timer->when();
        model.erase(static_cast<std::size_t>(static_cast<CountingTimer*>(timer) - timers.data()));
      }
      for (const auto& [index, when] : model) ASSERT_GT(when, now.ns);
    }
  }
  for (CountingTimer& timer : timers) heap.Disarm(timer);
}

struct CountingItem final : Mailbox::Item {
  void Deliver() override { seen = value.load(); }
  void Discard() override { ++discarded; }
  std::atomic<int> value{0};
  int seen = 0;
  int discarded = 0;
};

TEST(MailboxTest, ADeliveryFollowsTheLastPush) {
  Mailbox mailbox;
  constexpr int kItems = 100;
  std::vector<std::shared_ptr<CountingItem>> items;
  for (int i = 0; i < kItems; ++i) items.push_back(std::make_shared<CountingItem>());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 1000; ++round) {
        for (int i = t; i < kItems; i += 4) {
          auto& item = items[static_cast<std::size_t>(i)];
          ++item->value;
          mailbox.Push(item);
        }
      }
    });
  }
  std::thread reader([&] {
    while (!done) mailbox.Collect();
    mailbox.Collect();
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  for (const auto& item : items) EXPECT_EQ(item->seen, 1000);
}

TEST(MailboxTest, AClosedBoxKeepsNothing) {
  auto mailbox = std::make_unique<Mailbox>();
  auto item = std::make_shared<CountingItem>();
  mailbox->Push(item);
  EXPECT_EQ(item.use_count(), 2);
  mailbox->Close();
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(item->discarded, 1);
  auto other = std::make_shared<CountingItem>();
  for (int i = 1; i <= 2; ++i) {
    mailbox->Push(other);
    EXPECT_EQ(other.use_count(), 1);
    EXPECT_EQ(other->discarded, i) << "what came with the second push stays";
  }
  const auto token = std::make_shared<int>();
  mailbox->Post([token] {});
  EXPECT_EQ(token.use_count(), 1);
}

TEST(LoopTest, TasksRunInOrderAndHooksAfterThem) {
  Loop loop(0, "loop");
  std::vector<int> order;
  std::promise<void> done;
  loop.AddBatchHook([&] {
    if (!order.empty() && order.back() == 3) {
      order.push_back(100);
      done.set_value();
    }
  });
  for (int i = 1; i <= 3; ++i) loop.Post([&, i] { order.push_back(i); });
  loop.Start();
  done.get_future().wait();
  loop.Stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 100}));
}

TEST(LoopTest, TimedTasksWaitForTheirTime) {
  Loop loop(0, "loop");
  loop.Start();
  std::promise<TimePoint> late;
  const TimePoint begin = SystemClock().Now();
  const TimePoint when = begin + std::chrono::milliseconds(30);
  loop.PostAt(when, [&] { late.set_value(SystemClock().Now()); });
  const TimePoint ran = late.get_future().get();
  EXPECT_GE(ran, when);
  // A task that never comes due is dropped at the end, without a leak.
  loop.PostAt(begin + std::chrono::hours(1), [token = std::make_shared<int>()] {});
  loop.Stop();
}

TEST(LoopTest, SleepingLoopIsWokenByEveryThread) {
  Loop loop(0, "loop");
  loop.Start();
  for (int i = 0; i < 1000; ++i) {
    std::promise<bool> ran;
    loop.Post([&] { ran.set_value(loop.InThread()); });
    ASSERT_TRUE(ran.get_future().get());
  }
  EXPECT_FALSE(loop.InThread());
  loop.Stop();
}

class OutputBatchTest : public testing::Test {
 protected:
  OutputBatchTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    socket_ = std::make_unique<Socket>(FileDescriptor(fds[0]));
    peer_ = FileDescriptor(fds[1]);
  }
  std::string ReadPeer() {
    std::string all;
    char buffer[65536];
    for (ssize_t n = 0; (n = read(peer_.get(), buffer, sizeof(buffer))) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }
  std::unique_ptr<Socket> socket_;
  FileDescriptor peer_;
};

TEST_F(OutputBatchTest, PiecesLeaveInOrder) {
  OutputBatch batch;
  std::string expected;
  Rng rng(3);
  for (int i = 0; i < 40; ++i) {
    const std::string piece(rng.Below(i % 4 == 0 ? 6000 : 100), static_cast<char>('a' + i % 26));
    expected += piece;
    batch.Append(SharedBytes::Copy(piece));
  }
  std::vector<SharedBytes> rest;
  EXPECT_EQ(batch.WriteTo(*socket_, &rest), static_cast<std::ptrdiff_t>(expected.size()));
  EXPECT_TRUE(rest.empty());
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(ReadPeer(), expected);
}

TEST_F(OutputBatchTest, WhatABlockedSocketLeavesIsKept) {
  OutputBatch batch;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(i % 2 == 0 ? 10'000 : 10, static_cast<char>('a' + i % 26));
    expected += piece;
    batch.Append(SharedBytes::Copy(piece));
  }
  std::vector<SharedBytes> rest;
  ASSERT_GT(batch.WriteTo(*socket_, &rest), 0);
  ASSERT_FALSE(rest.empty());
  std::string received = ReadPeer();
  while (!rest.empty()) {
    for (const SharedBytes& piece : std::exchange(rest, {})) batch.Append(piece);
    ASSERT_GE(batch.WriteTo(*socket_, &rest), 0);
    received += ReadPeer();
  }
  EXPECT_EQ(received, expected);
}

TEST_F(OutputBatchTest, ABrokenSocketIsReported) {
  peer_.Close();
  OutputBatch batch;
  batch.Append(std::string_view("x"));
  std::vector<SharedBytes> rest;
  EXPECT_EQ(batch.WriteTo(*socket_, &rest), -1);
  EXPECT_TRUE(batch.empty());
}

TEST(ListenSocketTest, PortInUseIsNamed) {
  const auto first = ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(first->Listen().has_value());
  const std::string& address = first->address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const auto second = ListenSocket::Tcp("127.0.0.1", port);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, "listen tcp " + address + ": bind: address already in use");
}

TEST(ListenSocketTest, AConnectionIsRefusedUntilItListens) {
  const auto socket = ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(socket.has_value());
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ASSERT_EQ(getsockname(socket->fd(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const auto connect_to_it = [&] {
    const FileDescriptor client(::socket(AF_INET, SOCK_STREAM, 0));
    return connect(client.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 ? 0
                                                                                           : errno;
  };
  EXPECT_EQ(connect_to_it(), ECONNREFUSED);
  ASSERT_TRUE(socket->Listen().has_value());
  EXPECT_EQ(connect_to_it(), 0);
}

TEST(ListenSocketTest, OfTwoThatAreBoundToAPortTheFirstToListenHasIt) {
  const auto first = ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(first.has_value());
  const std::string& address = first->address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const auto second = ListenSocket::Tcp("127.0.0.1", port);
  ASSERT_TRUE(second.has_value());
  ASSERT_TRUE(second->Listen().has_value());
  const auto late = first->Listen();
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().message, "listen tcp " + address + ": listen: address already in use");
}

TEST(ListenSocketTest, LocalhostIsIPv4First) {
  const auto socket = ListenSocket::Tcp("localhost", 0);
  ASSERT_TRUE(socket.has_value());
  EXPECT_TRUE(socket->address().starts_with("127.0.0.1:"));
}

TEST(ListenSocketTest, AStaleUnixSocketIsReplaced) {
  const std::string path = testing::TempDir() + "/kvorum_listen_test.sock";
  {
    EXPECT_TRUE(ListenSocket::Unix(path).has_value());
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  const FileDescriptor stale(socket(AF_UNIX, SOCK_STREAM, 0));
  const auto first = ListenSocket::Unix(path);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(ListenSocket::Unix(path).has_value());
  EXPECT_FALSE(ListenSocket::Unix(std::string(200, 'p')).has_value());
}

}  // namespace
}  // namespace kvorum::rpc
