// Questions about the catalog and their answers, without sockets; the replies are read by the C
// library's parser.
#include "dns/responder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dns/wire.h"
#include "tests/dns/dns_client.h"
#include "tests/dns/fake_directory.h"

namespace kvorum::dns {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class DnsResponder : public testing::Test {
 protected:
  Seen AskFor(const std::string& name, unsigned type = ns_t_a) {
    return Send({.name = name, .type = type});
  }
  Seen Send(const Ask& ask, Transport transport = Transport::kUdp) {
    reply_ = responder_.Answer(PacketOf(ask), transport);
    Seen seen = Read(reply_);
    EXPECT_EQ(seen.id, ask.id);
    EXPECT_TRUE(seen.is_response);
    EXPECT_FALSE(seen.recursion_available);
    return seen;
  }

  FakeDirectory directory_;
  Responder responder_{directory_, 3};
  std::string reply_;
};

TEST_F(DnsResponder, AnAddressQuestionIsAnsweredWithAllHealthyInstances) {
  directory_.Add("web", "10.0.0.1:80").Add("web", "10.0.0.2:80").Add("web", "[2001:db8::1]:80");
  directory_.Add("web", "10.0.0.3:80", /*is_healthy=*/false).Add("db", "10.0.0.4:80");
  const Seen v4 = AskFor("web.service.kvorum");
  EXPECT_EQ(v4.rcode, ns_r_noerror);
  EXPECT_TRUE(v4.is_authoritative);
  EXPECT_EQ(v4.question, "web.service.kvorum");
  EXPECT_THAT(v4.answers, UnorderedElementsAre("web.service.kvorum 0 A 10.0.0.1",
                                               "web.service.kvorum 0 A 10.0.0.2"));
  EXPECT_THAT(AskFor("web.service.kvorum", ns_t_aaaa).answers,
              ElementsAre("web.service.kvorum 0 AAAA 2001:db8::1"));
}

TEST_F(DnsResponder, ASrvQuestionIsAnsweredWithPortsAndTheAddressesOfItsTargets) {
  directory_.Add("web", "10.0.0.1:80").Add("web", "10.0.0.1:81").Add("web", "[2001:db8::1]:82");
  for (const std::string name : {"web.service.kvorum", "_web._tcp.service.kvorum"}) {
    const Seen seen = AskFor(name, ns_t_srv);
    EXPECT_THAT(
        seen.answers,
        UnorderedElementsAre(name + " 0 SRV 0 1 80 0a000001.addr.kvorum",
                             name + " 0 SRV 0 1 81 0a000001.addr.kvorum",
                             name + " 0 SRV 0 1 82 20010db8000000000000000000000001.addr.kvorum"));
    EXPECT_THAT(
        seen.additional,
        UnorderedElementsAre("0a000001.addr.kvorum 0 A 10.0.0.1",
                             "20010db8000000000000000000000001.addr.kvorum 0 AAAA 2001:db8::1"));
  }
  EXPECT_THAT(AskFor("0A000001.addr.kvorum").answers,
              ElementsAre("0A000001.addr.kvorum 0 A 10.0.0.1"));
  EXPECT_THAT(AskFor("20010db8000000000000000000000001.addr.kvorum", ns_t_aaaa).answers,
              ElementsAre("20010db8000000000000000000000001.addr.kvorum 0 AAAA 2001:db8::1"));
}

TEST_F(DnsResponder, AHostNameIsATargetAndHasNoAddressHere) {
  directory_.Add("db", "db.example.org:5432").Add("db", "10.0.0.1");
  const Seen srv = AskFor("db.service.kvorum", ns_t_srv);
  EXPECT_THAT(srv.answers, ElementsAre("db.service.kvorum 0 SRV 0 1 5432 db.example.org"));
  EXPECT_THAT(srv.additional, IsEmpty());
  EXPECT_THAT(AskFor("db.service.kvorum").answers, ElementsAre("db.service.kvorum 0 A 10.0.0.1"));
}

TEST_F(DnsResponder, AnAddressThatTwoInstancesShareIsOneRecord) {
  directory_.Add("web", "10.0.0.1:80").Add("web", "10.0.0.1:81").Add("web", "10.0.0.1:81");
  EXPECT_THAT(AskFor("web.service.kvorum").answers, SizeIs(1));
  EXPECT_THAT(AskFor("web.service.kvorum", ns_t_srv).answers, SizeIs(2));
}

TEST_F(DnsResponder, NamesAreCaseInsensitiveAndAnsweredAsTheyWereSpelled) {
  directory_.Add("web", "10.0.0.1:80");
  const Seen seen = AskFor("wEb.SERVICE.kVorum");
  EXPECT_EQ(seen.question, "wEb.SERVICE.kVorum");
  EXPECT_THAT(seen.answers, ElementsAre("wEb.SERVICE.kVorum 0 A 10.0.0.1"));
  EXPECT_THAT(AskFor("_WEB._TCP.service.KVORUM", ns_t_srv).answers, SizeIs(1));
}

TEST_F(DnsResponder, ANameWithoutDataOfTheTypeExists) {
  directory_.Add("web", "10.0.0.1:80").Add("sick", "10.0.0.1:80", /*is_healthy=*/false);
  directory_.Add("odd", "not a place");
  for (const Ask& ask :
       {Ask{.name = "web.service.kvorum", .type = ns_t_aaaa},
        Ask{.name = "web.service.kvorum", .type = ns_t_mx}, Ask{.name = "sick.service.kvorum"},
        Ask{.name = "odd.service.kvorum"}, Ask{.name = "_web._tcp.service.kvorum"},
        Ask{.name = "_tcp.service.kvorum"}, Ask{.name = "service.kvorum"},
        Ask{.name = "addr.kvorum"}, Ask{.name = "0a000001.addr.kvorum", .type = ns_t_aaaa},
        Ask{.name = "kvorum"}}) {
    const Seen seen = Send(ask);
    EXPECT_EQ(seen.rcode, ns_r_noerror) << ask.name;
    EXPECT_THAT(seen.answers, IsEmpty()) << ask.name;
    EXPECT_THAT(seen.authority, ElementsAre("kvorum 0 SOA ns.kvorum")) << ask.name;
  }
}

TEST_F(DnsResponder, ANameThatIsNotThereIsANameError) {
  directory_.Add("web", "10.0.0.1:80").Add("a.b", "10.0.0.1:80");
  for (const std::string name :
       {"db.service.kvorum", "x.web.service.kvorum", "_db._tcp.service.kvorum",
        "web._tcp.service.kvorum", "_web._udp.service.kvorum", "a.b.service.kvorum", "web.kvorum",
        "0a0001.addr.kvorum", "0a00000g.addr.kvorum", "x.0a000001.addr.kvorum"}) {
    const Seen seen = AskFor(name);
    EXPECT_EQ(seen.rcode, ns_r_nxdomain) << name;
    EXPECT_TRUE(seen.is_authoritative);
    EXPECT_THAT(seen.authority, ElementsAre("kvorum 0 SOA ns.kvorum"));
  }
}

TEST_F(DnsResponder, TheZoneHasItsSoaAndAnyIsOneOfTheTypes) {
  directory_.Add("web", "10.0.0.1:80");
  EXPECT_THAT(AskFor("kvorum", ns_t_soa).answers, ElementsAre("kvorum 0 SOA ns.kvorum"));
  EXPECT_THAT(AskFor("web.service.kvorum", ns_t_any).answers,
              ElementsAre("web.service.kvorum 0 A 10.0.0.1"));
}

TEST_F(DnsResponder, QuestionsThatAreNotOursAreRefused) {
  for (const Ask& ask :
       {Ask{.name = "example.org"}, Ask{.name = ""}, Ask{.name = "service.kvorum.org"},
        Ask{.name = "kvorum", .klass = ns_c_chaos}, Ask{.name = "kvorum", .klass = ns_c_any},
        Ask{.name = "kvorum", .type = ns_t_axfr}, Ask{.name = "kvorum", .type = ns_t_ixfr}}) {
    const Seen seen = Send(ask);
    EXPECT_EQ(seen.rcode, ns_r_refused) << ask.name;
    EXPECT_FALSE(seen.is_authoritative);
    EXPECT_THAT(seen.answers, IsEmpty());
  }
}

TEST_F(DnsResponder, BeforeTheCatalogIsKnownItFails) {
  directory_.set_revision(0);
  EXPECT_EQ(AskFor("web.service.kvorum").rcode, ns_r_servfail);
}

TEST_F(DnsResponder, AnswersComeInRandomOrder) {
  for (int i = 1; i <= 8; ++i) directory_.Add("web", "10.0.0." + std::to_string(i));
  std::set<std::string> first;
  for (int i = 0; i < 200; ++i) first.insert(AskFor("web.service.kvorum").answers.front());
  EXPECT_THAT(first, SizeIs(8));
}

TEST_F(DnsResponder, WhatDoesNotFitIsCutAndSaysSo) {
  for (int i = 0; i < 200; ++i) directory_.Add("web", "10.0.0." + std::to_string(i) + ":80");
  const Seen plain = AskFor("web.service.kvorum");
  EXPECT_TRUE(plain.is_truncated);
  EXPECT_LE(reply_.size(), 512);
  EXPECT_GT(reply_.size(), 512 - 16);  // as many as fit
  const Seen edns = Send({.name = "web.service.kvorum", .edns_bytes = 4096});
  EXPECT_TRUE(edns.is_truncated);
  EXPECT_EQ(edns.edns_bytes, 1232);
  EXPECT_LE(reply_.size(), 1232);
  EXPECT_GT(reply_.size(), 1232 - 16);
  Send({.name = "web.service.kvorum", .edns_bytes = 600});
  EXPECT_LE(reply_.size(), 600);
  EXPECT_GT(reply_.size(), 600 - 16);
  Send({.name = "web.service.kvorum", .edns_bytes = 0});
  EXPECT_LE(reply_.size(), 512);
  const Seen tcp = Send({.name = "web.service.kvorum"}, Transport::kTcp);
  EXPECT_FALSE(tcp.is_truncated);
  EXPECT_THAT(tcp.answers, SizeIs(200));
}

// An asker whose address may be somebody else's.
class DnsReflection : public DnsResponder {
 protected:
  DnsReflection() {
    for (int i = 0; i < 200; ++i) directory_.Add("many", "10.0.1." + std::to_string(i) + ":80");
  }
  static std::string CookieOption(const std::string& cookie) {
    return Bytes16(10) + Bytes16(static_cast<unsigned>(cookie.size())) + cookie;
  }
  std::string Answer(const std::string& packet, Transport transport = Transport::kUdp) {
    return responder_.Answer(packet, transport,
                             {.address = address_, .is_local = false, .unix_s = 1'700'000'000});
  }
  // The cookie at the end of a reply.
  static std::string CookieIn(const std::string& reply) { return reply.substr(reply.size() - 24); }

  std::string address_ = "\x0a\x01\x02\x03";
};

TEST_F(DnsReflection, AnAnswerIsAtMostThreeTimesTheQuestion) {
  for (const std::string name :
       {"many.service.kvorum", "_many._tcp.service.kvorum", "kvorum", "none.service.kvorum",
        "service.kvorum", "x.kvorum", "elsewhere", "0a000001.addr.kvorum"}) {
    for (const unsigned type : {ns_t_a, ns_t_aaaa, ns_t_srv, ns_t_soa, ns_t_any}) {
      for (const int edns : {-1, 512, 4096}) {
        for (const std::string& options : {std::string(), CookieOption("12345678"),
                                           CookieOption("12345678" + std::string(16, 'x'))}) {
          const std::string packet =
              PacketOf({.name = name, .type = type, .edns_bytes = edns, .options = options});
          const std::string reply = Answer(packet);
          EXPECT_LE(reply.size(), 3 * packet.size()) << name << " " << type << " " << edns;
          EXPECT_EQ(Read(reply).question, name);
        }
      }
    }
  }
  const Seen cut = Read(Answer(PacketOf({.name = "many.service.kvorum"})));
  EXPECT_TRUE(cut.is_truncated) << "the rest is to be asked for over TCP";
  EXPECT_FALSE(cut.answers.empty());
  EXPECT_FALSE(
      Read(Answer(PacketOf({.name = "many.service.kvorum"}), Transport::kTcp)).is_truncated);
}

TEST_F(DnsReflection, ACookieThatItGaveThisAddressLetsMoreThrough) {
  const auto ask = [](const std::string& cookie) {
    return PacketOf(
        {.name = "many.service.kvorum", .edns_bytes = 1232, .options = CookieOption(cookie)});
  };
  const std::string first = Answer(ask("12345678"));
  EXPECT_LE(first.size(), 3 * ask("12345678").size());
  const std::string cookie = CookieIn(first);
  EXPECT_TRUE(cookie.starts_with("12345678"));
  const std::string second = Answer(ask(cookie));
  EXPECT_GT(second.size(), 1000U);
  EXPECT_LE(second.size(), 1232U);
  EXPECT_TRUE(CookieIn(second).starts_with("12345678"));
  address_ = "\x0a\x01\x02\x04";
  EXPECT_LE(Answer(ask(cookie)).size(), 3 * ask(cookie).size()) << "another's address";
}

TEST_F(DnsReflection, ACookieOfALengthThatNoneHasIsAFormatError) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{9}, std::size_t{15}, std::size_t{41}}) {
    EXPECT_EQ(Read(Answer(PacketOf({.name = "kvorum",
                                    .edns_bytes = 1232,
                                    .options = CookieOption(std::string(size, 'c'))})))
                  .rcode,
              ns_r_formerr)
        << size;
  }
  // An option that is cut says nothing.
  EXPECT_EQ(Read(Answer(PacketOf({.name = "many.service.kvorum",
                                  .edns_bytes = 1232,
                                  .options = Bytes16(10) + Bytes16(8) + "1234"})))
                .rcode,
            ns_r_noerror);
}

TEST_F(DnsResponder, AdditionalAddressesAreLeftOutBeforeAnswersAre) {
  for (int i = 1; i <= 8; ++i) directory_.Add("web", "10.0.0." + std::to_string(i) + ":80");
  const Seen seen = AskFor("web.service.kvorum", ns_t_srv);
  EXPECT_FALSE(seen.is_truncated);
  EXPECT_THAT(seen.answers, SizeIs(8));
  EXPECT_THAT(seen.additional, IsEmpty());
  EXPECT_THAT(Send({.name = "web.service.kvorum", .type = ns_t_srv, .edns_bytes = 1232}).additional,
              SizeIs(8));
}

TEST_F(DnsResponder, AReplyNamesAtMost256InstancesOverTcp) {
  for (int i = 0; i < 1000; ++i)
    directory_.Add("web", "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256));
  const Seen seen = Send({.name = "web.service.kvorum"}, Transport::kTcp);
  EXPECT_THAT(seen.answers, SizeIs(kMaxAnswers));
  EXPECT_THAT(std::set(seen.answers.begin(), seen.answers.end()), SizeIs(kMaxAnswers));
}

TEST_F(DnsResponder, EvenTheLongestTargetsFitIntoAReplyOverTcp) {
  std::string host;
  while (host.size() < 200) host += std::string(49, 'a') + ".";
  for (int i = 0; i < 300; ++i)
    directory_.Add("web", host + std::string(45, 'b') + std::to_string(1000 + i) + ":80");
  const Seen seen = Send({.name = "web.service.kvorum", .type = ns_t_srv}, Transport::kTcp);
  EXPECT_LE(reply_.size(), 65535);
  EXPECT_FALSE(seen.is_truncated);
  EXPECT_GT(seen.answers.size(), 200);
}

TEST_F(DnsResponder, EdnsIsAnsweredIfItWasAsked) {
  directory_.Add("web", "10.0.0.1:80");
  EXPECT_EQ(AskFor("web.service.kvorum").edns_bytes, -1);
  EXPECT_EQ(Send({.name = "web.service.kvorum", .edns_bytes = 512}).edns_bytes, 1232);
  const Seen other = Send({.name = "web.service.kvorum", .edns_bytes = 512, .edns_version = 1});
  EXPECT_EQ(static_cast<unsigned>(other.rcode) | other.extended_rcode << 4U, 16U);  // BADVERS
  EXPECT_THAT(other.answers, IsEmpty());
}

}  // namespace
}  // namespace kvorum::dns
