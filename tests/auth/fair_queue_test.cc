// Turns and shares of those who wait.
#include "auth/fair_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::auth {
namespace {

using Names = std::vector<std::string>;

constexpr QueueKey kAliceHere{.address = 1, .user = 1};
constexpr QueueKey kBobHere{.address = 1, .user = 2};
constexpr QueueKey kAliceThere{.address = 2, .user = 1};

Names PopAll(FairQueue<std::string>& queue) {
  Names names;
  while (!queue.empty()) names.push_back(queue.Pop());
  return names;
}

TEST(FairQueueTest, OneAskerIsServedInOrder) {
  FairQueue<std::string> queue;
  for (const char* name : {"1", "2", "3"}) queue.Push(name, kAliceHere);
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(PopAll(queue), (Names{"1", "2", "3"}));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(FairQueueTest, AddressesTakeTurnsAndWithinEachItsUsers) {
  FairQueue<std::string> queue;
  for (const char* name : {"a1", "a2", "a3"}) queue.Push(name, kAliceHere);
  for (const char* name : {"b1", "b2"}) queue.Push(name, kBobHere);
  for (const char* name : {"c1", "c2", "c3", "c4"}) queue.Push(name, kAliceThere);
  EXPECT_EQ(PopAll(queue), (Names{"a1", "c1", "b1", "c2", "a2", "c3", "b2", "c4", "a3"}));
}

TEST(FairQueueTest, WhoComesLaterWaitsForThoseWhoWait) {
  FairQueue<std::string> queue;
  for (const char* name : {"a1", "a2", "a3"}) queue.Push(name, kAliceHere);
  EXPECT_EQ(queue.Pop(), "a1");
  queue.Push("c1", kAliceThere);
  EXPECT_EQ(queue.Pop(), "a2");
  EXPECT_EQ(queue.Pop(), "c1");
  queue.Push("c2", kAliceThere);  // again: it has had its turn
  EXPECT_EQ(queue.Pop(), "a3");
  EXPECT_EQ(queue.Pop(), "c2");
}

TEST(FairQueueTest, WhoHasTheMostLosesTheLast) {
  FairQueue<std::string> queue;
  for (const char* name : {"a1", "a2", "a3"}) queue.Push(name, kAliceHere);
  for (const char* name : {"b1", "b2"}) queue.Push(name, kBobHere);
  for (const char* name : {"c1", "c2", "c3", "c4"}) queue.Push(name, kAliceThere);
  // By address first: five of the one, four of the other; within it, three and two.
  EXPECT_EQ(queue.PopLast(), "a3");
  EXPECT_EQ(queue.PopLast(), "c4");  // of four each the one whose turn is last
  EXPECT_EQ(queue.PopLast(), "b2");
  EXPECT_EQ(queue.PopLast(), "c3");
  EXPECT_EQ(queue.PopLast(), "a2");
  EXPECT_EQ(queue.PopLast(), "c2");
  EXPECT_EQ(PopAll(queue), (Names{"a1", "c1", "b1"}));
}

TEST(QueueKeyTest, AHostIsOneWhateverItsPortAndWhicheverOfItsIpv6Addresses) {
  const auto address = [](std::string_view remote) { return QueueKeyOf(remote, "alice").address; };
  EXPECT_EQ(address("192.0.2.1:1000"), address("192.0.2.1:2000"));
  EXPECT_NE(address("192.0.2.1:1000"), address("192.0.2.2:1000"));
  EXPECT_EQ(address("[2001:db8:1:2::1]:1000"), address("[2001:db8:1:2:ffff::9]:2000"));
  EXPECT_NE(address("[2001:db8:1:2::1]:1000"), address("[2001:db8:1:3::1]:1000"));
  EXPECT_NE(address("[::ffff:192.0.2.1]:1000"), address("[::ffff:192.0.2.2]:1000"));
  EXPECT_EQ(address("[fe80::1%eth0]:1000"), address("[fe80::2%eth0]:1000"));
  EXPECT_EQ(address("@"), address("@"));
  EXPECT_NE(QueueKeyOf("192.0.2.1:1000", "alice").user, QueueKeyOf("192.0.2.1:1000", "bob").user);
}

}  // namespace
}  // namespace kvorum::auth
