// The values and names of the registry's keys.
#include "consul/model/records.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/damage.h"

namespace kvorum::consul {
namespace {

std::string RandomWord(Rng& rng) {
  static constexpr std::array<std::string_view, 8> kWords = {"",      "web", "a/b", "\"quoted\"",
                                                             "größe", "%2F", "..",  "a\nb"};
  return std::string(kWords[rng() % kWords.size()]);
}

std::string RandomId(Rng& rng) { return "i" + RandomWord(rng) + std::to_string(rng() % 10); }

std::map<std::string, std::string> RandomPairs(Rng& rng) {
  std::map<std::string, std::string> pairs;
  for (std::uint64_t i = rng() % 3; i > 0; --i) pairs[RandomId(rng)] = RandomWord(rng);
  return pairs;
}

std::vector<CheckRecord> RandomChecks(Rng& rng) {
  std::vector<CheckRecord> checks;
  for (std::uint64_t i = rng() % 3; i > 0; --i) {
    checks.push_back({.id = RandomId(rng),
                      .health = static_cast<Health>(rng() % 3),
                      .output = RandomWord(rng),
                      .name = RandomId(rng),
                      .notes = RandomWord(rng),
                      .type = RandomWord(rng),
                      .interval = rng() % 2 == 0 ? "10s" : "",
                      .timeout = rng() % 2 == 0 ? "1m0s" : "",
                      .definition = rng() % 2 == 0 ? R"({"HTTP":"http://x"})" : "",
                      .deregister_after_ns = static_cast<std::int64_t>(rng() % 100)});
  }
  return checks;
}

ServiceRecord RandomService(Rng& rng) {
  ServiceRecord record{.node = RandomId(rng), .id = RandomId(rng), .name = RandomId(rng)};
  ServiceDetails& details = record.details;
  details.kind = RandomWord(rng);
  for (std::uint64_t i = rng() % 3; i > 0; --i) details.tags.push_back(RandomWord(rng));
  details.address = RandomWord(rng);
  if (rng() % 2 == 0) details.tagged_addresses["lan"] = {.address = RandomWord(rng), .port = 80};
  details.meta = RandomPairs(rng);
  details.port = static_cast<int>(rng() % 3) * 8080;
  details.socket_path = RandomWord(rng);
  details.weight_passing = static_cast<int>(rng() % 3);
  details.weight_warning = static_cast<int>(rng() % 3);
  details.enable_tag_override = rng() % 2 == 0;
  record.checks = RandomChecks(rng);
  return record;
}

TEST(ConsulRecords, ComeBackAsTheyWere) {
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const ServiceRecord service = RandomService(rng);
    const auto read = DecodeService(service.node, service.id, EncodeService(service));
    ASSERT_TRUE(read.has_value()) << EncodeService(service);
    EXPECT_EQ(read->name, service.name);
    EXPECT_EQ(read->details, service.details);
    EXPECT_EQ(read->checks, service.checks);
    EXPECT_EQ(DecodeServiceDetails(EncodeServiceDetails(service.details)), service.details);

    const NodeRecord node{.node = RandomId(rng),
                          .is_external = rng() % 2 == 0,
                          .details = {.id = RandomWord(rng),
                                      .address = RandomWord(rng),
                                      .tagged_addresses = RandomPairs(rng),
                                      .meta = RandomPairs(rng)},
                          .checks = RandomChecks(rng)};
    const auto node_read = DecodeNode(node.node, EncodeNode(node));
    ASSERT_TRUE(node_read.has_value());
    EXPECT_EQ(node_read->is_external, node.is_external);
    EXPECT_EQ(node_read->details, node.details);
    EXPECT_EQ(node_read->checks, node.checks);
    EXPECT_EQ(DecodeNodeDetails(EncodeNodeDetails(node.details)), node.details);

    const SessionRecord session{.id = RandomId(rng),
                                .name = RandomWord(rng),
                                .node = RandomId(rng),
                                .lock_delay_ns = static_cast<std::int64_t>(rng() % 1000),
                                .behavior = rng() % 2 == 0 ? "release" : "delete",
                                .ttl = RandomWord(rng),
                                .node_checks = {RandomWord(rng)},
                                .service_checks = {RandomWord(rng), RandomWord(rng)}};
    const auto session_read = DecodeSession(session.id, EncodeSession(session));
    ASSERT_TRUE(session_read.has_value());
    EXPECT_EQ(session_read->name, session.name);
    EXPECT_EQ(session_read->node, session.node);
    EXPECT_EQ(session_read->lock_delay_ns, session.lock_delay_ns);
    EXPECT_EQ(session_read->behavior, session.behavior);
    EXPECT_EQ(session_read->ttl, session.ttl);
    EXPECT_EQ(session_read->node_checks, session.node_checks);
    EXPECT_EQ(session_read->service_checks, session.service_checks);
  }
}

TEST(ConsulRecords, StandInTheStoreInThisForm) {
  const ServiceRecord service{
      .node = "n1",
      .id = "web.1",
      .name = "web",
      .details = {.tags = {"a"}, .meta = {{"k", "v"}}, .port = 80},
      .checks = {
          {.id = "service:web.1", .health = Health::kPassing, .output = "fine", .name = "up"}}};
  EXPECT_EQ(EncodeService(service),
            R"({"id":"web%2E1","name":"web","details":{"tags":["a"],"meta":{"k":"v"},"port":80},)"
            R"("checks":[{"id":"service:web.1","status":"passing","output":"fine",)"
            R"("details":{"name":"up"}}]})");
  EXPECT_EQ(EncodeNode({.node = "n1", .details = {.address = "10.0.0.1"}}),
            R"({"is_external":false,"details":{"address":"10.0.0.1"},"checks":[]})");
}

TEST(ConsulRecords, OtherBytesAreRefused) {
  const auto is_service = [](std::string_view bytes) {
    return DecodeService("n", "i", bytes).has_value();
  };
  EXPECT_TRUE(is_service(R"({"name":"web","later":{}})"));
  for (const char* bytes :
       {"",
        "[]",
        "{",
        "null",
        R"({"id":"x"})",
        R"({"name":1})",
        R"({"name":""})",
        R"({"name":"w","details":[]})",
        R"({"name":"w","details":{"tags":"a"}})",
        R"({"name":"w","details":{"tags":[1]}})",
        R"({"name":"w","details":{"port":"80"}})",
        R"({"name":"w","details":{"port":80.5}})",
        R"({"name":"w","details":{"port":99999999999}})",
        R"({"name":"w","details":{"port":18446744073709551615}})",
        R"({"name":"w","details":{"meta":{"k":1}}})",
        R"({"name":"w","details":{"tagged_addresses":{"lan":"x"}}})",
        R"({"name":"w","checks":{}})",
        R"({"name":"w","checks":[1]})",
        R"({"name":"w","checks":[{"id":"c"}]})",
        R"({"name":"w","checks":[{"id":"c","status":"fine"}]})",
        R"({"name":"w","checks":[{"id":"c","status":"passing","details":1}]})",
        R"({"name":"w","checks":[{"id":"c","status":"passing","details":{"definition":1}}]})"})
    EXPECT_FALSE(is_service(bytes)) << bytes;
  EXPECT_FALSE(DecodeNode("n", R"({"is_external":1})"));
  EXPECT_FALSE(DecodeSession("s", R"({"name":"x"})"));
  EXPECT_FALSE(DecodeSession("s", R"({"node":"n","behavior":"keep"})"));
  EXPECT_FALSE(DecodeSession("s", R"({"node":"n","lock_delay_ns":18446744073709551615})"));
  EXPECT_FALSE(is_service(std::string(100'000, '[')));
}

// A record that a damaged one is read as can be written and comes back.
TEST(ConsulRecords, DamagedOnesAreRefusedOrRecords) {
  Rng rng(3);
  ServiceRecord service = RandomService(rng);
  while (service.checks.empty() || service.details.meta.empty()) service = RandomService(rng);
  const std::string bytes = EncodeService(service);
  ForEachCut(bytes, [](std::string_view cut) { EXPECT_FALSE(DecodeService("n", "i", cut)); });
  ForEachFlip(bytes, [](std::string_view flipped, std::size_t) {
    const auto read = DecodeService("n", "i", flipped);
    if (!read) return;
    const auto again = DecodeService("n", "i", EncodeService(*read));
    ASSERT_TRUE(again);
    EXPECT_EQ(EncodeService(*again), EncodeService(*read));
  });
  const std::string session = EncodeSession(
      {.id = "s", .name = "lock", .node = "n", .ttl = "10s", .node_checks = {"serfHealth"}});
  ForEachCut(session, [](std::string_view cut) { EXPECT_FALSE(DecodeSession("s", cut)); });
  ForEachFlip(session, [](std::string_view flipped, std::size_t) {
    const auto read = DecodeSession("s", flipped);
    if (read) {
      EXPECT_TRUE(DecodeSession("s", EncodeSession(*read)));
    }
  });
}

TEST(ConsulRecords, AnEntryOfOurOwnShowsTheAddressInItsValue) {
  const auto details = [](const std::string& value) {
    return RecordOf("n1", {.id = "w", .name = "web", .value = value}).details;
  };
  EXPECT_EQ(details("10.0.0.1:80"), (ServiceDetails{.address = "10.0.0.1", .port = 80}));
  EXPECT_EQ(details("[::1]:80"), (ServiceDetails{.address = "::1", .port = 80}));
  EXPECT_EQ(details("host.example:80"), (ServiceDetails{.address = "host.example", .port = 80}));
  for (const char* value : {"", "v", "host", "host:", ":80", "host:99999", "a b:1", "::1:80",
                            "http://x:80", "{\"a\":1}"})
    EXPECT_EQ(details(value), ServiceDetails{}) << value;
  EXPECT_EQ(DecodeService("n1", "w", R"({"id":"w","name":"web","value":"h:1"})")->details.port, 1);
}

TEST(ConsulRecords, AnEntryOfOurOwnShowsWhatItsChecksAre) {
  const sync::Entry entry{.id = "w%2E1",
                          .name = "web",
                          .value = "",
                          .checks = {{.definition = {.id = "up",
                                                     .kind = sync::CheckKind::kExec,
                                                     .command = {"true"},
                                                     .interval = std::chrono::seconds(90)},
                                      .health = Health::kWarning,
                                      .output = "o"}}};
  const ServiceRecord record = RecordOf("n1", entry);
  EXPECT_EQ(record.id, "w.1");
  ASSERT_EQ(record.checks.size(), 1U);
  EXPECT_EQ(record.checks[0], (CheckRecord{.id = "up",
                                           .health = Health::kWarning,
                                           .output = "o",
                                           .name = "up",
                                           .type = "script",
                                           .interval = "1m30s"}));
}

TEST(ConsulRecords, KeysNameWhatTheyAreOf) {
  const RegistryKeys keys("/kvorum");
  EXPECT_EQ(keys.Node("../x"), "/kvorum/registry/node/..%2Fx");
  EXPECT_EQ(keys.Service("n1", "a.b/c"), "/kvorum/registry/service/n1/a%2Eb%2Fc");
  EXPECT_EQ(keys.Life("n1"), "/kvorum/registry/life/n1");
  EXPECT_EQ(keys.Session("1-2"), "/kvorum/registry/session/1-2");
  using Kind = RegistryKeys::Kind;
  const auto service = keys.Parse(keys.Service("n/1", "a.b/c"));
  EXPECT_EQ(service.kind, Kind::kService);
  EXPECT_EQ(service.node, "n/1");
  EXPECT_EQ(service.id, "a.b/c");
  EXPECT_EQ(keys.Parse(keys.Node("../x")).node, "../x");
  EXPECT_EQ(keys.Parse(keys.Node("../x")).kind, Kind::kNode);
  EXPECT_EQ(keys.Parse(keys.Life("n1")).kind, Kind::kLife);
  EXPECT_EQ(keys.Parse(keys.Session("s")).id, "s");
  for (const char* key :
       {"/kvorum/registry/", "/kvorum/registry/node/", "/kvorum/registry/node/a/b",
        "/kvorum/registry/service/a", "/kvorum/registry/service/a/b/c",
        "/kvorum/registry/service//b", "/kvorum/registry/other/a", "/kvorum/nodes/a", ""})
    EXPECT_EQ(keys.Parse(key).kind, Kind::kOther) << key;
}

}  // namespace
}  // namespace kvorum::consul
