#include "server/apply/wait_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kvorum::server {
namespace {

using WaiterNames = std::vector<std::string>;

class NamedWaiter final : public Waiter {
 public:
  explicit NamedWaiter(std::string name) : name_(std::move(name)) {}
  void Applied(ApplyResult) override {}
  void Failed(const Error&) override {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

WaiterNames NamesOf(const std::vector<std::unique_ptr<Waiter>>& waiters) {
  WaiterNames names;
  for (const auto& waiter : waiters)
    names.push_back(waiter == nullptr ? "-" : static_cast<NamedWaiter&>(*waiter).name());
  return names;
}

class WaitTableTest : public testing::Test {
 protected:
  void Register(std::uint64_t id, std::string name, std::int64_t deadline_ns = 100,
                bool is_key_write = false) {
    std::vector<PendingProposal> one;
    one.push_back({.id = id,
                   .deadline = {deadline_ns},
                   .waiter = std::make_unique<NamedWaiter>(std::move(name)),
                   .is_key_write = is_key_write});
    table_.Register(std::move(one));
  }
  WaitTable table_;
};

TEST_F(WaitTableTest, WhatIsTakenIsParallelToTheIdsAndGone) {
  Register(1, "one");
  Register(2, "two");
  Register(3, "three");
  EXPECT_EQ(table_.size(), 3);
  EXPECT_EQ(NamesOf(table_.Take({3, 9, 1, 1})), (WaiterNames{"three", "-", "one", "-"}));
  EXPECT_EQ(table_.size(), 1);
  EXPECT_EQ(NamesOf(table_.Take({1, 2})), (WaiterNames{"-", "two"}));
  EXPECT_EQ(table_.size(), 0);
  EXPECT_EQ(NamesOf(table_.Take({})), WaiterNames{});
}

TEST_F(WaitTableTest, TheDeadlineItselfIsTooLate) {
  Register(1, "early", 10);
  Register(2, "late", 20);
  EXPECT_EQ(NamesOf(table_.TakeExpired({9})), WaiterNames{});
  EXPECT_EQ(NamesOf(table_.TakeExpired({10})), WaiterNames{"early"});
  EXPECT_EQ(NamesOf(table_.TakeExpired({10})), WaiterNames{});
  EXPECT_EQ(NamesOf(table_.Take({1, 2})), (WaiterNames{"-", "late"}))
      << "the outcome came too late";
}

TEST_F(WaitTableTest, TheKeyWritesAmongThemAreCounted) {
  Register(1, "lease");
  for (std::uint64_t id = 2; id <= 5; ++id) Register(id, "put", id == 4 ? 10 : 100, true);
  EXPECT_EQ(table_.key_writes(), 4U);
  table_.Take({1, 2, 2, 9});
  EXPECT_EQ(table_.key_writes(), 3U);
  table_.TakeExpired({10});
  EXPECT_EQ(table_.key_writes(), 2U);
  table_.TakeAll();
  EXPECT_EQ(table_.key_writes(), 0U);
}

TEST_F(WaitTableTest, AllCanBeTaken) {
  Register(1, "one");
  Register(2, "two");
  EXPECT_EQ(table_.TakeAll().size(), 2);
  EXPECT_EQ(table_.size(), 0);
  EXPECT_EQ(NamesOf(table_.Take({1})), WaiterNames{"-"});
}

}  // namespace
}  // namespace kvorum::server
