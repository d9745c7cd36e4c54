// The memory of a query that waits, counted at the allocator: a separate program, since it replaces
// operator new. The connection is not in it; tests/consul/processes counts all.
#include <gtest/gtest.h>

#include "tests/consul/http_world.h"
#include "tests/live_bytes.h"

namespace kvorum::consul {
namespace {

TEST(ConsulWaitingMemory, FiveThousandQueriesThatWaitTakeThreeKibibytesEach) {
  constexpr std::int64_t kQueries = 5000;
  HttpWorld world;
  for (int i = 0; i < 50; ++i) world.AddAgent("n" + std::to_string(i), "s" + std::to_string(i));
  world.Start();
  const std::string index = std::to_string(world.copy.revision());
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  answers.reserve(kQueries);
  const std::int64_t before = live_bytes;
  for (std::int64_t i = 0; i < kQueries; ++i) {
    const std::string service = "s" + std::to_string(i % 50);
    auto [exchange, answer] = MakeExchange(
        {.target = "/v1/health/service/" + service + "?passing=1&index=" + index + "&wait=300s",
         .headers = {{"host", "127.0.0.1:8500"},
                     {"user-agent", "consul-template/0.39.1 (+https://github.com/x) go1.22"},
                     {"accept-encoding", "gzip"},
                     {"x-consul-token", ""}},
         .loop = &world.executor});
    answers.push_back(std::move(answer));
    world.reading.Read(std::move(exchange),
                       MovingOf(world.copy, {{Topic::Kind::kService, service}}),
                       [](Exchange read) { read.Ok(); });
  }
  world.executor.Settle();
  ASSERT_EQ(world.reading.waiting(), static_cast<std::size_t>(kQueries));
  const double each = static_cast<double>(live_bytes - before) / static_cast<double>(kQueries);
  RecordProperty("bytes", std::to_string(each));
  EXPECT_LE(each, 3 * 1024) << each << " bytes a query";
  EXPECT_GT(each, 500) << "it does hold them";

  world.Delete(world.keys.Life("n7"));
  std::int64_t answered = 0;
  for (const auto& answer : answers) answered += answer->is_answered() ? 1 : 0;
  EXPECT_EQ(answered, kQueries / 50) << "those of one service";
  EXPECT_EQ(world.store.open_watches(), 1);
  answers.clear();
  for (int i = 0; i < 50; ++i) world.Delete(world.keys.Life("n" + std::to_string(i)));
  EXPECT_EQ(world.reading.waiting(), 0U);
}

}  // namespace
}  // namespace kvorum::consul
