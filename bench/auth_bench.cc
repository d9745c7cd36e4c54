// The cost of auth per request: finding the state and the user, checking a key and a range against
// the permissions of many roles, finding a simple token, verifying a JWT; and the cost of a change.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "auth/auth_store.h"
#include "auth/jwt.h"
#include "auth/simple_tokens.h"
#include "base/check.h"

namespace kvorum::auth {
namespace {

std::string Name(std::string_view prefix, std::int64_t number) {
  return std::string(prefix) + std::to_string(1'000'000 + number);
}

// Auth is enabled; the user u1000000 has all the roles, each with its own range.
std::unique_ptr<AuthStore> StoreOf(std::int64_t users, std::int64_t roles) {
  auto store = std::make_unique<AuthStore>();
  const auto must = [](const Result<Change>& change) { KV_CHECK(change.has_value(), "a change"); };
  must(store->AddUser("root", "", false));
  must(store->GrantRole("root", "root"));
  for (std::int64_t i = 0; i < users; ++i) must(store->AddUser(Name("u", i), "", false));
  for (std::int64_t i = 0; i < roles; ++i) {
    const Permission permission{PermissionType::kReadWrite, Name("k", i) + "/", Name("k", i) + "0"};
    must(store->AddRole(Name("r", i)));
    must(store->GrantPermission(Name("r", i), &permission));
    must(store->GrantRole(Name("u", 0), Name("r", i)));
  }
  must(store->Enable());
  return store;
}

void CheckKey(benchmark::State& bench) {
  const auto store = StoreOf(1000, bench.range(0));
  const Identity identity{"u1000000", store->state()->revision()};
  const std::string key = Name("k", bench.range(0) / 3) + "/key";
  for (auto _ : bench) {
    const auto state = store->state();
    KV_CHECK(state->CheckWrite(identity, key, "").has_value(), "it is allowed");
  }
}
BENCHMARK(CheckKey)->Arg(1)->Arg(1000)->ThreadRange(1, 2);

void CheckRange(benchmark::State& bench) {
  const auto store = StoreOf(1000, bench.range(0));
  const Identity identity{"u1000000", store->state()->revision()};
  const std::string key = Name("k", bench.range(0) / 3) + "/a";
  const std::string end = Name("k", bench.range(0) / 3) + "/b";
  for (auto _ : bench) {
    const auto state = store->state();
    KV_CHECK(state->CheckRead(identity, key, end).has_value(), "it is allowed");
  }
}
BENCHMARK(CheckRange)->Arg(1)->Arg(1000);

// The first check after a change to the user or its roles.
void Merge(benchmark::State& bench) {
  const auto store = StoreOf(1, bench.range(0));
  bool has = false;
  for (auto _ : bench) {
    bench.PauseTiming();
    KV_CHECK((has ? store->RevokeRole("u1000000", "root") : store->GrantRole("u1000000", "root"))
                 .has_value(),
             "a change");
    has = !has;
    const auto state = store->state();
    bench.ResumeTiming();
    benchmark::DoNotOptimize(state->FindUser("u1000000")->permissions());
  }
}
BENCHMARK(Merge)->Arg(1000);

void ChangeOneUser(benchmark::State& bench) {
  const auto store = StoreOf(bench.range(0), 1);
  for (auto _ : bench)
    KV_CHECK(store->ChangePassword("u1000000", "aGFzaA==").has_value(), "a change");
}
BENCHMARK(ChangeOneUser)->Arg(100)->Arg(100'000);

// A permission of a role that all users have.
void ChangeOneRole(benchmark::State& bench) {
  const auto store = StoreOf(bench.range(0), 1);
  for (std::int64_t i = 1; i < bench.range(0); ++i)
    KV_CHECK(store->GrantRole(Name("u", i), Name("r", 0)).has_value(), "a change");
  bool is_read = false;
  for (auto _ : bench) {
    is_read = !is_read;
    const Permission permission{is_read ? PermissionType::kRead : PermissionType::kWrite, "x", ""};
    KV_CHECK(store->GrantPermission(Name("r", 0), &permission).has_value(), "a change");
  }
}
BENCHMARK(ChangeOneRole)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void FindSimpleToken(benchmark::State& bench) {
  static SimpleTokens* tokens = [] {
    auto* made = new SimpleTokens(SystemClock(), {});
    for (int i = 0; i < 100'000; ++i)
      made->Assign(MakeSimpleToken("abcdefghijklmnop", 1'000'000 + static_cast<unsigned>(i)), "u");
    return made;
  }();
  std::uint64_t next = static_cast<std::uint64_t>(bench.thread_index()) * 1000;
  std::string token = "abcdefghijklmnop.1000000";
  for (auto _ : bench) {
    next = (next * 31 + 7) % 100'000;
    token.replace(17, 7, std::to_string(1'000'000 + next));
    KV_CHECK(tokens->Find(token) != nullptr, "it is there");
  }
}
BENCHMARK(FindSimpleToken)->ThreadRange(1, 2);

void VerifyJwt(benchmark::State& bench) {
  const bool remembered = bench.range(0) != 0;
  const auto tokens = JwtTokens::Make({"HS256", "", "key"}).value();
  std::string token = tokens->Sign("u1000000", 7, 1000).value();
  std::uint64_t revision = 0;
  for (auto _ : bench) {
    if (!remembered) {
      bench.PauseTiming();
      token = tokens->Sign("u1000000", ++revision, 1000).value();
      bench.ResumeTiming();
    }
    KV_CHECK(tokens->Verify(token, 1000).has_value(), "it is right");
  }
}
BENCHMARK(VerifyJwt)->ArgName("remembered")->Arg(0)->Arg(1);

}  // namespace
}  // namespace kvorum::auth
