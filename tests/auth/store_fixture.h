// A store with a mirror of its records, as the backend holds them: verbs for short stories.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/auth_store.h"
#include "auth/password.h"
#include "base/api_errors.h"

namespace kvorum::auth {

class StoreFixture : public ::testing::Test {
 protected:
  // The change is made, and its records are written.
  Change Do(Result<Change> change) {
    EXPECT_TRUE(change.has_value()) << change.error().message;
    if (!change) return {};
    Write(change->records);
    store_.CheckInvariants();
    return *std::move(change);
  }
  // It is refused, and nothing changes.
  static void ExpectRefused(const Result<Change>& change, const ApiError& error) {
    ASSERT_FALSE(change.has_value());
    EXPECT_TRUE(change.error() == error) << change.error().message;
  }

  Change AddUser(std::string_view name) { return Do(store_.AddUser(name, kHash, false)); }
  Change Grant(std::string_view role, PermissionType type, std::string_view key,
               std::string_view range_end = "") {
    const Permission permission{type, std::string(key), std::string(range_end)};
    return Do(store_.GrantPermission(role, &permission));
  }
  // Root with its role, and auth is on.
  void EnableAuth() {
    AddUser("root");
    Do(store_.GrantRole("root", "root"));
    Do(store_.Enable());
  }

  std::shared_ptr<const AuthState> state() const { return store_.state(); }
  // A user that has just logged in.
  Identity Now(std::string_view username) const { return {username, state()->revision()}; }

  std::vector<Record> Records() const {
    std::vector<Record> records;
    for (const auto& [key, value] : mirror_) records.push_back({key.first, key.second, value});
    return records;
  }
  // The store after a restart.
  void Restart() {
    auto content = AuthStore::Load(Records());
    ASSERT_TRUE(content.has_value()) << content.error().message;
    store_.Replace(*std::move(content));
    store_.CheckInvariants();
  }

  static constexpr std::string_view kHash = "aGFzaA==";       // "hash"
  static constexpr std::string_view kOtherHash = "b3RoZXI=";  // "other"
  AuthStore store_;
  std::map<std::pair<Table, std::string>, std::string> mirror_;

 private:
  void Write(const std::vector<Record>& records) {
    std::map<std::pair<Table, std::string>, int> times;
    for (const Record& record : records) {
      const std::pair key(record.table, record.key);
      EXPECT_EQ(++times[key], 1) << record.key << " is there twice";
      if (record.value) {
        mirror_[key] = *record.value;
      } else {
        EXPECT_EQ(mirror_.erase(key), 1U) << record.key << " was not there";
      }
    }
  }
};

}  // namespace kvorum::auth
