// The simple tokens that this member knows: "sixteenLetters" + "." + the index of the entry that
// logged the user in. Every member hears of every token through the log and keeps its own memory of
// it, with its own clock; none is stored.
//
// Thread-safe. A look-up locks one part of the table for some 50 ns, so that threads seldom meet,
// and takes as long for a token that is nearly right as for any other wrong one.
// A token lives for `ttl` after its last use. Past max_tokens the one that was unused longest goes
// (in its part of the table), so that memory is bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/auth_store.h"
#include "auth/random_bytes.h"
#include "auth/token_table.h"
#include "base/clock.h"
#include "base/shared_bytes.h"

namespace kvorum::auth {

// The sixteen letters, for the request that goes into the log. 91 bits.
std::string MakeTokenPrefix(const RandomBytes& random);
std::string MakeSimpleToken(std::string_view prefix, std::uint64_t index);
// The index in a token; nullopt for what cannot be a token. It is that of the entry before its
// login: a member that has not applied the next one may not know the token yet.
std::optional<std::uint64_t> SimpleTokenIndex(std::string_view token);

class SimpleTokens {
 public:
  struct Options {
    Duration ttl = std::chrono::seconds(300);
    std::size_t max_tokens = 200'000;
  };
  // What is longer, or has no index behind a dot, is no token.
  static constexpr std::size_t kMaxTokenSizeBytes = 64;

  SimpleTokens(const Clock& clock, const Options& options);
  ~SimpleTokens();

  // A user has logged in.
  void Assign(std::string_view token, std::string_view username);
  // The user; nullptr if there is no such token. Renews it.
  std::shared_ptr<const std::string> Find(std::string_view token);

  // The tokens that one thread has seen lately, so that it need not meet others at every request.
  class Recent;
  // The same; empty if there is no such token. What is in `recent` is renewed, and what its end by
  // age is noticed, up to kRecentFor late, or a sixteenth of its life; that its user's sessions
  // have ended is noticed at once.
  SharedBytes Find(std::string_view token, TimePoint now, Recent& recent);
  static constexpr Duration kRecentFor = std::chrono::seconds(1);

  // O(1) a user; O(n) for all.
  void End(const EndedTokens& ended);
  // Forgets at most `limit` that have ended. To be called every second or so. Returns how many.
  std::size_t Sweep(std::size_t limit);
  // With those that have ended and are not forgotten.
  std::size_t size() const { return table_.size(); }

 private:
  struct Session;

  // nullptr if there is no such token. Renews it.
  std::shared_ptr<const Session> FindSession(std::string_view token, TimePoint now);
  void EndUser(const std::string& username);

  struct HashName {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };

  const Clock& clock_;
  const Duration ttl_;
  TokenTable<std::shared_ptr<const Session>> table_;
  // Who has logged in, so that all sessions of a user end with one word. As many as users at most.
  std::mutex sessions_mutex_;
  std::unordered_map<std::string, std::shared_ptr<Session>, HashName, std::equal_to<>> sessions_;
};

class SimpleTokens::Recent {
 public:
  Recent();
  ~Recent();

 private:
  friend class SimpleTokens;
  struct Entry;
  // By the first letters; what is longer ago than another of its place is forgotten.
  static constexpr std::size_t kEntries = 16;
  Entry& PlaceOf(std::string_view token);

  const std::unique_ptr<Entry[]> entries_;
};

}  // namespace kvorum::auth
