// The simple tokens that this member knows: "sixteenLetters" + "." + the index of the entry that
// logged the user in. Every member learns every token from the log and remembers it by its own
// clock; none is stored.
//
// Thread-safe. A look-up locks one part of the table for some 50 ns, so that threads rarely
// contend, and takes as long for a nearly right token as for any other wrong one. A token lives for
// `ttl` after its last use. Past max_tokens the one that was unused longest (in its part of the
// table) is dropped, so that memory is bounded.
#pragma once

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
// The index in a token; nullopt for text that cannot be a token. It is that of the entry before its
// login: a member that has not applied the next one may not know the token yet.
std::optional<std::uint64_t> SimpleTokenIndex(std::string_view token);

class SimpleTokens {
 public:
  struct Options {
    Duration ttl = std::chrono::seconds(300);
    std::size_t max_tokens = 200'000;
  };
  // Longer text, or text without an index after a dot, is not a token.
  static constexpr std::size_t kMaxTokenSizeBytes = 64;

  SimpleTokens(const Clock& clock, const Options& options);
  ~SimpleTokens();

  // Records the token of a user that has logged in.
  void Assign(std::string_view token, std::string_view username);
  // The user; nullptr if there is no such token. Renews it.
  std::shared_ptr<const std::string> Find(std::string_view token);

  // The tokens that one thread has seen recently, so that it need not contend with others at every
  // request.
  class Recent;
  // The user; empty if there is no such token. For a token in `recent`, renewal and expiry are late
  // by up to kRecentFor or a sixteenth of its life, whichever is less. The end of its user's
  // sessions takes effect at once.
  SharedBytes Find(std::string_view token, TimePoint now, Recent& recent);
  static constexpr Duration kRecentFor = std::chrono::seconds(1);

  // O(1) per user; O(n) for all.
  void End(const EndedTokens& ended);
  // Drops at most `limit` expired tokens. To be called every second or so. Returns the number
  // dropped.
  std::size_t Sweep(std::size_t limit);
  // Includes expired tokens that are not dropped yet.
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
  // The users that have logged in, so that all sessions of a user end at once. At most as many as
  // users.
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
  // By the first letters; a newer token replaces the one in its place.
  static constexpr std::size_t kEntries = 16;
  Entry& PlaceOf(std::string_view token);

  const std::unique_ptr<Entry[]> entries_;
};

}  // namespace kvorum::auth
