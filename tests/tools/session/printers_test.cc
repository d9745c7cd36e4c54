// The output of each format, for answers made by hand.
#include <gtest/gtest.h>

#include <sstream>

#include "proto/rpc.pb.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/printer.h"

namespace kvorum::ctl {
namespace {

using namespace std::string_literals;

struct Printed {
  std::string out;
  std::string err;
  Outcome<void> outcome;
};

template <class Print>
Printed PrintWith(std::string_view format, PrinterOptions options, const Print& print) {
  std::ostringstream out;
  std::ostringstream err;
  const auto printer = MakePrinter(format, options, out, err);
  const auto outcome = print(*printer);
  return {out.str(), err.str(), outcome};
}

void Fill(mvccpb::KeyValue& kv, const std::string& key, const std::string& value) {
  kv.set_key(key);
  kv.set_value(value);
  kv.set_create_revision(2);
  kv.set_mod_revision(3);
  kv.set_version(2);
}

void Fill(etcdserverpb::ResponseHeader& header) {
  header.set_cluster_id(255);
  header.set_member_id(16);
  header.set_revision(3);
  header.set_raft_term(2);
}

etcdserverpb::RangeResponse TwoKeys() {
  etcdserverpb::RangeResponse response;
  Fill(*response.mutable_header());
  Fill(*response.add_kvs(), "a", "1\n2");
  Fill(*response.add_kvs(), "b\xff", "");
  response.set_count(2);
  return response;
}

std::string PrintGet(std::string_view format, PrinterOptions options = {}) {
  return PrintWith(format, options, [](Printer& p) { return p.Get(TwoKeys()); }).out;
}

TEST(PrintersTest, GetSimple) {
  EXPECT_EQ(PrintGet("simple"), "a\n1\n2\nb\xff\n\n");
  EXPECT_EQ(PrintGet("simple", {.hex = true}), R"(\x61
\x31\x0a\x32
\x62\xff

)");
  EXPECT_EQ(PrintGet("simple", {.values_only = true}), "1\n2\n\n");
}

TEST(PrintersTest, GetFields) {
  EXPECT_EQ(PrintGet("fields"), R"("ClusterID" : 255
"MemberID" : 16
"Revision" : 3
"RaftTerm" : 2
"Key" : "a"
"CreateRevision" : 2
"ModRevision" : 3
"Version" : 2
"Value" : "1\n2"
"Lease" : 0
"Key" : "b\xff"
"CreateRevision" : 2
"ModRevision" : 3
"Version" : 2
"Value" : ""
"Lease" : 0
"More" : false
"Count" : 2
)");
}

TEST(PrintersTest, GetJson) {
  EXPECT_EQ(PrintGet("json"),
            R"({"header":{"cluster_id":255,"member_id":16,"revision":3,"raft_term":2},)"
            R"("kvs":[{"key":"YQ==","create_revision":2,"mod_revision":3,"version":2,)"
            R"("value":"MQoy"},{"key":"Yv8=","create_revision":2,"mod_revision":3,"version":2}],)"
            R"("count":2})"
            "\n");
}

TEST(PrintersTest, GetProtobuf) {
  etcdserverpb::RangeResponse decoded;
  ASSERT_TRUE(decoded.ParseFromString(PrintGet("protobuf")));
  EXPECT_EQ(decoded.SerializeAsString(), TwoKeys().SerializeAsString());
}

TEST(PrintersTest, PutAndDeleteShowWhatWasThere) {
  etcdserverpb::PutResponse put;
  Fill(*put.mutable_prev_kv(), "k", "old");
  EXPECT_EQ(PrintWith("simple", {}, [&](Printer& p) { return p.Put(put); }).out, "OK\nk\nold\n");
  EXPECT_EQ(PrintWith("fields", {.hex = true}, [&](Printer& p) { return p.Put(put); }).out,
            R"("ClusterID" : 0
"MemberID" : 0
"RaftTerm" : 0
"PrevKey" : "k"
"PrevCreateRevision" : 2
"PrevModRevision" : 3
"PrevVersion" : 2
"PrevValue" : "old"
"PrevLease" : 0000000000000000
)");
  etcdserverpb::DeleteRangeResponse deleted;
  deleted.set_deleted(1);
  *deleted.add_prev_kvs() = put.prev_kv();
  EXPECT_EQ(PrintWith("simple", {}, [&](Printer& p) { return p.Delete(deleted); }).out,
            "1\nk\nold\n");
}

etcdserverpb::TxnResponse NestedTxn() {
  etcdserverpb::TxnResponse txn;
  txn.set_succeeded(true);
  txn.add_responses()->mutable_response_put();
  *txn.add_responses()->mutable_response_range()->mutable_kvs() = TwoKeys().kvs();
  txn.add_responses()->mutable_response_delete_range()->set_deleted(4);
  txn.add_responses()->mutable_response_txn()->add_responses()->mutable_response_put();
  return txn;
}

TEST(PrintersTest, TxnSimple) {
  EXPECT_EQ(PrintWith("simple", {}, [](Printer& p) { return p.Txn(NestedTxn()); }).out,
            "SUCCESS\n\nOK\n\na\n1\n2\nb\xff\n\n\n4\n\nFAILURE\n\nOK\n");
}

TEST(PrintersTest, TxnJsonWrapsEachAnswer) {
  etcdserverpb::TxnResponse txn = NestedTxn();
  txn.mutable_responses()->DeleteSubrange(1, 1);
  EXPECT_EQ(PrintWith("json", {}, [&](Printer& p) { return p.Txn(txn); }).out,
            R"({"succeeded":true,"responses":[{"Response":{"response_put":{}}},)"
            R"({"Response":{"response_delete_range":{"deleted":4}}},{"Response":{"response_txn":)"
            R"({"responses":[{"Response":{"response_put":{}}}]}}}]})"
            "\n");
}

etcdserverpb::MemberListResponse TwoMembers() {
  etcdserverpb::MemberListResponse response;
  Fill(*response.mutable_header());
  response.mutable_header()->set_revision(0);
  auto* started = response.add_members();
  started->set_id(0xabc);
  started->set_name("n1");
  started->add_peerurls("http://a:1");
  started->add_peerurls("http://b:1");
  started->add_clienturls("http://a:2");
  auto* learner = response.add_members();
  learner->set_id(1);
  learner->set_islearner(true);
  return response;
}

etcdserverpb::MemberAddResponse AddedLearner() {
  etcdserverpb::MemberAddResponse response;
  *response.mutable_header() = TwoMembers().header();
  *response.mutable_members() = TwoMembers().members();
  *response.mutable_member() = TwoMembers().members(1);
  return response;
}

TEST(PrintersTest, AnAddedMember) {
  const auto print = [](std::string_view format, PrinterOptions options = {}) {
    return PrintWith(format, options, [](Printer& p) { return p.MemberAdd(AddedLearner()); }).out;
  };
  EXPECT_EQ(print("simple"),
            "Member                1 added as learner to cluster               ff\n");
  EXPECT_EQ(print("json", {.hex = true}),
            R"({"header":{"cluster_id":"ff","member_id":"10","raft_term":2},)"
            R"("member":{"ID":"1","isLearner":true},"members":[{"ID":"abc","name":"n1",)"
            R"("peerURLs":["http://a:1","http://b:1"],"clientURLs":["http://a:2"]},)"
            R"({"ID":"1","isLearner":true}]})"
            "\n");
  EXPECT_EQ(print("protobuf"), AddedLearner().SerializeAsString());
  EXPECT_EQ(print("table"), "") << "refused";
  EXPECT_EQ(print("fields"), "");
}

TEST(PrintersTest, ChangesOfAMemberNameItAndTheCluster) {
  etcdserverpb::MemberRemoveResponse removed;
  Fill(*removed.mutable_header());
  EXPECT_EQ(PrintWith("simple", {}, [&](Printer& p) { return p.MemberRemove(0xabc, removed); }).out,
            "Member              abc removed from cluster               ff\n");
  EXPECT_EQ(PrintWith("simple", {}, [&](Printer& p) { return p.MoveLeader(0xabc, 0x1, {}); }).out,
            "Leadership transferred from abc to 1\n");
  EXPECT_EQ(PrintWith("json", {}, [&](Printer& p) { return p.MoveLeader(0xabc, 0x1, {}); }).out,
            "{}\n");
}

std::string PrintMembers(std::string_view format, PrinterOptions options = {}) {
  return PrintWith(format, options, [](Printer& p) { return p.MemberList(TwoMembers()); }).out;
}

TEST(PrintersTest, MembersInEachFormat) {
  EXPECT_EQ(PrintMembers("simple"), R"(abc, started, n1, http://a:1,http://b:1, http://a:2, false
1, unstarted, , , , true
)");
  EXPECT_EQ(PrintMembers("table"),
            R"(┌─────┬───────────┬──────┬───────────────────────┬──────────────┬────────────┐
│ ID  │  STATUS   │ NAME │      PEER ADDRS       │ CLIENT ADDRS │ IS LEARNER │
├─────┼───────────┼──────┼───────────────────────┼──────────────┼────────────┤
│ abc │   started │   n1 │ http://a:1,http://b:1 │   http://a:2 │      false │
│   1 │ unstarted │      │                       │              │       true │
└─────┴───────────┴──────┴───────────────────────┴──────────────┴────────────┘
)");
  EXPECT_EQ(PrintMembers("json"),
            R"({"header":{"cluster_id":255,"member_id":16,"raft_term":2},"members":[{"ID":2748,)"
            R"("name":"n1","peerURLs":["http://a:1","http://b:1"],"clientURLs":["http://a:2"]},)"
            R"({"ID":1,"isLearner":true}]})"
            "\n");
  EXPECT_EQ(
      PrintMembers("json", {.hex = true}),
      R"({"header":{"cluster_id":"ff","member_id":"10","raft_term":2},"members":[{"ID":"abc",)"
      R"("name":"n1","peerURLs":["http://a:1","http://b:1"],"clientURLs":["http://a:2"]},)"
      R"({"ID":"1","isLearner":true}]})"
      "\n");
  EXPECT_EQ(PrintMembers("fields", {.hex = true}), R"("ClusterID" : ff
"MemberID" : 10
"RaftTerm" : 2
"ID" : abc
"Name" : "n1"
"PeerURL" : "http://a:1"
"PeerURL" : "http://b:1"
"ClientURL" : "http://a:2"
"IsLearner" : false

"ID" : 1
"Name" : ""
"IsLearner" : true

)");
}

TEST(PrintersTest, AlarmsInEachFormat) {
  etcdserverpb::AlarmResponse response;
  response.add_alarms()->set_memberid(16);
  response.mutable_alarms(0)->set_alarm(etcdserverpb::NOSPACE);
  const auto print = [&](Printer& p) { return p.Alarm(response); };
  EXPECT_EQ(PrintWith("simple", {}, print).out, "memberID:16 alarm:NOSPACE\n");
  EXPECT_EQ(PrintWith("json", {}, print).out, "{\"alarms\":[{\"memberID\":16,\"alarm\":1}]}\n");
  EXPECT_EQ(PrintWith("fields", {}, print).out, R"("ClusterID" : 0
"MemberID" : 0
"RaftTerm" : 0
"MemberID" : 16
"AlarmType" : NOSPACE

)");
}

TEST(PrintersTest, HealthInEachFormat) {
  const std::vector<EndpointHealth> endpoints = {
      {.endpoint = "a:1", .healthy = true, .took = "1ms"},
      {.endpoint = "b:1", .took = "2s", .error = "context deadline exceeded"}};
  const auto print = [&](Printer& p) { return p.Health(endpoints); };
  const Printed simple = PrintWith("simple", {}, print);
  EXPECT_EQ(simple.out, "a:1 is healthy: successfully committed proposal: took = 1ms\n");
  EXPECT_EQ(simple.err, "b:1 is unhealthy: failed to commit proposal: context deadline exceeded\n");
  EXPECT_EQ(PrintWith("json", {}, print).out,
            R"([{"endpoint":"a:1","health":true,"took":"1ms"},{"endpoint":"b:1","health":false,)"
            R"("took":"2s","error":"context deadline exceeded"}])"
            "\n");
  EXPECT_EQ(PrintWith("fields", {}, print).out, R"("Endpoint" : "a:1"
"Health" : true
"Took" : 1ms
"Error" : 

"Endpoint" : "b:1"
"Health" : false
"Took" : 2s
"Error" : context deadline exceeded

)");
}

EndpointStatus SomeStatus() {
  EndpointStatus e{"a:1", {}};
  Fill(*e.status.mutable_header());
  e.status.set_version("3.7.3");
  e.status.set_storageversion("3.7.0");
  e.status.set_dbsize(20480);
  e.status.set_dbsizeinuse(16384);
  e.status.set_dbsizequota(2'147'483'648);
  e.status.set_leader(16);
  e.status.set_raftterm(2);
  e.status.set_raftindex(5);
  e.status.set_raftappliedindex(4);
  e.status.add_errors("one");
  e.status.add_errors("two");
  return e;
}

TEST(PrintersTest, StatusInEachFormat) {
  const auto print = [](Printer& p) { return p.Status({SomeStatus()}); };
  EXPECT_EQ(PrintWith("simple", {}, print).out,
            "a:1, 10, 3.7.3, 3.7.0, 20 kB, 16 kB, 20%, 2.1 GB, true, false, 2, 5, 4, one, two, , "
            "false\n");
  EXPECT_EQ(PrintWith("json", {}, print).out,
            R"([{"Endpoint":"a:1","Status":{"header":{"cluster_id":255,"member_id":16,)"
            R"("revision":3,"raft_term":2},"version":"3.7.3","dbSize":20480,"leader":16,)"
            R"("raftIndex":5,"raftTerm":2,"raftAppliedIndex":4,"errors":["one","two"],)"
            R"("dbSizeInUse":16384,"storageVersion":"3.7.0","dbSizeQuota":2147483648}}])"
            "\n");
  EXPECT_EQ(PrintWith("fields", {}, print).out, R"("ClusterID" : 255
"MemberID" : 16
"Revision" : 3
"RaftTerm" : 2
"Version" : "3.7.3"
"StorageVersion" : "3.7.0"
"DBSize" : 20480
"DBSizeInUse" : 16384
"DBSizeQuota" : 2147483648
"Leader" : 16
"IsLearner" : false
"RaftIndex" : 5
"RaftAppliedIndex" : 4
"Errors" : [one two]
"Endpoint" : "a:1"
"DowngradeTargetVersion" : ""
"DowngradeEnabled" : false

)");
}

TEST(PrintersTest, NothingToShow) {
  const auto print = [](Printer& p) { return p.HashKV({}); };
  EXPECT_EQ(PrintWith("simple", {}, print).out, "");
  EXPECT_EQ(PrintWith("json", {}, print).out, "null\n");
  EXPECT_EQ(PrintWith("table", {}, print).out, R"(┌──────────┬──────┬───────────────┐
│ ENDPOINT │ HASH │ HASH REVISION │
└──────────┴──────┴───────────────┘
)");
}

TEST(PrintersTest, WhatAFormatCannotShowIsRefused) {
  const Printed table = PrintWith("table", {}, [](Printer& p) { return p.Get(TwoKeys()); });
  EXPECT_EQ(table.outcome.error(),
            (Failure{ExitCode::kBadFeature, "table not supported as output format"}));
  EXPECT_EQ(table.out, "");
  const Printed protobuf = PrintWith("protobuf", {}, [](Printer& p) { return p.Status({}); });
  EXPECT_EQ(protobuf.outcome.error(),
            (Failure{ExitCode::kBadFeature, "protobuf not supported as output format"}));
}

TEST(PrintersTest, AnUnknownFormatHasNoPrinter) {
  std::ostringstream stream;
  EXPECT_EQ(MakePrinter("xml", {}, stream, stream), nullptr);
  for (const std::string& format : PrinterFormats())
    EXPECT_EQ(MakePrinter(format, {}, stream, stream)->format(), format);
}

TEST(DowngradePrinterTest, OnlyTheFormatsOfEtcdctlShowIt) {
  etcdserverpb::DowngradeResponse response;
  response.set_version("3.7");
  const auto print = [&](Printer& printer) { return printer.Downgrade("validate", response); };
  EXPECT_EQ(PrintWith("simple", {}, print).out,
            "Downgrade validate success, cluster version 3.7\n");
  EXPECT_EQ(PrintWith("json", {}, print).out, "{\"version\":\"3.7\"}\n");
  EXPECT_EQ(PrintWith("table", {}, print).outcome.error().message,
            "table not supported as output format");
  EXPECT_EQ(PrintWith("fields", {}, print).outcome.error().code, ExitCode::kBadFeature);
}

}  // namespace
}  // namespace kvorum::ctl
