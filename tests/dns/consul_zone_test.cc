// Consul's names: what its DNS interface says of them, below a domain of one's choice, beside our
// own zone.
#include "dns/consul_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dns/responder.h"
#include "tests/dns/dns_client.h"
#include "tests/dns/fake_directory.h"
#include "tests/dns/fake_discovery.h"

namespace kvorum::dns {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class DnsConsulZone : public testing::Test {
 protected:
  DnsConsulZone() {
    discovery_.AddNode("n1", "10.1.0.1", {{"rack", "a"}, {"rfc1035-00", "raw=text"}})
        .AddNode("n2", "2001:db8::2")
        .AddNode("host.example", "10.1.0.3");
  }
  Seen AskFor(const std::string& name, unsigned type = ns_t_a) {
    return Send({.name = name, .type = type, .edns_bytes = 1232});
  }
  Seen Send(const Ask& ask, Transport transport = Transport::kUdp) {
    reply_ = responder_.Answer(PacketOf(ask), transport);
    return Read(reply_);
  }
  // The response code, if there are no answers and the domain's SOA stands beside.
  int AbsenceOf(const std::string& name, unsigned type = ns_t_a) {
    const Seen seen = AskFor(name, type);
    EXPECT_THAT(seen.answers, IsEmpty()) << name;
    EXPECT_THAT(seen.authority, ElementsAre("consul 0 SOA ns.consul")) << name;
    EXPECT_TRUE(seen.is_authoritative);
    return seen.rcode;
  }

  FakeDirectory directory_;
  FakeDiscovery discovery_;
  Responder responder_{
      directory_, 3, nullptr, {}, ConsulZone::Make(discovery_, {.node = "N1"}).value()};
  std::string reply_;
};

TEST_F(DnsConsulZone, AServiceIsItsInstancesAddressesTheNodesIfTheyHaveNoneOfTheirOwn) {
  discovery_.Add("web", {.node = "n1", .port = 80})
      .Add("web", {.node = "n2", .port = 80})
      .Add("web", {.node = "n2", .port = 80, .address = "10.2.0.9"})
      .Add("web", {.node = "n1", .port = 81});
  for (const std::string name : {"web.service.consul", "web.service.dc1.consul",
                                 "WEB.Service.DC1.Consul", "_web._tcp.service.consul"}) {
    EXPECT_THAT(AskFor(name).answers,
                UnorderedElementsAre(name + " 0 A 10.1.0.1", name + " 0 A 10.2.0.9"));
    EXPECT_THAT(AskFor(name, ns_t_aaaa).answers, ElementsAre(name + " 0 AAAA 2001:db8::2"));
  }
  EXPECT_THAT(
      AskFor("web.service.consul", ns_t_any).answers,
      UnorderedElementsAre("web.service.consul 0 A 10.1.0.1", "web.service.consul 0 A 10.2.0.9"));
}

TEST_F(DnsConsulZone, SrvNamesTheNodeOrTheAddressWithPriorityOneAndTheWeight) {
  discovery_.Add("web", {.node = "n1", .port = 80, .weight = 7})
      .Add("web", {.node = "n1", .port = 80, .weight = 2})
      .Add("web", {.node = "n1", .port = 81})
      .Add("web", {.node = "n2", .port = 82, .address = "10.2.0.9"})
      .Add("web", {.node = "n2", .port = 83, .address = "web.example.org"});
  const Seen seen = AskFor("web.service.consul", ns_t_srv);
  EXPECT_THAT(seen.answers,
              UnorderedElementsAre("web.service.consul 0 SRV 1 7 80 n1.node.dc1.consul",
                                   "web.service.consul 0 SRV 1 1 81 n1.node.dc1.consul",
                                   "web.service.consul 0 SRV 1 1 82 0a020009.addr.dc1.consul",
                                   "web.service.consul 0 SRV 1 1 83 web.example.org"));
  EXPECT_THAT(seen.additional, UnorderedElementsAre("n1.node.dc1.consul 0 A 10.1.0.1",
                                                    "0a020009.addr.dc1.consul 0 A 10.2.0.9"));
}

TEST_F(DnsConsulZone, TheLabelsBeforeTheNameAreOneTag) {
  discovery_.Add("web", {.node = "n1", .port = 80, .tags = {"v1.2", "blue"}})
      .Add("web", {.node = "n2", .port = 82, .address = "10.2.0.2", .tags = {"green"}});
  EXPECT_THAT(AskFor("blue.web.service.consul").answers,
              ElementsAre("blue.web.service.consul 0 A 10.1.0.1"));
  EXPECT_THAT(AskFor("V1.2.web.service.dc1.consul").answers,
              ElementsAre("V1.2.web.service.dc1.consul 0 A 10.1.0.1"));
  for (const std::string name : {"_web._green.service.consul", "_web._green.service.dc1.consul",
                                 "_web._green.consul", "_web._green.dc1.consul"})
    EXPECT_THAT(AskFor(name, ns_t_srv).answers,
                ElementsAre(name + " 0 SRV 1 1 82 0a020002.addr.dc1.consul"));
  EXPECT_THAT(AskFor("_web._tcp.consul", ns_t_srv).answers, SizeIs(2));
  EXPECT_EQ(AbsenceOf("red.web.service.consul"), ns_r_nxdomain);
  EXPECT_EQ(AbsenceOf("_web._udp.service.consul", ns_t_srv), ns_r_nxdomain);
}

TEST_F(DnsConsulZone, AServiceThatIsNotThereIsANameErrorAndOneWithoutTheTypeIsNot) {
  discovery_.Add("web", {.node = "n1", .port = 80});
  EXPECT_EQ(AbsenceOf("db.service.consul"), ns_r_nxdomain);
  EXPECT_EQ(AbsenceOf("_db._tcp.service.consul", ns_t_srv), ns_r_nxdomain);
  EXPECT_EQ(AbsenceOf("web.service.consul", ns_t_aaaa), ns_r_noerror);
  EXPECT_EQ(AbsenceOf("web.service.consul", ns_t_mx), ns_r_noerror);
  discovery_.Add("odd", {.node = "nobody", .port = 80});
  EXPECT_EQ(AbsenceOf("odd.service.consul"), ns_r_noerror) << "an instance without an address";
}

TEST_F(DnsConsulZone, ANodeIsItsAddressAndItsMeta) {
  EXPECT_THAT(AskFor("n1.node.consul").answers, ElementsAre("n1.node.consul 0 A 10.1.0.1"));
  EXPECT_THAT(AskFor("n2.node.dc1.consul", ns_t_aaaa).answers,
              ElementsAre("n2.node.dc1.consul 0 AAAA 2001:db8::2"));
  EXPECT_THAT(AskFor("host.example.node.consul").answers,
              ElementsAre("host.example.node.consul 0 A 10.1.0.3"));
  EXPECT_THAT(AskFor("n1.node.consul", ns_t_txt).answers,
              UnorderedElementsAre("n1.node.consul 0 TXT rack=a", "n1.node.consul 0 TXT raw=text"));
  EXPECT_THAT(AskFor("n1.node.consul", ns_t_any).answers,
              ElementsAre("n1.node.consul 0 A 10.1.0.1"));
  EXPECT_EQ(AbsenceOf("n2.node.consul"), ns_r_noerror);
  EXPECT_EQ(AbsenceOf("n3.node.consul"), ns_r_nxdomain);
}

TEST_F(DnsConsulZone, ALongTextIsSeveralStrings) {
  discovery_.AddNode("n4", "10.1.0.4", {{"k", std::string(300, 'v')}, {"a=b`", ""}});
  EXPECT_THAT(AskFor("n4.node.consul", ns_t_txt).answers,
              UnorderedElementsAre(
                  "n4.node.consul 0 TXT k=" + std::string(253, 'v') + " " + std::string(47, 'v'),
                  "n4.node.consul 0 TXT a`=b``="));
}

TEST_F(DnsConsulZone, AHostNameInPlaceOfAnAddressIsACname) {
  discovery_.AddNode("far", "far.example.org")
      .Add("db", {.node = "far", .port = 5432})
      .Add("db", {.node = "n1", .port = 5432, .address = "other.example.org"})
      .Add("mixed", {.node = "far", .port = 1})
      .Add("mixed", {.node = "n1", .port = 1});
  EXPECT_THAT(AskFor("far.node.consul").answers,
              ElementsAre("far.node.consul 0 CNAME far.example.org"));
  EXPECT_THAT(AskFor("db.service.consul").answers,
              ElementsAre(AnyOf("db.service.consul 0 CNAME far.example.org",
                                "db.service.consul 0 CNAME other.example.org")))
      << "one, as a name has one at most";
  EXPECT_THAT(AskFor("db.service.consul", ns_t_srv).answers,
              UnorderedElementsAre("db.service.consul 0 SRV 1 1 5432 far.node.dc1.consul",
                                   "db.service.consul 0 SRV 1 1 5432 other.example.org"));
  EXPECT_THAT(AskFor("mixed.service.consul").answers,
              ElementsAre("mixed.service.consul 0 A 10.1.0.1"));
}

TEST_F(DnsConsulZone, AnAddressIsSpelledInHexadecimalDigits) {
  EXPECT_THAT(AskFor("0A020009.addr.consul").answers,
              ElementsAre("0A020009.addr.consul 0 A 10.2.0.9"));
  const std::string v6 = "20010db8000000000000000000000002.addr.dc1.consul";
  EXPECT_THAT(AskFor(v6, ns_t_aaaa).answers, ElementsAre(v6 + " 0 AAAA 2001:db8::2"));
  EXPECT_EQ(AbsenceOf(v6), ns_r_noerror);
  for (const std::string name : {"0a0200.addr.consul", "0a02000g.addr.consul",
                                 "x.0a020009.addr.consul", "0a020009.addr.dc2.consul"})
    EXPECT_EQ(AbsenceOf(name), ns_r_nxdomain) << name;
}

TEST_F(DnsConsulZone, TheDomainHasItsSoaAndThisNodeForItsNameServer) {
  EXPECT_THAT(AskFor("consul", ns_t_soa).answers, ElementsAre("consul 0 SOA ns.consul"));
  const Seen seen = AskFor("consul", ns_t_ns);
  EXPECT_THAT(seen.answers, ElementsAre("consul 0 NS n1.node.dc1.consul"));
  EXPECT_THAT(seen.additional, ElementsAre("n1.node.dc1.consul 0 A 10.1.0.1"));
  Responder of_none(directory_, 3, nullptr, {}, ConsulZone::Make(discovery_, {}).value());
  EXPECT_THAT(
      Read(of_none.Answer(PacketOf({.name = "consul", .type = ns_t_ns}), Transport::kUdp)).answers,
      ElementsAre("consul 0 NS ns.consul"));
}

TEST_F(DnsConsulZone, NamesBetweenTheDomainAndItsDataExistAndOthersDoNot) {
  for (const std::string name :
       {"consul", "service.consul", "node.consul", "addr.dc1.consul", "dc1.consul", "ns.consul"})
    EXPECT_EQ(AbsenceOf(name), ns_r_noerror) << name;
  for (const std::string name :
       {"q.query.consul", "web.connect.consul", "web.virtual.consul", "web.ingress.dc1.consul",
        "query.consul", "x.consul", "n1.node.dc2.consul", "n1.node.dc1.dc1.consul", "dc2.consul"})
    EXPECT_EQ(AbsenceOf(name), ns_r_nxdomain) << name;
}

TEST_F(DnsConsulZone, AnAddressHasTheNameOfItsNodeOrElseOfItsService) {
  discovery_.AddNode("n9", "10.1.0.9")
      .Add("web", {.node = "n1", .port = 80, .address = "10.2.0.9"})
      .Add("db", {.node = "n1", .port = 80, .address = "10.1.0.9"});
  EXPECT_THAT(AskFor("1.0.1.10.in-addr.arpa", ns_t_ptr).answers,
              ElementsAre("1.0.1.10.in-addr.arpa 0 PTR n1.node.dc1.consul"));
  EXPECT_TRUE(AskFor("1.0.1.10.IN-ADDR.Arpa", ns_t_ptr).is_authoritative);
  EXPECT_THAT(AskFor("9.0.1.10.in-addr.arpa", ns_t_ptr).answers,
              ElementsAre("9.0.1.10.in-addr.arpa 0 PTR n9.node.dc1.consul"));
  EXPECT_THAT(AskFor("9.0.2.10.in-addr.arpa", ns_t_ptr).answers,
              ElementsAre("9.0.2.10.in-addr.arpa 0 PTR web.service.dc1.consul"));
  const std::string v6 = "2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
  EXPECT_THAT(AskFor(v6, ns_t_ptr).answers, ElementsAre(v6 + " 0 PTR n2.node.dc1.consul"));
}

// The zones of addresses are other servers', as far as they are not of the catalog.
TEST_F(DnsConsulZone, AnAddressThatIsNotThereIsRefused) {
  discovery_.AddNode(std::string(64, 'n'), "10.1.0.8");
  for (const std::string name :
       {"1.0.1.11.in-addr.arpa", "0.1.10.in-addr.arpa", "x.1.0.1.10.in-addr.arpa",
        "01.0.1.10.in-addr.arpa", "256.0.1.10.in-addr.arpa", "-1.0.1.10.in-addr.arpa", "arpa",
        "in-addr.arpa", "1.0.1.10.in-addr.org", "2.ip6.arpa", "8.0.1.10.in-addr.arpa"})
    EXPECT_EQ(AskFor(name, ns_t_ptr).rcode, ns_r_refused) << name;
  EXPECT_EQ(AskFor("1.0.1.10.in-addr.arpa", ns_t_a).rcode, ns_r_refused);
  EXPECT_EQ(AskFor("1.0.1.10.in-addr.arpa", ns_t_any).rcode, ns_r_refused);
  EXPECT_EQ(AbsenceOf("n1.node.consul", ns_t_ptr), ns_r_noerror);
  discovery_.set_revision(0);
  EXPECT_EQ(AskFor("1.0.1.10.in-addr.arpa", ns_t_ptr).rcode, ns_r_servfail);
  Responder without(directory_, 3);
  EXPECT_EQ(Read(without.Answer(PacketOf({.name = "1.0.1.10.in-addr.arpa", .type = ns_t_ptr}),
                                Transport::kUdp))
                .rcode,
            ns_r_refused);
}

TEST_F(DnsConsulZone, ASmallAnswerOverUdpHasThreeRecordsAtMostWithoutAMark) {
  for (int i = 1; i <= 8; ++i)
    discovery_.Add("web", {.node = "n1", .port = 80, .address = "10.3.0." + std::to_string(i)});
  std::set<std::string> seen_first;
  for (int i = 0; i < 200; ++i) {
    const Seen seen = Send({.name = "web.service.consul"});
    EXPECT_FALSE(seen.is_truncated);
    ASSERT_THAT(seen.answers, SizeIs(3));
    seen_first.insert(seen.answers.front());
  }
  EXPECT_THAT(seen_first, SizeIs(8)) << "the order is random";
  EXPECT_THAT(Send({.name = "web.service.consul", .edns_bytes = 512}).answers, SizeIs(3));
  EXPECT_THAT(Send({.name = "web.service.consul", .edns_bytes = 1232}).answers, SizeIs(8));
  EXPECT_THAT(Send({.name = "web.service.consul"}, Transport::kTcp).answers, SizeIs(8));
}

TEST_F(DnsConsulZone, WhatDoesNotFitIsCutAndSaysSo) {
  for (int i = 0; i < 200; ++i)
    discovery_.Add("many", {.node = "n1", .port = 80, .address = "10.3.0." + std::to_string(i)});
  EXPECT_TRUE(AskFor("many.service.consul").is_truncated);
  EXPECT_LE(reply_.size(), 1232U);
  EXPECT_THAT(Send({.name = "many.service.consul"}, Transport::kTcp).answers, SizeIs(200));
}

TEST_F(DnsConsulZone, AStrangersAnswerIsAtMostThreeTimesItsQuestion) {
  for (int i = 0; i < 200; ++i)
    discovery_.Add("many", {.node = "n1", .port = 80, .address = "10.3.0." + std::to_string(i)});
  for (const std::string name : {"many.service.consul", "_many._tcp.consul", "consul",
                                 "none.service.consul", "n1.node.consul", "0a000001.addr.consul",
                                 "service.consul", "x.consul", "1.0.1.10.in-addr.arpa"}) {
    for (const unsigned type :
         {ns_t_a, ns_t_aaaa, ns_t_srv, ns_t_soa, ns_t_ns, ns_t_txt, ns_t_any, ns_t_ptr}) {
      for (const int edns : {-1, 512, 4096}) {
        const std::string packet = PacketOf({.name = name, .type = type, .edns_bytes = edns});
        const std::string reply = responder_.Answer(
            packet, Transport::kUdp, {.address = "\x0a\x01\x02\x03", .is_local = false});
        EXPECT_LE(reply.size(), 3 * packet.size()) << name << " " << type << " " << edns;
        EXPECT_EQ(Read(reply).question, name);
      }
    }
  }
}

// Nodes and services are registered under any names; what DNS cannot say must not break it.
TEST_F(DnsConsulZone, NamesThatCannotStandInDnsHaveAnAddressForTheirTarget) {
  const std::string longest = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                              std::string(63, 'c') + "." + std::string(63, 'd');
  for (const std::string& node :
       {std::string(64, 'n'), std::string("a..b"), std::string("."), std::string(), longest}) {
    discovery_.AddNode(node, "10.1.0.9").Add("web", {.node = node, .port = 80});
  }
  discovery_.Add("web", {.node = "gone", .port = 80});  // without an address
  EXPECT_THAT(AskFor("web.service.consul", ns_t_srv).answers,
              ElementsAre("web.service.consul 0 SRV 1 1 80 0a010009.addr.dc1.consul"));
}

TEST_F(DnsConsulZone, OurOwnZoneAndRefusalsStayAsTheyAre) {
  directory_.Add("web", "10.0.0.1:80").Add("sick", "10.0.0.1:80", /*is_healthy=*/false);
  discovery_.Add("web", {.node = "n1", .port = 80});
  EXPECT_THAT(AskFor("web.service.kvorum").answers, ElementsAre("web.service.kvorum 0 A 10.0.0.1"));
  EXPECT_THAT(AskFor("_web._tcp.service.kvorum", ns_t_srv).answers,
              ElementsAre("_web._tcp.service.kvorum 0 SRV 0 1 80 0a000001.addr.kvorum"));
  EXPECT_EQ(AskFor("sick.service.kvorum").rcode, ns_r_noerror);
  for (const std::string name : {"web.service.consul.org", "example.org", "xconsul"})
    EXPECT_EQ(AskFor(name).rcode, ns_r_refused) << name;
  Responder without(directory_, 3);
  EXPECT_EQ(Read(without.Answer(PacketOf({.name = "web.service.consul"}), Transport::kUdp)).rcode,
            ns_r_refused);
}

TEST_F(DnsConsulZone, BeforeTheCatalogIsKnownItFails) {
  discovery_.set_revision(0);
  EXPECT_EQ(AskFor("web.service.consul").rcode, ns_r_servfail);
  EXPECT_EQ(AskFor("kvorum", ns_t_soa).rcode, ns_r_noerror);
}

TEST_F(DnsConsulZone, ADomainMayHaveSeveralLabelsAndADatacenterItsOwnName) {
  discovery_.Add("web", {.node = "n1", .port = 80});
  Responder other(
      directory_, 3, nullptr, {},
      ConsulZone::Make(discovery_, {.domain = "SD.example.org.", .datacenter = "East"}).value());
  const auto ask = [&](const std::string& name) {
    return Read(other.Answer(PacketOf({.name = name, .type = ns_t_srv}), Transport::kUdp));
  };
  EXPECT_THAT(ask("web.service.east.sd.example.org").answers,
              ElementsAre("web.service.east.sd.example.org 0 SRV 1 1 80 "
                          "n1.node.east.sd.example.org"));
  EXPECT_EQ(ask("web.service.dc1.sd.example.org").rcode, ns_r_nxdomain);
  EXPECT_EQ(ask("web.service.consul").rcode, ns_r_refused);
}

TEST_F(DnsConsulZone, ADomainThatCannotBeOneIsNamed) {
  for (const std::string& domain :
       {std::string(), std::string("."), std::string("a..b"), std::string("a b"),
        std::string(64, 'a'), std::string("kvorum"), std::string("x.KVORUM")}) {
    const auto made = ConsulZone::Make(discovery_, {.domain = domain});
    ASSERT_FALSE(made) << domain;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("\"" + domain + "\""));
  }
  std::string room(60, 'a');
  for (int i = 0; i < 3; ++i) room += "." + std::string(60, 'a');
  EXPECT_FALSE(ConsulZone::Make(discovery_, {.domain = room}));
  EXPECT_FALSE(ConsulZone::Make(discovery_, {.datacenter = "a.b"}));
}

}  // namespace
}  // namespace kvorum::dns
