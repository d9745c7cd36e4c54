#include "rpc/io/owning_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace kvorum::rpc {
namespace {

struct Item : OwningList<Item>::Hook {
  explicit Item(char n) : name(n) {}
  const char name;
};

std::string Names(const OwningList<Item>& list) {
  std::string names;
  list.ForEach([&](const Item& item) { names += item.name; });
  return names;
}

TEST(OwningListTest, ItemsLeaveFromAnyPlace) {
  for (const std::string_view order : {"abc", "acb", "bac", "bca", "cab", "cba"}) {
    OwningList<Item> list;
    std::string names;
    for (const char name : {'a', 'b', 'c'}) {
      list.Add(std::make_shared<Item>(name));
      names.insert(0, 1, name);
    }
    EXPECT_EQ(Names(list), names);
    for (const char name : order) {
      std::shared_ptr<Item> removed;
      list.ForEach([&](Item& item) {
        if (item.name == name) removed = list.Remove(item);
      });
      ASSERT_NE(removed, nullptr);
      EXPECT_EQ(removed->name, name);
      EXPECT_EQ(removed->owner(), nullptr);
      std::erase(names, name);
      EXPECT_EQ(Names(list), names) << order;
      EXPECT_EQ(list.size(), names.size());
    }
    EXPECT_TRUE(list.empty());
  }
}

TEST(OwningListTest, ItOwnsItsItems) {
  OwningList<Item> list;
  auto item = std::make_shared<Item>('a');
  const std::weak_ptr<Item> seen = item;
  Item& added = list.Add(std::move(item));
  EXPECT_EQ(added.owner().get(), &added);
  EXPECT_FALSE(seen.expired());
  list.Remove(added).reset();
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace kvorum::rpc
