// The counts of questions and answers.
#include "dns/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dns/responder.h"
#include "tests/dns/dns_client.h"
#include "tests/dns/fake_directory.h"

namespace kvorum::dns {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DnsCounts, QuestionsAreCountedByTypeAndCode) {
  sync::Metrics metrics;
  Counts counts(&metrics);
  FakeDirectory directory;
  for (int i = 0; i < 100; ++i) directory.Add("web", "10.0.0." + std::to_string(i) + ":80");
  Responder responder(directory, 1, &counts);
  const auto ask = [&](const Ask& question) {
    responder.Answer(PacketOf(question), Transport::kUdp);
  };
  ask({.name = "web.service.kvorum"});
  ask({.name = "web.service.kvorum", .type = ns_t_srv});
  ask({.name = "nobody.service.kvorum", .type = ns_t_aaaa});
  ask({.name = "example.org", .type = ns_t_mx});
  ask({.name = "web.service.kvorum", .edns_bytes = 1232, .edns_version = 1});
  ask({.name = "web.service.kvorum", .questions = 2});
  ask({.name = "web.service.kvorum", .flags = 0x2800});
  ask({.name = "web.service.kvorum", .flags = 0x8000});  // a response: no answer
  const std::string page = metrics.Text();
  for (const std::string line :
       {"queries_total{type=\"A\",rcode=\"NOERROR\"} 1",
        "queries_total{type=\"SRV\",rcode=\"NOERROR\"} 1",
        "queries_total{type=\"AAAA\",rcode=\"NXDOMAIN\"} 1",
        "queries_total{type=\"other\",rcode=\"REFUSED\"} 1",
        "queries_total{type=\"A\",rcode=\"BADVERS\"} 1",
        "queries_total{type=\"none\",rcode=\"FORMERR\"} 1",
        "queries_total{type=\"none\",rcode=\"NOTIMP\"} 1", "truncated_total 2"})
    EXPECT_THAT(page, HasSubstr("\nkvsync_dns_" + line + "\n"));
  EXPECT_THAT(page, Not(HasSubstr("dropped")));
  counts.DroppedForRate();
  counts.DroppedForConnections();
  counts.DroppedForConnections();
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_dns_dropped_total{reason=\"rate\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kvsync_dns_dropped_total{reason=\"connections\"} 2\n"));
}

}  // namespace
}  // namespace kvorum::dns
