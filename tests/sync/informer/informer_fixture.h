// An informer over a store in memory, on a clock of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sync/informer/informer.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {

using BytesInformer = Informer<BytesCodec>;

// Writes down a listener's notifications: "+k=v" ("*+k=v" initially), "k:old>new", "-k=last".
struct Told {
  std::vector<std::string> log;
  std::function<void()> on_each;

  BytesInformer::Handler handler() {
    using EntryRef = BytesInformer::EntryRef;
    return {.on_add =
                [this](const EntryRef& added, bool is_initial) {
                  Add(std::string(is_initial ? "*+" : "+") + KeyOf(added) + "=" + ValueOf(added));
                },
            .on_update =
                [this](const EntryRef& before, const EntryRef& after) {
                  Add(KeyOf(after) + ":" + ValueOf(before) + ">" + ValueOf(after));
                },
            .on_delete =
                [this](const EntryRef& last) { Add("-" + KeyOf(last) + "=" + ValueOf(last)); }};
  }
  std::vector<std::string> Take() { return std::exchange(log, {}); }

 private:
  static std::string KeyOf(const BytesInformer::EntryRef& entry) {
    return std::string(entry->key().substr(3));  // without /a/
  }
  static std::string ValueOf(const BytesInformer::EntryRef& entry) {
    return std::string(entry->value());
  }
  void Add(std::string line) {
    log.push_back(std::move(line));
    if (on_each) on_each();
  }
};

class SyncInformer : public testing::Test {
 protected:
  ~SyncInformer() override {
    if (informer.has_value()) informer->core().CheckInvariants();
  }
  // Options of the prefix /a/, without randomness.
  BytesInformer::Options Prefix() {
    BytesInformer::Options options;
    options.source.prefix = "/a/";
    options.source.seed = 1;
    options.on_report = [this](const std::string& text) { reports.push_back(text); };
    return options;
  }
  void Make(BytesInformer::Options options) {
    informer.emplace(store, executor, std::move(options));
  }
  void Run() {
    ASSERT_TRUE(informer->Run());
    executor.Settle();
  }
  // A listener on the test's executor.
  ListenerHandle Listen(Told& told, ListenerOptions options = {}) {
    options.executor = &executor;
    auto handle = informer->AddListener(std::move(options), told.handler());
    EXPECT_TRUE(handle);
    return *std::move(handle);
  }
  void Put(const std::string& name, const std::string& value) { store.Put("/a/" + name, value); }
  void Delete(const std::string& name) { store.Delete("/a/" + name); }
  // The informer's objects, as the store's contents are written.
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    informer->List().ForEach(
        [&](const BytesInformer::Entry& entry) { contents.emplace(entry.key(), entry.value()); });
    return contents;
  }

  FakeStore store;
  ManualExecutor executor;
  std::vector<std::string> reports;
  std::optional<BytesInformer> informer;
};

}  // namespace kvorum::sync
