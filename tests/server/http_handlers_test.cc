// The ports' answers over HTTP/1.1.
#include "server/services/maintenance/http_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/entries/history_json.h"
#include "api/maintenance_encode.h"
#include "api/member_id.h"
#include "server/replica/upkeep/defragment_turns.h"
#include "server/services/cluster/peer_http.h"
#include "server/services/maintenance/hash_http.h"
#include "server/services/maintenance/health.h"
#include "tests/server/peer/keeping_sink.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class HttpHandlersTest : public testing::Test {
 protected:
  void Start() {
    ASSERT_TRUE(served_.Start().has_value());
    Serve();
  }
  void Serve() {
    health_.emplace(served_.parts().reads, served_.quarantine(), served_.leader_streams());
    client_ = rpc::HttpMux::ToHandler(ClientRoutes(served_.parts().cluster.membership, *health_));
    peer_ = MakePeerHttpHandler(served_.peer_parts(turns_));
  }
  rpc::HttpResponse Ask(const rpc::HttpHandler& handler, const std::string& target,
                        const std::string& method = "GET", const std::string& body = "",
                        std::vector<rpc::HttpHeader> headers = {}) {
    const auto sink = std::make_shared<KeepingSink>();
    rpc::HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.body = SharedBytes::Copy(body);
    handler(std::move(request), rpc::HttpReply(sink));
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return sink->kept.has_value(); }));
    return sink->kept.value_or(rpc::HttpResponse{});
  }
  std::string Get(const std::string& target) { return StatusAndBody(Ask(client_, target)); }
  // The same for the hash of a member's keys.
  std::string Hash(const std::string& body) {
    return StatusAndBody(Ask(peer_, "/members/hashkv", "GET", body));
  }
  void Alarm(AlarmType type, AlarmAction action = AlarmAction::kActivate) {
    ASSERT_TRUE(
        served_
            .Call("/etcdserverpb.Maintenance/Alarm",
                  EncodeAlarmRequest({.action = action, .alarm = {.member = 7, .type = type}}))
            .has_value());
  }
  void Propose(RequestKind kind, const std::string& body) {
    bool done = false;
    served_.member().Propose(kind, body, [&](const Result<ApplyResult::Value>&) { done = true; });
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return done; }));
  }

  ServedMember served_;
  DefragmentTurns turns_;
  std::optional<Health> health_;
  rpc::HttpHandler client_;
  rpc::HttpHandler peer_;
};

const std::string kHealthy = R"(200 {"health":"true","reason":""})";
std::string Sick(const std::string& reason) {
  return R"(503 {"health":"false","reason":")" + reason + "\"}\n";
}

TEST_F(HttpHandlersTest, AHealthyMemberSaysSo) {
  Start();
  EXPECT_EQ(Get("/health"), kHealthy);
  EXPECT_EQ(Get("/health?serializable=true"), kHealthy);
  EXPECT_EQ(Get("/health?serializable=false&x"), kHealthy);
}

TEST_F(HttpHandlersTest, AnAlarmIsTheReason) {
  Start();
  Alarm(AlarmType::kNoSpace);
  EXPECT_EQ(Get("/health"), Sick("ALARM NOSPACE"));
  EXPECT_EQ(Get("/health?serializable=true"), Sick("ALARM NOSPACE"));
  EXPECT_EQ(Get("/health?exclude=NOSPACE"), kHealthy);
  EXPECT_EQ(Get("/health?exclude=CORRUPT"), Sick("ALARM NOSPACE"));
  Alarm(AlarmType::kCorrupt);
  EXPECT_EQ(Get("/health?exclude=NOSPACE"), Sick("ALARM CORRUPT"));
  EXPECT_EQ(Get("/health?exclude=CORRUPT&exclude=NOSPACE"), kHealthy);
  Alarm(AlarmType::kNoSpace, AlarmAction::kDeactivate);
  Alarm(AlarmType::kCorrupt, AlarmAction::kDeactivate);
  EXPECT_EQ(Get("/health"), kHealthy);
  Alarm(static_cast<AlarmType>(9));
  EXPECT_EQ(Get("/health"), Sick("ALARM UNKNOWN"));
}

TEST_F(HttpHandlersTest, WithoutALeaderItIsSickUnlessOnlyTheLocalStoreIsAsked) {
  ASSERT_TRUE(served_.Open().has_value());
  Serve();
  EXPECT_EQ(Get("/health?serializable=true"), kHealthy);
  EXPECT_EQ(Get("/health"), Sick("RAFT NO LEADER"));
  const rpc::HttpResponse response = Ask(client_, "/health");
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].name, "X-Content-Type-Options");
}

TEST_F(HttpHandlersTest, AReadThatFailsIsTheReason) {
  Start();
  served_.member().local_member().Stop([] {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Get("/health"), Sick("RANGE ERROR:etcdserver: server stopped"));
}

TEST_F(HttpHandlersTest, TheClusterVersionIsToldOnceItIsDecided) {
  Start();
  EXPECT_EQ(Get("/version"),
            R"(200 {"etcdserver":"3.7.3","etcdcluster":"not_decided","storage":"3.7.0"})");
  Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"));
  const std::string decided = R"({"etcdserver":"3.7.3","etcdcluster":"3.7.0","storage":"3.7.0"})";
  EXPECT_EQ(Get("/version"), "200 " + decided);
  // Members tell each other whose rules they go by.
  EXPECT_EQ(Join(Ask(peer_, "/version").body),
            R"({"etcdserver":"3.7.3","etcdcluster":"3.7.0","storage":"3.7.0","kvorum":true})");
}

TEST_F(HttpHandlersTest, AMemberThatServesIsLiveAndReady) {
  Start();
  EXPECT_EQ(Get("/livez"), "200 ok\n");
  EXPECT_EQ(Get("/readyz"), "200 ok\n");
  EXPECT_EQ(Get("/livez?verbose"), "200 [+]serializable_read ok\nok\n");
  EXPECT_EQ(Get("/readyz?verbose"),
            "200 [+]data_corruption ok\n[+]serializable_read ok\n[+]linearizable_read ok\n"
            "[+]non_learner ok\nok\n");
  const rpc::HttpResponse response = Ask(client_, "/livez");
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].name, "X-Content-Type-Options");
  EXPECT_EQ(response.headers[0].value, "nosniff");
}

TEST_F(HttpHandlersTest, EachCheckHasAPathOfItsOwn) {
  Start();
  EXPECT_EQ(Get("/readyz/non_learner?verbose"), "200 [+]non_learner ok\nok\n");
  EXPECT_EQ(Get("/readyz/linearizable_read?verbose&exclude=linearizable_read"),
            "200 [+]linearizable_read ok\nok\n");
  EXPECT_EQ(Get("/livez/serializable_read"), "200 ok\n");
  EXPECT_EQ(Get("/livez/non_learner"), "404 404 page not found\n");
}

TEST_F(HttpHandlersTest, AFailedCheckIsTold) {
  Start();
  Alarm(AlarmType::kNoSpace);
  EXPECT_EQ(Get("/readyz"), "200 ok\n");
  Alarm(AlarmType::kCorrupt);
  EXPECT_EQ(Get("/readyz"),
            "503 [-]data_corruption failed: alarm activated: CORRUPT\n"
            "[+]serializable_read ok\n[+]linearizable_read ok\n[+]non_learner ok\n\n");
  EXPECT_EQ(Get("/readyz/data_corruption"),
            "503 [-]data_corruption failed: alarm activated: CORRUPT\n\n");
  EXPECT_EQ(Get("/readyz?exclude=data_corruption&exclude=nothing&verbose"),
            "200 [+]serializable_read ok\n[+]linearizable_read ok\n[+]non_learner ok\nok\n");
  EXPECT_EQ(Get("/livez"), "200 ok\n");
  const auto& corruption = health_->checks()[1];
  EXPECT_EQ(corruption.name, "data_corruption");
  EXPECT_EQ(corruption.passed.value(), 1u);
  EXPECT_EQ(corruption.failed.value(), 2u);
  EXPECT_FALSE(corruption.last_passed);
}

TEST_F(HttpHandlersTest, AMemberWhoseReadsFailIsLiveButNotReady) {
  Start();
  served_.member().local_member().Stop([] {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Get("/livez"), "200 ok\n");
  EXPECT_EQ(Get("/readyz/linearizable_read"),
            "503 [-]linearizable_read failed: etcdserver: server stopped\n\n");
}

TEST_F(HttpHandlersTest, HealthIsCounted) {
  ASSERT_TRUE(served_.Open().has_value());
  Serve();
  Get("/health?serializable=true");
  Get("/health");
  Get("/health");
  EXPECT_EQ(health_->successes(), 1u);
  EXPECT_EQ(health_->failures(), 2u);
  EXPECT_FALSE(health_->checks()[0].is_known);
}

TEST_F(HttpHandlersTest, OnlyGetIsAllowed) {
  Start();
  for (const char* target :
       {"/health", "/version", "/livez", "/readyz", "/readyz/linearizable_read"}) {
    const rpc::HttpResponse response = Ask(client_, target, "POST");
    EXPECT_EQ(response.status, 405);
    EXPECT_EQ(Join(response.body), "Method Not Allowed\n");
    ASSERT_FALSE(response.headers.empty());
    EXPECT_EQ(response.headers.back().name + ": " + response.headers.back().value, "Allow: GET");
  }
  EXPECT_EQ(Ask(client_, "/nothing").status, 404);
}

TEST_F(HttpHandlersTest, ThePeerPortListsTheMembers) {
  Start();
  const rpc::HttpResponse response = Ask(peer_, "/members");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Join(response.body),
            R"([{"id":10276657743932975437,"peerURLs":["http://localhost:2380"],"name":"default"}])"
            "\n");
  ASSERT_EQ(response.headers.size(), 1);
  EXPECT_EQ(response.headers[0].name, "X-Etcd-Cluster-Id");
  EXPECT_EQ(response.headers[0].value, "cdf818194e3a8c32");
  EXPECT_EQ(Ask(peer_, "/health").status, 404);
}

TEST_F(HttpHandlersTest, ThePeerPortHashesTheKeys) {
  Start();
  const std::string of_nothing =
      R"({"header":{"revision":1},"hash":1084519789,"compact_revision":-1,"hash_revision":1})";
  EXPECT_EQ(Hash(R"({"revision":1})"), "200 " + of_nothing);
  EXPECT_EQ(Hash("null"), "200 " + of_nothing);
  EXPECT_EQ(Hash(R"({"revision":99})"), "400 mvcc: required revision is a future revision\n");
  EXPECT_EQ(Hash("x"), "400 error unmarshalling request\n");
  const rpc::HttpResponse response = Ask(peer_, "/members/hashkv", "GET", "{}");
  EXPECT_EQ(response.content_type, "application/json");
  ASSERT_EQ(response.headers.size(), 1);
  EXPECT_EQ(response.headers[0].name, "X-Etcd-Cluster-Id");
}

// Two clusters may share a host, or a member may have been added to another one.
TEST_F(HttpHandlersTest, AMemberOfAnotherClusterIsNotReseeded) {
  Start();
  const std::string path = "/kvorum/reseed/" + IdText(served_.parts().cluster.member_id);
  const std::string own = IdText(served_.parts().cluster.cluster_id);
  EXPECT_EQ(StatusAndBody(Ask(peer_, path, "POST")), "412 cluster ID mismatch\n");
  EXPECT_EQ(StatusAndBody(Ask(peer_, path, "POST", "", {{"x-etcd-cluster-id", "12"}})),
            "412 cluster ID mismatch\n");
  // For a member of this one it is another reason.
  EXPECT_FALSE(StatusAndBody(Ask(peer_, path, "POST", "", {{"x-etcd-cluster-id", own}}))
                   .contains("cluster ID"));
  // Members of older versions name none in these questions.
  const std::string turn =
      "/kvorum/defragment/renew/" + std::to_string(served_.parts().cluster.member_id.value());
  for (const auto& [method, target] :
       {std::pair("POST", turn), std::pair("GET", std::string(kHistoryPath))}) {
    const auto ask = [&](std::vector<rpc::HttpHeader> headers) {
      const rpc::HttpResponse response = Ask(peer_, target, method, "", std::move(headers));
      const auto named =
          std::ranges::find(response.headers, "X-Etcd-Cluster-Id", &rpc::HttpHeader::name);
      EXPECT_TRUE(named != response.headers.end() && named->value == own) << target;
      return response.status;
    };
    EXPECT_EQ(ask({{"x-etcd-cluster-id", "12"}}), 412) << target;
    EXPECT_NE(ask({{"x-etcd-cluster-id", own}}), 412) << target;
    EXPECT_EQ(ask({}), ask({{"x-etcd-cluster-id", own}})) << target;
  }
}

TEST_F(HttpHandlersTest, AHashIsNotToldToAnotherCluster) {
  Start();
  const rpc::HttpResponse refused =
      Ask(peer_, "/members/hashkv", "GET", "{}", {{"x-etcd-cluster-id", "12"}});
  EXPECT_EQ(refused.status, 412);
  EXPECT_EQ(Join(refused.body), "cluster ID mismatch\n");
  EXPECT_EQ(Ask(peer_, "/members/hashkv", "GET", "{}", {{"x-etcd-cluster-id", "cdf818194e3a8c32"}})
                .status,
            200);
  EXPECT_EQ(Ask(peer_, "/members/hashkv", "POST", "{}").status, 405);
}

TEST_F(HttpHandlersTest, HashesThatWaitAreBounded) {
  Start();
  std::vector<std::shared_ptr<KeepingSink>> sinks;
  for (int i = 0; i < 65; ++i) {
    sinks.push_back(std::make_shared<KeepingSink>());
    rpc::HttpRequest request;
    request.method = "GET";
    request.target = "/members/hashkv";
    request.body = SharedBytes::Copy("{}");
    peer_(std::move(request), rpc::HttpReply(sinks.back()));
  }
  ASSERT_TRUE(sinks.back()->kept.has_value());
  EXPECT_EQ(sinks.back()->kept->status, 503);
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return sinks.front()->kept.has_value(); }));
  EXPECT_EQ(sinks.front()->kept->status, 200);
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Ask(peer_, "/members/hashkv", "GET", "{}").status, 200);
}

TEST_F(HttpHandlersTest, ThePeerPortTellsIfADowngradeIsUnderWay) {
  Start();
  const rpc::HttpResponse response = Ask(peer_, "/downgrade/enabled");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain");
  EXPECT_EQ(Join(response.body), "false");
  EXPECT_EQ(Ask(peer_, "/downgrade/enabled", "POST").status, 405);
  Propose(RequestKind::kDowngradeInfoSet,
          EncodeDowngradeEntry({.enabled = true, .target_version = "3.6.0"}));
  EXPECT_EQ(Join(Ask(peer_, "/downgrade/enabled").body), "true");
  served_.member().local_member().Stop([] {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Ask(peer_, "/downgrade/enabled").status, 500);
}

TEST(HashKvRequest, IsReadByTheRulesOfGo) {
  EXPECT_EQ(DecodeHashKvJson("{}"), 0);
  EXPECT_EQ(DecodeHashKvJson(" null\n"), 0);
  EXPECT_EQ(DecodeHashKvJson(R"({"revision":7})"), 7);
  EXPECT_EQ(DecodeHashKvJson(R"({"revision":-7})"), -7);
  EXPECT_EQ(DecodeHashKvJson(R"({"revision":9223372036854775807})"), INT64_MAX);
  EXPECT_EQ(DecodeHashKvJson(R"({"revision":9,"REVISION":1})"), 1);
  EXPECT_EQ(DecodeHashKvJson(R"({"Revision":1,"revision":9})"), 9);
  EXPECT_EQ(DecodeHashKvJson(R"({"revision":9,"revision":null})"), 9);
  EXPECT_EQ(DecodeHashKvJson(R"({"x":{"revision":[1,{"revision":"y"}]},"revision":3})"), 3);
  EXPECT_EQ(DecodeHashKvJson(R"({"revi\u0073ion":9})"), 9);
  for (const char* malformed :
       {"", "[]", "1", "true", "\"a\"", "{", R"({"revision":1}x)", R"({"revision":1,})",
        R"({"revision":"1"})", R"({"revision":1.0})", R"({"revision":1e0})", R"({"revision":true})",
        R"({"revision":{}})", R"({"revision":[]})", R"({"revision":01})",
        R"({"revision":9223372036854775808})", R"({"revision":"x","revision":1})"}) {
    EXPECT_EQ(DecodeHashKvJson(malformed), std::nullopt) << malformed;
  }
}

}  // namespace
}  // namespace kvorum::server
