// Definitions of services and checks, as clients and files send them.
#include "consul/model/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/rng.h"
#include "consul/model/durations.h"
#include "consul/model/fields.h"
#include "tests/damage.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

const DefinitionRules kHttp{.node_address = "10.0.0.1"};
const DefinitionRules kHttpWithScripts{.scripts = Scripts::kAllowed};

Result<ServiceForm> ServiceOf(const std::string& text, const DefinitionRules& rules = kHttp) {
  KV_TRY(const Json json, ParseBody(text));
  return ParseService(json, rules);
}

Result<CheckForm> CheckOf(const std::string& text, const DefinitionRules& rules = kHttp) {
  KV_TRY(const Json json, ParseBody(text));
  return ParseCheck(json, rules);
}

std::string WhyNot(const std::string& text, const DefinitionRules& rules = kHttp) {
  const auto form = ServiceOf(text, rules);
  return form ? "" : form.error().message;
}

// The refusal of a service with this check.
std::string WhyNoCheck(const std::string& check, const DefinitionRules& rules = kHttp) {
  return WhyNot(R"({"Name":"web","Check":)" + check + "}", rules);
}

ServiceRecord RecordOfForm(const ServiceForm& form) { return RecordOf("n1", form.entry); }

TEST(ConsulDefinitions, AServiceHasTheDefaultsOfTheApi) {
  const auto form = ServiceOf(R"({"Name":"web"})");
  ASSERT_TRUE(form);
  EXPECT_EQ(form->entry.id, "web");
  EXPECT_EQ(form->entry.name, "web");
  EXPECT_EQ(form->entry.value, "10.0.0.1");
  EXPECT_TRUE(form->entry.checks.empty());
  EXPECT_EQ(RecordOfForm(*form).details, ServiceDetails{});
}

TEST(ConsulDefinitions, AllFieldsAreRead) {
  const auto form = ServiceOf(R"({"ID":"web.1","Name":"w/eb","Tags":["a",null],"Address":"10.0.0.9",
      "TaggedAddresses":{"lan":{"address":"h","port":1}},"Meta":{"k":"v"},"Port":80,
      "SocketPath":"/s","Weights":{"Passing":5,"Warning":0},"EnableTagOverride":true,
      "Token":"t"})");
  ASSERT_TRUE(form);
  EXPECT_EQ(form->entry.id, "web%2E1");
  EXPECT_EQ(form->entry.name, "w%2Feb");
  EXPECT_EQ(form->entry.value, "10.0.0.9:80");
  EXPECT_EQ(form->entry.token, "t");
  const ServiceRecord record = RecordOfForm(*form);
  EXPECT_EQ(record.id, "web.1");
  EXPECT_EQ(record.name, "w/eb");
  const TaggedAddress own{.address = "10.0.0.9", .port = 80};
  EXPECT_EQ(record.details,
            (ServiceDetails{.tags = {"a", ""},
                            .address = "10.0.0.9",
                            .tagged_addresses = {{"lan", {.address = "h", .port = 1}},
                                                 {"lan_ipv4", own},
                                                 {"wan_ipv4", own}},
                            .meta = {{"k", "v"}},
                            .port = 80,
                            .socket_path = "/s",
                            .weight_passing = 5,
                            .weight_warning = 0,
                            .enable_tag_override = true}));
}

TEST(ConsulDefinitions, NamesMatchInAnyCaseAndInSnakeForm) {
  for (const char* text :
       {R"({"name":"web","enabletagoverride":true})",
        R"({"NAME":"web","enable_tag_override":true})",
        R"({"Name":"web","EnableTagOverride":true,"enable_tag_override":false})",
        R"({"enable_tag_override":false,"Name":"web","EnableTagOverride":true,"Port":null})"}) {
    const auto form = ServiceOf(text);
    ASSERT_TRUE(form) << text;
    EXPECT_TRUE(RecordOfForm(*form).details.enable_tag_override) << text;
  }
}

TEST(ConsulDefinitions, NullIsAbsentAndUnknownIsIgnoredOverHttp) {
  EXPECT_EQ(WhyNot(R"({"ID":null,"Name":"web","Tags":null,"Address":null,"Meta":null,"Port":null,
      "Check":null,"Checks":null,"Weights":null,"Proxy":null,"Connect":null,"Kind":null,
      "TaggedAddresses":null,"EnableTagOverride":null,"FooBar":{"x":1}})"),
            "");
  EXPECT_EQ(WhyNoCheck(R"({"TTL":"10s","HTTP":null,"Header":null,"Script":null,"Args":null})"), "");
  DefinitionRules file = kHttp;
  file.is_file = true;
  EXPECT_EQ(WhyNot(R"({"name":"web","foo_bar":1})", file), "invalid config key foo_bar");
  EXPECT_EQ(WhyNoCheck(R"({"ttl":"10s","foo":1})", file), "invalid config key foo");
  EXPECT_EQ(
      WhyNoCheck(R"({"ttl":"10s","notes":"x","deregister_critical_service_after":"2m"})", file),
      "");
}

TEST(ConsulDefinitions, AServiceThatIsWrongIsRefusedWithTheApisText) {
  struct Case {
    const char* text;
    const char* why;
  };
  const Case cases[] = {
      {R"({})", "Missing service name"},
      {R"({"Name":""})", "Missing service name"},
      {R"({"Name":"w","Address":"0.0.0.0"})", "Invalid service address"},
      {R"({"Name":"w","Address":"::"})", "Invalid service address"},
      {R"({"Name":"w","Address":"[::]"})", "Invalid service address"},
      {R"({"Name":"w","Weights":{"Passing":0}})",
       "Invalid Weights: Passing must be greater than 0"},
      {R"({"Name":"w","Weights":{"Passing":1,"Warning":-1}})",
       "Invalid Weights: Warning must be greater or equal than 0"},
      {R"({"Name":"w","Weights":{"Passing":65536}})",
       "Invalid Weights: DNS Weight must be between 0 and 65535"},
      {R"({"Name":"w","Meta":{"":"v"}})",
       "Invalid Service Meta: Couldn't load metadata pair ('', 'v'): Key cannot be blank"},
      {R"({"Name":"w","Meta":{"a b":"v"}})",
       "Invalid Service Meta: Couldn't load metadata pair ('a b', 'v'): Key contains invalid "
       "characters"},
      {R"({"Name":"w","Meta":{"consul-x":"v"}})",
       "Invalid Service Meta: Couldn't load metadata pair ('consul-x', 'v'): Key prefix 'consul-' "
       "is reserved for internal use"},
      {R"({"Name":"w","Port":"80"})",
       "Request decode failed: json: cannot unmarshal string into Go struct field .Port of type "
       "int"},
      {R"({"Name":1})",
       "Request decode failed: json: cannot unmarshal number into Go struct field .Name of type "
       "string"},
      {R"([])",
       "Request decode failed: json: cannot unmarshal array into Go struct field . of type "
       "ServiceDefinition"},
      {R"({"Name":"w","Kind":"connect-proxy"})",
       "Validation failed: services of kind 'connect-proxy' are not supported: this agent has no "
       "service mesh"},
      {R"({"Name":"w","Proxy":{"DestinationServiceName":"x"}})",
       "Validation failed: Proxy is not supported: this agent has no service mesh"},
      {R"({"Name":"w","Connect":{"Native":true}})",
       "Validation failed: Connect.Native is not supported: this agent has no service mesh"},
      {R"({"Name":"w","Connect":{"SidecarService":{}}})",
       "Invalid SidecarService: sidecars are not supported: this agent has no service mesh"},
      {R"({"Name":"w","Check":{"TTL":"10s","Status":"fine"}})",
       "Status for checks must 'passing', 'warning', 'critical'"},
  };
  for (const Case& each : cases) EXPECT_EQ(WhyNot(each.text), each.why) << each.text;
  EXPECT_THAT(WhyNot(R"({"Name":"w","Meta":{"k":")" + std::string(513, 'x') + "\"}}"),
              HasSubstr("Value is too long (limit: 512 characters)"));
  EXPECT_THAT(WhyNot(R"({"Name":"w","Meta":{")" + std::string(129, 'x') + "\":\"\"}}"),
              HasSubstr("Key is too long (limit: 128 characters)"));
  EXPECT_THAT(WhyNot(R"({"Name":")" + std::string(256, 'x') + "\"}"),
              StartsWith("Validation failed: "));
  std::string many = R"({"Name":"w","Meta":{)";
  for (int i = 0; i < 65; ++i) many += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"\"";
  EXPECT_THAT(WhyNot(many + "}}"), HasSubstr("more than 64 key/value pairs"));
  EXPECT_EQ(WhyNot(R"({"Name":"w","Proxy":{},"Connect":{"Native":false}})"), "");
}

TEST(ConsulDefinitions, ACheckThatIsWrongIsRefusedWithTheApisText) {
  struct Case {
    const char* check;
    const char* why;
  };
  const Case cases[] = {
      {R"({"TTL":"10s","Interval":"10s"})",
       "Invalid check: Interval and TTL cannot both be specified"},
      {R"({"HTTP":"http://x"})",
       "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService "
       "checks"},
      {R"({"TCP":"x:1","Interval":"-1s"})",
       "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService "
       "checks"},
      {R"({"Name":"x"})", "Invalid check: TTL must be > 0 for TTL checks"},
      {R"({"Script":"/bin/true","Interval":"10s"})",
       "Invalid check: TTL must be > 0 for TTL checks"},
      {R"({"TTL":"10s","OutputMaxSize":-1})", "Invalid check: MaxOutputMaxSize must be positive"},
      {R"({"TTL":"10s","FailuresBeforeWarning":2,"FailuresBeforeCritical":1})",
       "Invalid check: FailuresBeforeWarning can't be higher than FailuresBeforeCritical"},
      {R"({"GRPC":"x:1"})",
       "Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService "
       "checks"},
      {R"({"AliasService":"x","Interval":"10s"})",
       "Invalid check: Interval cannot be set for Alias checks"},
      {R"({"alias_node":"x","TTL":"10s"})",
       "Invalid check: TTL must be not be set for Alias checks"},
      {R"({"docker_container_id":"x","Interval":"10s"})",
       "Invalid check: docker checks are not supported by this agent"},
      {R"({"os_service":"x","Interval":"10s"})",
       "Invalid check: os_service checks are not supported by this agent"},
      {R"({"Args":["x"],"Interval":"10s"})",
       "Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or "
       "'enable_local_script_checks' to true"},
      {R"({"TTL":""})", "Request decode failed: time: invalid duration \"\""},
      {R"({"TTL":"10"})", "Request decode failed: time: missing unit in duration \"10\""},
      {R"({"TTL":true})", "Request decode failed: cannot decode a duration from boolean"},
      {R"({"TTL":"10s","Header":{"a":"b"}})",
       "Request decode failed: json: cannot unmarshal string into Go struct field .Header of type "
       "[]string"},
      {R"("x")",
       "Request decode failed: json: cannot unmarshal string into Go struct field .Check of type "
       "CheckDefinition"},
  };
  for (const Case& each : cases) EXPECT_EQ(WhyNoCheck(each.check), each.why) << each.check;
  EXPECT_EQ(CheckOf(R"({"TTL":"10s"})").error().message, "Missing check name");
  EXPECT_EQ(CheckOf(R"({"Name":"x","TTL":"10s","Status":"x"})").error().message,
            "Bad check status");
  EXPECT_THAT(WhyNoCheck(R"({"HTTP":"ftp://x","Interval":"10s"})"),
              StartsWith("Validation failed: "));
  EXPECT_THAT(CheckOf(R"({"Name":"x","HTTP":"http://a b","Interval":"1s"})").error().message,
              StartsWith("Invalid check: "));
}

TEST(ConsulDefinitions, ScriptsRunWhereTheyAreAllowed) {
  const std::string check = R"({"Args":["x"],"Interval":"10s"})";
  EXPECT_EQ(WhyNoCheck(check, {.scripts = Scripts::kAllowed}), "");
  EXPECT_EQ(WhyNoCheck(check, {.scripts = Scripts::kLocal}),
            "Scripts are disabled on this agent from remote calls; to enable, configure "
            "'enable_script_checks' to true");
  EXPECT_EQ(WhyNoCheck(check, {.is_file = true, .scripts = Scripts::kLocal}), "");
  EXPECT_THAT(WhyNoCheck(check, {.is_file = true}), StartsWith("Scripts are disabled"));
}

TEST(ConsulDefinitions, ChecksOfAServiceAreNumbered) {
  const auto one = ServiceOf(R"({"ID":"w1","Name":"web","Check":{"TTL":"10s"}})");
  ASSERT_TRUE(one);
  const auto checks = RecordOfForm(*one).checks;
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_EQ(checks[0], (CheckRecord{.id = "service:w1",
                                    .health = Health::kCritical,
                                    .name = "Service 'web' check",
                                    .type = "ttl"}));
  const auto many = ServiceOf(R"({"ID":"w1","Name":"web","Check":{"TTL":"10s"},"Checks":[
      {"TTL":"10s","Name":"mine","Status":"passing"},{"CheckID":"own","TTL":"10s"}]})");
  ASSERT_TRUE(many);
  const auto numbered = RecordOfForm(*many).checks;
  ASSERT_THAT(numbered, SizeIs(3));
  EXPECT_EQ(numbered[0].id, "service:w1:1");
  EXPECT_EQ(numbered[1].id, "service:w1:2");
  EXPECT_EQ(numbered[1].name, "mine");
  EXPECT_EQ(numbered[1].health, Health::kPassing);
  EXPECT_EQ(numbered[2].id, "own");
  EXPECT_THAT(ServiceOf(R"({"Name":"web","Check":{}})")->entry.checks, SizeIs(0));
  EXPECT_THAT(
      ServiceOf(
          R"({"Name":"web","Checks":[{"CheckID":"a","TTL":"1s"},{"CheckID":"a","TTL":"2s"}]})")
          ->entry.checks,
      SizeIs(1));
}

TEST(ConsulDefinitions, AnHttpCheckIsTakenAsItIs) {
  const auto form =
      CheckOf(R"({"Name":"up","HTTP":"https://h:1/x","Interval":"1m30s","Timeout":"5s",
      "Method":"post","Header":{"A":["b","c"]},"Body":"z","TLSSkipVerify":true,
      "TLSServerName":"s","SuccessBeforePassing":3,"FailuresBeforeCritical":4,
      "FailuresBeforeWarning":2,"DeregisterCriticalServiceAfter":"10s","Notes":"n"})");
  ASSERT_TRUE(form);
  const sync::CheckDefinition& check = form->check.definition;
  EXPECT_EQ(check.id, "up");
  EXPECT_EQ(check.kind, sync::CheckKind::kHttp);
  EXPECT_EQ(check.target, "https://h:1/x");
  EXPECT_EQ(check.method, "POST");
  EXPECT_EQ(check.headers, (sync::CheckHeaders{{"A", {"b", "c"}}}));
  EXPECT_EQ(check.body, "z");
  EXPECT_EQ(check.tls, (sync::CheckTls{.server_name = "s", .skip_verify = true}));
  EXPECT_EQ(check.interval, 90s);
  EXPECT_EQ(check.timeout, 5s);
  EXPECT_EQ(check.successes_before_passing, 3);
  EXPECT_EQ(check.failures_before_critical, 4);
  EXPECT_EQ(check.failures_before_warning, 2);
  const CheckRecord record = RecordOf(form->check);
  EXPECT_EQ(record, (CheckRecord{.id = "up",
                                 .health = Health::kCritical,
                                 .name = "up",
                                 .notes = "n",
                                 .type = "http",
                                 .interval = "1m30s",
                                 .timeout = "5s",
                                 .deregister_after_ns = 60'000'000'000}));
}

TEST(ConsulDefinitions, AnHttpCheckFollowsRedirectsUnlessItSaysOtherwise) {
  const auto check_of = [](const std::string& more) {
    return CheckOf(R"({"Name":"up","HTTP":"http://h/","Interval":"2s")" + more + "}")
        ->check.definition;
  };
  EXPECT_TRUE(check_of("").follows_redirects);
  EXPECT_TRUE(check_of(R"(,"DisableRedirects":false)").follows_redirects);
  EXPECT_FALSE(check_of(R"(,"disable_redirects":true)").follows_redirects);
  // A redirect may lead to a server with TLS.
  EXPECT_TRUE(check_of(R"(,"TLSSkipVerify":true)").tls.skip_verify);
  EXPECT_FALSE(check_of(R"(,"TLSSkipVerify":true,"DisableRedirects":true)").tls.skip_verify);
}

TEST(ConsulDefinitions, AnOutputsSizeIsTheChecksUpToTheMost) {
  const auto size_of = [](const std::string& member) {
    return CheckOf(R"({"Name":"c","TTL":"10s")" + member + "}")->check.definition.output_max_bytes;
  };
  EXPECT_EQ(size_of(""), sync::kMaxOutputBytes);
  EXPECT_EQ(size_of(R"(,"OutputMaxSize":0)"), sync::kMaxOutputBytes);
  EXPECT_EQ(size_of(R"(,"OutputMaxSize":100)"), 100U);
  EXPECT_EQ(size_of(R"(,"output_max_size":1000000)"), sync::kMaxOutputBytes);
}

TEST(ConsulDefinitions, EachKindHasItsTarget) {
  using sync::CheckKind;
  const auto check_of = [](const std::string& members) {
    const auto form = CheckOf(R"({"Name":"up","Interval":"2s",)" + members + "}");
    EXPECT_TRUE(form) << form.error().message;
    return form.value_or(CheckForm());
  };
  const auto udp = check_of(R"("UDP":"h:1")");
  EXPECT_EQ(udp.check.definition.kind, CheckKind::kUdp);
  EXPECT_EQ(udp.check.definition.target, "h:1");
  EXPECT_EQ(RecordOf(udp.check).type, "udp");
  const auto ping = check_of(R"("H2PING":"h:1","TLSServerName":"s")").check.definition;
  EXPECT_EQ(ping.kind, CheckKind::kH2Ping);
  EXPECT_TRUE(ping.uses_tls) << "as there, unless it says otherwise";
  EXPECT_EQ(ping.tls.server_name, "s");
  EXPECT_FALSE(check_of(R"("h2ping":"h:1","h2ping_use_tls":false)").check.definition.uses_tls);
  const auto grpc = check_of(R"("GRPC":"h:1/web")").check.definition;
  EXPECT_EQ(grpc.kind, CheckKind::kGrpc);
  EXPECT_EQ(grpc.target, "h:1/web");
  EXPECT_FALSE(grpc.uses_tls);
  EXPECT_TRUE(check_of(R"("grpc":"h:1","grpc_use_tls":true)").check.definition.uses_tls);
  EXPECT_TRUE(check_of(R"("tcp":"h:1","tcp_use_tls":true)").check.definition.uses_tls);
}

TEST(ConsulDefinitions, AnAliasNamesAServiceOrANode) {
  const auto target_of = [](const std::string& members) {
    return CheckOf(R"({"Name":"up",)" + members + "}")->check.definition.target;
  };
  EXPECT_EQ(target_of(R"("AliasService":"web 1.a")"), "/web 1%2Ea");
  EXPECT_EQ(target_of(R"("alias_node":"a/b.c")"), "a%2Fb.c/");
  EXPECT_EQ(target_of(R"("AliasNode":"n1","AliasService":"web")"), "n1/web");
  const auto form = CheckOf(R"({"Name":"up","AliasService":"web"})");
  EXPECT_EQ(form->check.definition.kind, sync::CheckKind::kAlias);
  EXPECT_EQ(form->check.definition.interval, 1s);
  const CheckRecord record = RecordOf(form->check);
  EXPECT_EQ(record.type, "alias");
  EXPECT_EQ(record.interval, "");
  EXPECT_THAT(WhyNoCheck(R"({"AliasService":")" + std::string(256, 'x') + "\"}"),
              StartsWith("Invalid check: Alias: "));
}

TEST(ConsulDefinitions, TimesAreTextsOrNanoseconds) {
  const auto tcp = CheckOf(R"({"Name":"up","TCP":"h:1","Interval":10000000})");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(tcp->check.definition.interval, 1s);  // raised
  EXPECT_THAT(tcp->warnings, SizeIs(1));
  EXPECT_EQ(tcp->check.definition.timeout, 10s);
  EXPECT_EQ(CheckOf(R"({"Name":"up","TTL":2.5e9})")->check.definition.interval, 2500ms);
  const auto script =
      CheckOf(R"({"Name":"up","script_args":["a","b"],"Interval":"2s"})", kHttpWithScripts);
  ASSERT_TRUE(script);
  EXPECT_EQ(script->check.definition.command, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(script->check.definition.timeout, 30s);
  EXPECT_EQ(RecordOf(script->check).type, "script");
  EXPECT_THAT(CheckOf(R"({"Name":"up","TTL":1e300})").error().message, StartsWith("Invalid check"));
  EXPECT_FALSE(CheckOf(R"({"Name":"up","TTL":1e999})"));
  EXPECT_FALSE(CheckOf(R"({"Name":"up","TTL":"9999999999999h"})"));
}

TEST(ConsulDefinitions, ASessionsDelayBelowAThousandIsInSeconds) {
  const auto delay = [](const char* text) { return *LockDelayOf(Json::parse(text)); };
  EXPECT_EQ(delay("15"), 15s);
  EXPECT_EQ(delay("\"1ms\""), 1ms);
  EXPECT_EQ(delay("999"), 60s);
  EXPECT_EQ(delay("1000"), 1000ns);
  EXPECT_EQ(delay("0"), 0s);
  EXPECT_EQ(delay("0.5"), 500ms);
  EXPECT_EQ(delay("-5"), 0s);
  EXPECT_EQ(delay("\"2h\""), 60s);
  EXPECT_EQ(delay("18446744073709551615"), 60s);
  EXPECT_FALSE(LockDelayOf(Json::parse("\"\"")));
  EXPECT_FALSE(LockDelayOf(Json::parse("[]")));
}

TEST(ConsulDefinitions, ASessionsTimeToLiveHasBounds) {
  EXPECT_EQ(SessionTtlOf(""), Duration(0));
  EXPECT_EQ(SessionTtlOf("15.000000s"), Duration(15s));
  EXPECT_EQ(SessionTtlOf("5s").error().message,
            "Invalid Session TTL '5000000000', must be between [10s=24h0m0s]");
  EXPECT_EQ(SessionTtlOf("25h").error().message,
            "Invalid Session TTL '90000000000000', must be between [10s=24h0m0s]");
  EXPECT_EQ(SessionTtlOf("x").error().message,
            "Session TTL 'x' invalid: time: invalid duration \"x\"");
}

TEST(ConsulDefinitions, AFileHasServicesAndChecks) {
  const auto file = ParseDefinitionFile(
      R"({"services":[{"id":"w1","name":"web","port":80,"check":{"ttl":"10s"}},{"name":"db"}],
          "checks":[{"name":"disk","ttl":"1m"},{"name":"w2","ttl":"1m","service_id":"w1"}]})",
      {.node_address = "10.0.0.1"});
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_THAT(file->entries, SizeIs(3));
  EXPECT_EQ(file->entries[0].value, "10.0.0.1:80");
  EXPECT_THAT(file->entries[0].checks, SizeIs(2));
  EXPECT_EQ(file->entries[2].kind, sync::EntryKind::kNode);
  EXPECT_EQ(file->entries[2].id, ".disk");
  const auto why = [](const std::string& text) {
    const auto read = ParseDefinitionFile(text, {});
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(why(R"({"service":{"name":"web"},"datacenter":"x"})"), "invalid config key datacenter");
  EXPECT_EQ(why(R"({"service":{"name":"web"},"services":[{"name":"web"}]})"),
            "the id web stands twice");
  EXPECT_EQ(why(R"({"check":{"name":"c","ttl":"1s","service_id":"x"}})"),
            "ServiceID \"x\" does not exist");
  EXPECT_EQ(why(R"({"service":{"name":"web","prot":1}})"), "invalid config key prot");
  EXPECT_NE(why("service { name = \"web\" }"), "");
  EXPECT_NE(why(R"({"services":{}})"), "");
  EXPECT_TRUE(IsDefinitionFile(Json::parse(R"({"Service":{}})")));
  EXPECT_TRUE(IsDefinitionFile(Json::parse(R"({"checks":[]})")));
  EXPECT_FALSE(IsDefinitionFile(Json::parse(R"({"id":"a","name":"b","checks":[]})")));
  EXPECT_FALSE(IsDefinitionFile(Json::parse("[]")));
}

TEST(ConsulDefinitions, MaintenanceIsACheckWithAReason) {
  const CheckRecord node = RecordOf(MaintenanceCheck("", ""));
  EXPECT_EQ(node, (CheckRecord{.id = "_node_maintenance",
                               .health = Health::kCritical,
                               .name = "Node Maintenance Mode",
                               .notes = "Maintenance mode is enabled for this node, but no reason "
                                        "was provided. This is a default message.",
                               .type = "maintenance"}));
  const sync::Check check = MaintenanceCheck("a/b", "why");
  EXPECT_EQ(RecordOf(check).id, "_service_maintenance:a/b");
  EXPECT_EQ(RecordOf(check).notes, "why");
  EXPECT_TRUE(sync::ValidateEntry({.id = "w", .name = "w", .value = "", .checks = {check}}));
}

TEST(ConsulDefinitions, MaintenanceIsCarriedOver) {
  sync::Entry old{.id = "w", .name = "w", .value = ""};
  old.checks = {{.definition = {.id = "up"}}, MaintenanceCheck("w", "why")};
  sync::Entry entry{.id = "w", .name = "w", .value = "new"};
  KeepMaintenance(old, entry);
  ASSERT_THAT(entry.checks, SizeIs(1));
  EXPECT_EQ(entry.checks[0], old.checks[1]);
  KeepMaintenance(old, entry);
  EXPECT_THAT(entry.checks, SizeIs(1));
}

TEST(ConsulDefinitions, AServicesPlaceIsItsOwnAddressOrTheNodes) {
  EXPECT_EQ(ValueOf({.address = "::1", .port = 80}, ""), "[::1]:80");
  EXPECT_EQ(ValueOf({.address = "::1"}, ""), "::1");
  EXPECT_EQ(ValueOf({.port = 80}, "10.0.0.1"), "10.0.0.1:80");
  EXPECT_EQ(ValueOf({.port = 80}, ""), "");
}

TEST(ConsulBodies, DepthAndWidthAreBounded) {
  EXPECT_FALSE(ParseBody(std::string(100'000, '[')));
  EXPECT_FALSE(ParseBody(std::string(65, '[') + std::string(65, ']')));
  EXPECT_TRUE(ParseBody(std::string(64, '[') + std::string(64, ']')));
  std::string wide = "{";
  for (int i = 0; i < 600; ++i) wide += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_FALSE(ParseBody(wide + "}"));
  EXPECT_TRUE(ParseBody(R"({"a":":::::\":::"})"));
  for (const char* text : {"", "  ", "{", "nul", "{\"a\":1e999}", "{\"a\":\"\xff\"}", "1 2"})
    EXPECT_FALSE(ParseBody(text)) << text;
}

TEST(ConsulBodies, WhatFollowsTheFirstValueIsIgnored) {
  EXPECT_EQ(FirstValue(R"( {"a":"}\"]","b":[{}]}trailing {)"), R"( {"a":"}\"]","b":[{}]})");
  EXPECT_EQ(FirstValue("[1,[2]]\n[3]"), "[1,[2]]");
  EXPECT_EQ(FirstValue("[1}x"), "[1}") << "no value: the parser's to refuse";
  for (const char* text : {"", "  ", "{", "[[]", "{\"a", "{\"\\", "1 2", "null", "\"a\" b", "}x"})
    EXPECT_EQ(FirstValue(text), text);
}

// A body that is not a definition is an error; none is a crash or takes long.
TEST(ConsulBodies, EveryFieldSurvivesEveryType) {
  static constexpr const char* kFields[] = {"ID",
                                            "Name",
                                            "Tags",
                                            "Address",
                                            "TaggedAddresses",
                                            "Meta",
                                            "Port",
                                            "SocketPath",
                                            "Check",
                                            "Checks",
                                            "Weights",
                                            "Token",
                                            "EnableTagOverride",
                                            "Proxy",
                                            "Connect",
                                            "Kind"};
  static constexpr const char* kCheckFields[] = {"CheckID",
                                                 "Name",
                                                 "Notes",
                                                 "ServiceID",
                                                 "Status",
                                                 "HTTP",
                                                 "TCP",
                                                 "UDP",
                                                 "GRPC",
                                                 "H2PING",
                                                 "Args",
                                                 "ScriptArgs",
                                                 "Method",
                                                 "Header",
                                                 "Body",
                                                 "TLSServerName",
                                                 "TLSSkipVerify",
                                                 "TTL",
                                                 "Interval",
                                                 "Timeout",
                                                 "OutputMaxSize",
                                                 "SuccessBeforePassing",
                                                 "FailuresBeforeCritical",
                                                 "FailuresBeforeWarning",
                                                 "DeregisterCriticalServiceAfter",
                                                 "AliasNode",
                                                 "DockerContainerID"};
  static constexpr const char* kValues[] = {"null",
                                            "true",
                                            "0",
                                            "-1",
                                            "1e30",
                                            "18446744073709551615",
                                            "-9223372036854775808",
                                            "\"\"",
                                            "\"x\"",
                                            "\"10s\"",
                                            "[]",
                                            "[1]",
                                            "[null]",
                                            "[[]]",
                                            "{}",
                                            "{\"a\":1}",
                                            "{\"a\":null}",
                                            "{\"a\":[]}",
                                            "[{}]",
                                            "[{\"TTL\":\"1s\"}]"};
  int refused = 0;
  for (const char* value : kValues) {
    for (const char* field : kFields)
      refused +=
          WhyNot(R"({"Name":"w",")" + std::string(field) + "\":" + value + "}").empty() ? 0 : 1;
    for (const char* field : kCheckFields) {
      const std::string member = std::string("\"") + field + "\":" + value;
      refused += WhyNoCheck("{\"TTL\":\"1s\"," + member + "}").empty() ? 0 : 1;
      refused += CheckOf("{\"Name\":\"x\",\"TTL\":\"1s\"," + member + "}") ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(ConsulBodies, ADamagedFileIsRefusedOrHasSoundEntries) {
  const std::string file =
      R"({"services":[{"id":"w1","name":"web","port":80,"check":{"ttl":"10s"}},{"name":"db"}],)"
      R"("checks":[{"name":"disk","http":"http://x","interval":"1m","status":"passing"}]})";
  ASSERT_TRUE(ParseDefinitionFile(file, {}));
  ForEachCut(file, [](std::string_view cut) { EXPECT_FALSE(ParseDefinitionFile(cut, {})); });
  ForEachFlip(file, [](std::string_view flipped, std::size_t) {
    const auto read = ParseDefinitionFile(flipped, {});
    if (!read) return;
    for (const sync::Entry& entry : read->entries) EXPECT_TRUE(sync::ValidateEntry(entry));
  });
}

TEST(ConsulBodies, RandomBytesAreRefused) {
  Rng rng(9);
  const std::string good =
      R"({"ID":"w1","Name":"web","Port":80,"Check":{"HTTP":"http://x","Interval":"10s"}})";
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + rng() % 4; n > 0; --n)
      text[rng() % text.size()] = static_cast<char>(rng() % 256);
    const auto form = ServiceOf(text);
    if (form) {
      EXPECT_TRUE(sync::ValidateEntry(form->entry)) << text;
    }
    std::string noise(rng() % 40, '\0');
    for (char& c : noise) c = static_cast<char>(rng() % 256);
    EXPECT_FALSE(ServiceOf(noise)) << noise;
  }
}

}  // namespace
}  // namespace kvorum::consul
