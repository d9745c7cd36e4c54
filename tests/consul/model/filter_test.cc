// ?filter over rows as the API writes them.
#include "consul/model/filter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/rng.h"

namespace kvorum::consul {
namespace {

const Json& InstanceRow() {
  static const Json kInstance = Json::parse(R"({
    "Node": {"ID": "id", "Node": "n1", "Address": "10.0.0.1", "Datacenter": "dc1",
             "TaggedAddresses": {"lan": "10.0.0.1"}, "Meta": {"rack": "r1", "empty": ""}},
    "Service": {"ID": "web-1", "Service": "web", "Tags": ["a", "b"], "Address": "",
                "Meta": {"a-b": "x"}, "Port": 8080, "Weights": {"Passing": 1, "Warning": 0},
                "TaggedAddresses": {"lan": {"Address": "10.0.0.2", "Port": 80}},
                "EnableTagOverride": true},
    "Checks": [{"CheckID": "serfHealth", "Status": "passing", "ServiceTags": []},
               {"CheckID": "up", "Status": "warning", "ServiceTags": ["a"]}]})");
  return kInstance;
}

// Nothing: it is refused.
std::optional<bool> Takes(const std::string& text) {
  const auto filter = Filter::Parse(text, FilterRows::kInstances);
  if (!filter) return std::nullopt;
  return filter->Takes(InstanceRow());
}

TEST(ConsulFilter, TakesWhatItDescribes) {
  for (const char* text :
       {"", "  ", R"(Service.Service == "web")", "Service.Service == web", "Service.Service==`web`",
        R"(Service.Service != "db")", R"("a" in Service.Tags)", R"("c" not in Service.Tags)",
        R"(Service.Tags contains "b")", R"(Service.Tags not contains "c")",
        "Service.Tags is not empty", "Service.Address is empty", "Service.Kind is empty",
        "Service.Port == 8080", "Service.Port != 80", "Service.Weights.Warning == 0",
        "Service.EnableTagOverride == true", "Service.Connect.Native == false",
        R"(Service.Meta["a-b"] == "x")", R"("a-b" in Service.Meta)", "Service.Meta is not empty",
        R"("x" in Service.Meta["a-b"])", R"(Node.Meta.rack == "r1")", R"(Node.Meta.rack != "r2")",
        R"(Node.Meta.none != "r1")", "Node.Meta.none is empty", "Node.Meta.empty is empty",
        R"("x" not in Node.Meta.none)", R"(Node.TaggedAddresses.lan == "10.0.0.1")",
        R"(Service.TaggedAddresses.lan.Port == 80)",
        R"(Service.TaggedAddresses["lan"].Address == "10.0.0.2")", R"(Checks.Status == "passing")",
        R"(Checks.Status == "warning")", R"(Checks.Status != "passing")",
        R"("a" in Checks.ServiceTags)", "Checks is not empty", "Checks.Output is empty",
        R"(Node.Node == "n1" and Service.Port == 8080)",
        R"(Node.Node == "x" or Service.Port == 8080)", R"(not Node.Node == "x")",
        R"(not (Node.Node == "x" or Service.Port == 1))",
        // `and` binds tighter.
        R"(Node.Node == "n1" or Node.Node == "x" and Service.Port == 1)", R"((Node.Node == "n1"))",
        R"(Service.Service contains "we")", R"("eb" in Service.Service)"})
    EXPECT_EQ(Takes(text), true) << text;
  for (const char* text :
       {R"(Service.Service == "db")", R"("c" in Service.Tags)", "Service.Tags is empty",
        "Service.Port == 80", "Service.EnableTagOverride == false", R"(Node.Meta.none == "r1")",
        "Node.Meta.none is not empty", R"("r" in Node.Meta.none)",
        R"((Node.Node == "n1" or Node.Node == "x") and Service.Port == 1)",
        R"(Checks.Status == "critical")", "Checks is empty", R"(not Node.Node == "n1")",
        R"(Service.TaggedAddresses.wan.Port == 80)", R"(Service.Service == "WEB")"})
    EXPECT_EQ(Takes(text), false) << text;
}

TEST(ConsulFilter, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"Service",
                           "Service.Nothing == 1",
                           "service.Service == web",
                           "Node.Node",
                           "Node.Node ==",
                           "Node.Node == \"x",
                           "Node.Node = x",
                           "== x",
                           "Node.Node == x and",
                           "not",
                           "(",
                           ")",
                           "(Node.Node == x",
                           "Node.Node == x)",
                           "Node.Node == x y",
                           "Node.Node is",
                           "Node.Node is not",
                           "Service.Port == x",
                           "Service.Port contains 1",
                           "Service.Port is empty",
                           "Service.Tags == a",
                           "Service.EnableTagOverride == maybe",
                           "Checks == x",
                           "Node.Meta == x",
                           "x in",
                           "x not in",
                           "x in Nothing",
                           "\"x\" == Node.Node",
                           "Node.Node & x",
                           "Node.Meta[\"a\"",
                           "Node.Meta[a] == x",
                           "Service.Port == nan",
                           "Node.Node matches \"n(\"",
                           "Node.Node matches \"(?=n)\"",
                           "Node.Node not matches",
                           "Service.Port matches \"1\"",
                           "Service.Tags matches \"a\"",
                           "Node.Node.X == x"})
    EXPECT_EQ(Takes(text), std::nullopt) << text;
  const auto text_of = [](const std::string& text) {
    const auto filter = Filter::Parse(text, FilterRows::kNodes);
    return filter ? "" : filter.error().message;
  };
  EXPECT_EQ(text_of("Foo == x"),
            "Failed to create boolean expression evaluator: Selector \"Foo\" is not valid");
  EXPECT_EQ(text_of("Node matches `n(`"),
            "Failed to create boolean expression evaluator: error parsing regexp: missing ): n(");
}

TEST(ConsulFilter, APatternMatchesAnywhereInTheText) {
  for (const char* text :
       {R"(Node.Node matches "n")", R"(Node.Node matches "^n[0-9]$")", "Node.Node matches `\\d`",
        R"(Node.Node not matches "x")", R"(Service.Service matches "(?i)WEB")",
        R"(Checks.Status matches "^warn")", R"(Node.Meta.rack matches "^r.$")",
        R"(Node.Meta.none not matches "")", R"(Service.Address matches "^$")",
        R"(not Node.Node matches "x" and Service.Service matches "w|d")"})
    EXPECT_EQ(Takes(text), true) << text;
  for (const char* text : {R"(Node.Node matches "^1")", R"(Node.Node not matches "n")",
                           R"(Node.Meta.none matches "")", R"(Service.Service matches "WEB")"})
    EXPECT_EQ(Takes(text), false) << text;
}

TEST(ConsulFilter, APatternsCostHasBounds) {
  const auto why = [](const std::string& text) {
    const auto filter = Filter::Parse(text, FilterRows::kNodes);
    return filter ? std::string() : filter.error().message.substr(46);
  };
  EXPECT_EQ(why("Node matches `" + std::string(kMaxPatternBytes, 'x') + "`"), "");
  EXPECT_EQ(why("Node matches `" + std::string(kMaxPatternBytes + 1, 'x') + "`"),
            " a pattern is longer than 1024 bytes");
  std::string many = "Node matches x";
  for (std::size_t i = 1; i < kMaxPatterns; ++i) many += " or Node matches x";
  EXPECT_EQ(why(many), "");
  EXPECT_EQ(why(many + " or Node matches x"), " it has more than 16 patterns");
  // Repetitions of repetitions are more than the memory that a pattern may have.
  EXPECT_NE(why("Node matches `((((x{100}){100}){100}){100})`"), "");
  EXPECT_NE(why("Node matches `(.{1000}){900}`"), "");
  // A pattern over which others think for ever.
  const auto filter = Filter::Parse("Node matches `^(a+)+$`", FilterRows::kNodes);
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter->Takes(Json{{"Node", std::string(100'000, 'a') + "b"}}));
}

TEST(ConsulFilter, EachRouteHasItsSelectors) {
  const auto knows = [](FilterRows rows, const std::string& text) {
    return Filter::Parse(text, rows).has_value();
  };
  EXPECT_TRUE(knows(FilterRows::kChecks, "Status == passing"));
  EXPECT_FALSE(knows(FilterRows::kChecks, "Checks.Status == passing"));
  EXPECT_TRUE(knows(FilterRows::kNodes, "Meta.a == b and TaggedAddresses.lan is empty"));
  EXPECT_FALSE(knows(FilterRows::kNodes, "Service == b"));
  EXPECT_TRUE(knows(FilterRows::kServiceNodes, "ServiceMeta.a == b and ServicePort == 1"));
  EXPECT_TRUE(knows(FilterRows::kServiceNodes, "a in ServiceTags and NodeMeta.x is empty"));
  EXPECT_FALSE(knows(FilterRows::kServiceNodes, "Port == 1"));
  EXPECT_TRUE(knows(FilterRows::kNodeServices, "Weights.Passing == 1 and Service != x"));
  EXPECT_FALSE(knows(FilterRows::kNodeServices, "ServiceName == x"));
}

TEST(ConsulFilter, DepthAndLengthAreBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "Node.Node == n1" + std::string(depth, ')');
  };
  EXPECT_EQ(Takes(nested(60)), true);
  EXPECT_EQ(Takes(nested(64)), std::nullopt);
  EXPECT_EQ(Takes(nested(3000)), std::nullopt);
  std::string many = "Node.Node == n1";
  for (int i = 0; i < 300; ++i) many += " and Node.Node == n1";
  EXPECT_EQ(Takes(many), true);
  EXPECT_EQ(Takes(many + std::string(kMaxFilterBytes, ' ')), std::nullopt);
}

TEST(ConsulFilter, AnyTextIsAFilterOrAnError) {
  static constexpr std::string_view kParts[] = {
      "not ", "and ", "or ", "(",     ")",         "Service.Tags ", "Node.Meta.x ", "is ", "empty ",
      "== ",  "!= ",  "in ", "\"a\"", "contains ", "Service.Port ", "1 ",           "[",   "]",
      "\\",   "`",    "\"",  "\xff",  ".",         "matches "};
  Rng rng(5);
  int good = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t words = 1 + rng() % 6; words > 0; --words)
      text += kParts[rng() % std::size(kParts)];
    if (Takes(text).has_value()) ++good;
  }
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace kvorum::consul
