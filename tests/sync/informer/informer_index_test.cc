// The indexes of an informer (I5 of docs/sync_behaviours.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/sync/informer/informer_fixture.h"

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// The words of a value, each of which the entry is found by.
std::vector<std::string> Words(const BytesInformer::Entry& entry) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : entry.value()) {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

TEST_F(SyncInformer, I5_IndexesEqualAFullScanUnderRandomOperations) {
  Make(Prefix());
  ASSERT_TRUE(informer->AddIndex("words", Words));
  Run();
  Rng rng(9);
  for (int step = 0; step < 3000; ++step) {
    const std::string key = "/a/" + std::to_string(rng.Below(50));
    if (rng.OneIn(3)) {
      store.Delete(key);
    } else {
      std::string value;
      for (std::uint64_t n = rng.Below(4); n > 0; --n)
        value += "w" + std::to_string(rng.Below(8)) + " ";
      store.Put(key, value);
    }
    if (step % 500 == 250) {  // a list instead of the events
      store.Disconnect();
      store.Delete("/a/1");
      store.Compact(store.Put("/a/2", "w1 w1 w9"));
      store.Connect();
    }
    if (step % 10 != 0) continue;
    executor.Settle();
    std::map<std::string, std::set<std::string>> scan;
    informer->List().ForEach([&](const BytesInformer::Entry& entry) {
      for (const std::string& word : Words(entry)) scan[word].emplace(entry.key());
    });
    std::map<std::string, std::set<std::string>> indexed;
    const auto values = informer->IndexValues("words");
    ASSERT_TRUE(values);
    for (const std::string& value : *values) {
      const auto entries = informer->ByIndex("words", value);
      ASSERT_TRUE(entries);
      ASSERT_THAT(*entries, testing::Not(IsEmpty())) << "an empty set of " << value;
      for (const auto& entry : *entries) indexed[value].emplace(entry->key());
    }
    ASSERT_EQ(indexed, scan);
  }
  executor.Settle();
  EXPECT_EQ(Contents(), store.Contents());
}

TEST_F(SyncInformer, I5_AnIndexAddedLaterSeesWhatIsThereAndANameIsTakenOnce) {
  Put("1", "red big");
  Put("2", "red");
  Make(Prefix());
  Run();
  ASSERT_TRUE(informer->AddIndex("words", Words));
  EXPECT_THAT(*informer->ByIndex("words", "red"), SizeIs(2));
  EXPECT_THAT(*informer->ByIndex("words", "blue"), IsEmpty());
  EXPECT_EQ(informer->AddIndex("words", Words).error().code, Code::kAlreadyExists);
  EXPECT_EQ(informer->ByIndex("size", "big").error().code, Code::kNotFound);
  EXPECT_EQ(informer->IndexValues("size").error().code, Code::kNotFound);
  Put("2", "blue");
  Delete("1");
  executor.Settle();
  EXPECT_THAT(*informer->IndexValues("words"), ElementsAre("blue"));
}

TEST_F(SyncInformer, I15_AnIndexFunctionMayThrowAndTheObjectHasNoValue) {
  Put("1", "red");
  Make(Prefix());
  ASSERT_TRUE(informer->AddIndex("strict", [](const BytesInformer::Entry& entry) {
    if (entry.value() == "none") throw std::runtime_error("no word");
    return Words(entry);
  }));
  Run();
  Put("2", "none");
  Put("3", "blue");
  executor.Settle();
  EXPECT_THAT(reports, ElementsAre("index strict of key /a/2 threw: no word"));
  EXPECT_THAT(*informer->IndexValues("strict"), ElementsAre("blue", "red"));
  EXPECT_TRUE(informer->Get("/a/2"));
}

TEST_F(SyncInformer, AnIndexFunctionMayReadTheInformer) {
  Put("1", "2");
  Put("2", "x");
  Make(Prefix());
  const auto target = [&](const BytesInformer::Entry& entry) {
    const auto found = informer->Get("/a/" + std::string(entry.value()));
    return std::vector<std::string>{found ? std::string(found->value()) : "none"};
  };
  ASSERT_TRUE(informer->AddIndex("target", target));
  Run();
  ASSERT_TRUE(informer->AddIndex("later", target));
  EXPECT_THAT(*informer->IndexValues("later"), ElementsAre("none", "x"));
  Put("3", "1");
  executor.Settle();
  EXPECT_THAT(*informer->ByIndex("later", "2"), SizeIs(1));
}

TEST_F(SyncInformer, I5_IndexesAddedWhileObjectsChangeEqualAFullScan) {
  Make(Prefix());
  Run();
  std::thread adder([&] {
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(informer->AddIndex("words " + std::to_string(i), Words));
  });
  for (int i = 0; i < 2000; ++i) {
    Put(std::to_string(i % 30), "w" + std::to_string(i % 7) + " w" + std::to_string(i % 5));
    executor.Settle();
  }
  adder.join();
  for (int i = 0; i < 20; ++i) {
    const std::string name = "words " + std::to_string(i);
    const auto words = informer->IndexValues(name);
    ASSERT_TRUE(words);
    EXPECT_THAT(*words, SizeIs(7));
    for (const std::string& word : *words) {
      std::set<std::string> indexed;
      const auto entries = informer->ByIndex(name, word);
      for (const auto& entry : *entries) indexed.emplace(entry->key());
      std::set<std::string> scan;
      informer->List().ForEach([&](const BytesInformer::Entry& entry) {
        if (std::ranges::count(Words(entry), word) != 0) scan.emplace(entry.key());
      });
      EXPECT_EQ(indexed, scan);
    }
  }
}

}  // namespace
}  // namespace kvorum::sync
