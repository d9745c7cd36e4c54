#include "auth/simple_tokens.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/text/parse_number.h"

namespace kvorum::auth {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kPrefixLetters = 16;

}  // namespace

std::string MakeTokenPrefix(const RandomBytes& random) {
  // Bytes past the last whole multiple of the alphabet would make the first letters likelier.
  constexpr std::size_t kLimit = 256 / kLetters.size() * kLetters.size();
  std::string prefix;
  std::array<std::uint8_t, 2 * kPrefixLetters> bytes{};
  while (prefix.size() < kPrefixLetters) {
    random(bytes);
    for (const std::uint8_t byte : bytes)
      if (byte < kLimit && prefix.size() < kPrefixLetters)
        prefix += kLetters[byte % kLetters.size()];
  }
  return prefix;
}

std::string MakeSimpleToken(std::string_view prefix, std::uint64_t index) {
  return std::string(prefix).append(1, '.').append(std::to_string(index));
}

std::optional<std::uint64_t> SimpleTokenIndex(std::string_view token) {
  // The member that logged the user in chose the letters, in any number.
  const std::size_t dot = token.find('.');
  if (dot == std::string_view::npos || token.size() > SimpleTokens::kMaxTokenSizeBytes)
    return std::nullopt;
  return ParseNumber<std::uint64_t>(token.substr(dot + 1));
}

struct SimpleTokens::Session {
  explicit Session(std::string_view name) : username(name) {}
  bool has_ended() const { return ended.load(std::memory_order_acquire); }

  const std::string username;
  std::atomic<bool> ended = false;
};

struct SimpleTokens::Recent::Entry {
  std::string token;
  std::shared_ptr<const Session> session;
  SharedBytes username;  // the thread's own copy
  TimePoint until{};
};

SimpleTokens::Recent::Recent() : entries_(std::make_unique<Entry[]>(kEntries)) {}
SimpleTokens::Recent::~Recent() = default;

SimpleTokens::Recent::Entry& SimpleTokens::Recent::PlaceOf(std::string_view token) {
  std::uint64_t letters = 0;
  std::memcpy(&letters, token.data(), std::min(token.size(), sizeof(letters)));
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // the golden ratio: Knuth, TAOCP 6.4
  return entries_[letters * kSpread >> 60];
}

SimpleTokens::SimpleTokens(const Clock& clock, const Options& options)
    : clock_(clock), ttl_(options.ttl), table_(options.max_tokens) {}
SimpleTokens::~SimpleTokens() = default;

void SimpleTokens::Assign(std::string_view token, std::string_view username) {
  if (!SimpleTokenIndex(token)) return;
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(sessions_mutex_);
    auto it = sessions_.find(username);
    if (it == sessions_.end())
      it = sessions_.emplace(username, std::make_shared<Session>(username)).first;
    session = it->second;
  }
  table_.Set(token, std::move(session), clock_.Now() + ttl_);
}

std::shared_ptr<const SimpleTokens::Session> SimpleTokens::FindSession(std::string_view token,
                                                                       TimePoint now) {
  if (!SimpleTokenIndex(token)) return nullptr;
  auto session = table_.Find(token, now, now + ttl_);
  if (!session) return nullptr;
  if ((*session)->has_ended()) {
    table_.Remove(token);
    return nullptr;
  }
  return *std::move(session);
}

std::shared_ptr<const std::string> SimpleTokens::Find(std::string_view token) {
  auto session = FindSession(token, clock_.Now());
  if (session == nullptr) return nullptr;
  const std::string* username = &session->username;
  return {std::move(session), username};
}

SharedBytes SimpleTokens::Find(std::string_view token, TimePoint now, Recent& recent) {
  Recent::Entry& entry = recent.PlaceOf(token);
  const bool is_known = now < entry.until && EqualTokens(entry.token, token);
  if (is_known && !entry.session->has_ended()) return entry.username;
  auto session = FindSession(token, now);
  if (session == nullptr) return {};
  entry = {.token = std::string(token),
           .session = session,
           .username = SharedBytes::Copy(session->username),
           .until = now + std::min(kRecentFor, ttl_ / 16)};
  return entry.username;
}

void SimpleTokens::End(const EndedTokens& ended) {
  if (!ended.all) {
    for (const std::string& username : ended.users) EndUser(username);
    return;
  }
  decltype(sessions_) sessions;
  {
    const std::lock_guard lock(sessions_mutex_);
    sessions.swap(sessions_);
  }
  for (const auto& [username, session] : sessions)
    session->ended.store(true, std::memory_order_release);
  table_.Clear();
}

void SimpleTokens::EndUser(const std::string& username) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(sessions_mutex_);
    const auto it = sessions_.find(username);
    if (it == sessions_.end()) return;
    session = std::move(it->second);
    sessions_.erase(it);
  }
  session->ended.store(true, std::memory_order_release);
}

std::size_t SimpleTokens::Sweep(std::size_t limit) { return table_.Sweep(clock_.Now(), limit); }

}  // namespace kvorum::auth
