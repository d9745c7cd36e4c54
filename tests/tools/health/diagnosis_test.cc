#include "tools/health/diagnosis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kvorum::ctl {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow(std::chrono::seconds(1'800'000'000));

// Three members, m1 leads, and nothing is wrong.
ClusterFacts Healthy() {
  ClusterFacts facts{.now = kNow, .list = {.cluster = 9}, .hash_revision = 10};
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ExaminedMember member;
    member.reading.member = {
        .id = id, .name = "m" + std::to_string(id), .endpoint = "h" + std::to_string(id) + ":2379"};
    etcdserverpb::StatusResponse status;
    status.mutable_header()->set_cluster_id(9);
    status.mutable_header()->set_member_id(id);
    status.mutable_header()->set_revision(10);
    status.set_version("3.7.1");
    status.set_leader(1);
    status.set_raftterm(2);
    status.set_raftindex(100);
    status.set_raftappliedindex(100);
    status.set_dbsize(100 << 20);
    status.set_dbsizeinuse(90 << 20);
    status.set_dbsizequota(int64_t{2} << 30);
    member.reading.status = status;
    member.reading.metrics = MetricsPage::Parse("process_open_fds 10\nprocess_max_fds 1000\n");
    member.hash = MemberHash{77, 5};
    facts.members.push_back(member);
  }
  return facts;
}

// "warning quota m1"
std::vector<std::string> FindingsOf(const ClusterFacts& facts) {
  std::vector<std::string> found;
  for (const Finding& finding : Diagnose(facts)) {
    found.push_back(std::string(SeverityName(finding.severity)) + " " + finding.code + " " +
                    finding.subject);
    EXPECT_FALSE(finding.what.empty());
  }
  return found;
}

void TakeDown(ExaminedMember& member) {
  member.reading.status.reset();
  member.reading.metrics.reset();
  member.reading.unreachable = "refused";
  member.hash.reset();
}

TEST(DiagnosisTest, AHealthyClusterHasNoFindings) { EXPECT_THAT(FindingsOf(Healthy()), IsEmpty()); }

TEST(DiagnosisTest, OneMemberDownIsAWarningAndAMajorityDownIsCritical) {
  ClusterFacts facts = Healthy();
  TakeDown(facts.members[2]);
  EXPECT_THAT(FindingsOf(facts),
              ElementsAre("warning unreachable m3", "warning no-spare-member cluster"));
  TakeDown(facts.members[1]);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical unreachable m2", "critical unreachable m3",
                                             "critical no-majority cluster"));
}

TEST(DiagnosisTest, WithoutAListOfMembersNothingIsSure) {
  ClusterFacts facts{.now = kNow, .list = {.error = "refused"}};
  facts.members.push_back({});
  facts.members[0].reading.member.endpoint = "h:1";
  facts.members[0].reading.unreachable = "refused";
  EXPECT_THAT(FindingsOf(facts),
              IsSupersetOf({"critical no-member-list cluster", "critical unreachable h:1"}));
}

TEST(DiagnosisTest, ARefusalIsNoFailureOfTheMember) {
  ClusterFacts facts = Healthy();
  facts.members.resize(1);
  TakeDown(facts.members[0]);
  facts.members[0].reading.unreachable = "etcdserver: user name is empty";
  EXPECT_THAT(FindingsOf(facts), Contains("critical refused m1"));
}

TEST(DiagnosisTest, AMemberThatHasNotStartedIsNamedByItsId) {
  ClusterFacts facts = Healthy();
  TakeDown(facts.members[2]);
  facts.members[2].reading.member = {.id = 0xab, .is_started = false};
  EXPECT_THAT(FindingsOf(facts), Contains("warning not-started ab"));
}

TEST(DiagnosisTest, LeadersAreComparedByTerm) {
  ClusterFacts facts = Healthy();
  facts.members[2].reading.status->set_leader(3);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical several-leaders cluster"));
  facts.members[2].reading.status->set_raftterm(3);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning several-terms cluster"));
  facts.members[2].reading.status->set_leader(0);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical no-leader m3"));
  facts.members[2].reading.status->mutable_header()->set_cluster_id(8);
  EXPECT_THAT(FindingsOf(facts), Contains("critical several-clusters cluster"));
}

TEST(DiagnosisTest, AlarmsAreCritical) {
  ClusterFacts facts = Healthy();
  facts.alarms.resize(2);
  facts.alarms[0].set_memberid(2);
  facts.alarms[0].set_alarm(etcdserverpb::NOSPACE);
  facts.alarms[1].set_memberid(77);
  facts.alarms[1].set_alarm(etcdserverpb::CORRUPT);
  EXPECT_THAT(FindingsOf(facts),
              ElementsAre("critical alarm-nospace m2", "critical alarm-corrupt 4d"));
}

TEST(DiagnosisTest, HashesAreComparedWhereTheCompactionIsTheSame) {
  ClusterFacts facts = Healthy();
  facts.members[2].hash = MemberHash{78, 5};
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical hash-differs cluster"));
  facts.members[2].hash = MemberHash{78, 7};
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note compaction-differs cluster"));
  facts.members[2].hash.reset();
  facts.members[2].no_hash = "permission denied";
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note hash-unknown m3"));
}

TEST(DiagnosisTest, WhatMembersFindOutAboutTheirCopiesOfTheKeys) {
  constexpr std::string_view kApart = "kvorum_replica_hash_agreement 0\n";
  ClusterFacts facts = Healthy();
  facts.members[0].reading.metrics = MetricsPage::Parse(kApart);
  facts.members[1].reading.metrics = MetricsPage::Parse(kApart);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical replicas-differ cluster"));
  facts.members[2].reading.metrics =
      MetricsPage::Parse("kvorum_database_damaged 1\nkvorum_quarantined 0\n");
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical database-damaged m3"));
  facts.members[2].reading.metrics =
      MetricsPage::Parse("kvorum_database_damaged 1\nkvorum_quarantined 1\n");
  facts.members[2].reading.status->add_errors("memberID:3 alarm:CORRUPT");
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical quarantined m3"));
  EXPECT_THAT(Diagnose(facts).front().advice,
              testing::HasSubstr("kvorumctl --endpoints h3:2379 member reseed"));
  facts = Healthy();
  facts.members[0].reading.metrics = MetricsPage::Parse(
      "kvorum_quarantined 0\nkvorum_database_damaged 0\nkvorum_replica_hash_agreement 1\n");
  EXPECT_THAT(FindingsOf(facts), IsEmpty());
}

TEST(DiagnosisTest, AnArchiveThatIsBehindRefusedOrHasGaps) {
  const auto page = [](std::string_view state, std::int64_t seconds_ago, int gaps) {
    const std::int64_t now = Healthy().now.time_since_epoch().count();
    return MetricsPage::Parse(
        fmt::format("kvorum_archive_state{{state=\"{}\"}} 1\nkvorum_archive_time_seconds {}\n"
                    "kvorum_archive_gaps_total {}\n",
                    state, now - seconds_ago, gaps));
  };
  ClusterFacts facts = Healthy();
  facts.members[0].reading.metrics = page("archiving", 1, 0);
  facts.members[1].reading.metrics = page("following", 100, 0);
  EXPECT_THAT(FindingsOf(facts), IsEmpty()) << "the leader's time counts";
  facts.members[0].reading.metrics = page("failing", 100, 0);
  EXPECT_THAT(FindingsOf(facts),
              ElementsAre("critical archive-behind cluster", "warning archive-failing m1"));
  facts.members[0].reading.metrics = page("refused", 0, 0);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical archive-refused m1"));
  facts.members[0].reading.metrics = page("archiving", 0, 1);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning archive-gap m1"));
}

TEST(DiagnosisTest, MembersOfEtcdThatDecideOtherwiseOrDiffer) {
  ClusterFacts facts = Healthy();
  facts.members[0].reading.metrics = MetricsPage::Parse(
      "kvorum_etcd_members_deciding_otherwise 1\nkvorum_etcd_hash_agreement 1\n");
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical older-etcd cluster"));
  facts.members[0].reading.metrics = MetricsPage::Parse(
      "kvorum_etcd_members_deciding_otherwise 0\nkvorum_etcd_hash_agreement 0\n");
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical etcd-differs cluster"));
}

TEST(DiagnosisTest, SpaceIsJudgedByTheQuota) {
  ClusterFacts facts = Healthy();
  auto& status = *facts.members[0].reading.status;
  status.set_dbsizequota(120 << 20);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning quota m1"));
  status.set_dbsizequota(101 << 20);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical quota m1"));
  status.set_dbsizequota(0);
  EXPECT_THAT(FindingsOf(facts), IsEmpty()) << "an older server does not say";
  status.set_dbsize(400 << 20);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note waste m1"));
}

TEST(DiagnosisTest, LagIsToldFromTheIndexes) {
  ClusterFacts facts = Healthy();
  facts.members[0].reading.status->set_raftindex(10'000);
  facts.members[0].reading.status->set_raftappliedindex(9'500);
  facts.members[1].reading.status->set_raftindex(9'900);
  facts.members[1].reading.status->set_raftappliedindex(8'000);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning apply-lag m2", "warning replication-lag m3"));
}

TEST(DiagnosisTest, VersionsLearnersAndNumbersOfMembers) {
  ClusterFacts facts = Healthy();
  facts.members[2].reading.status->set_version("3.6.0");
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning versions-differ cluster"));
  facts.members[2].reading.status->set_version("3.7.1");
  facts.members[2].reading.member.is_learner = true;
  EXPECT_THAT(FindingsOf(facts), ElementsAre("warning even-voters cluster", "note learner m3"));
  facts.members.resize(1);
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note single-member cluster"));
}

TEST(DiagnosisTest, ClocksAreComparedWithEachOther) {
  ClusterFacts facts = Healthy();
  for (ExaminedMember& member : facts.members) member.reading.clock_ahead = 5s;
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note clock m1", "note clock m2", "note clock m3"));
  facts.members[0].reading.clock_ahead = 0s;
  EXPECT_THAT(FindingsOf(facts), Contains("warning clocks-differ cluster"));
}

TEST(DiagnosisTest, ReadsThatFailOrTakeLong) {
  ClusterFacts facts = Healthy();
  facts.members[0].read_error = "etcdserver: request timed out";
  facts.members[1].read_took = 700ms;
  EXPECT_THAT(FindingsOf(facts), ElementsAre("critical read-failed m1", "warning slow-read m2"));
}

TEST(DiagnosisTest, TheMetricsPageShowsDisksElectionsAndFiles) {
  ClusterFacts facts = Healthy();
  facts.members[0].reading.metrics = MetricsPage::Parse(
      "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.008\"} 50\n"
      "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.016\"} 100\n"
      "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 100\n"
      "etcd_server_leader_changes_seen_total 9\n"
      "process_start_time_seconds 1799992800\n"  // two hours ago
      "process_open_fds 900\nprocess_max_fds 1000\n");
  EXPECT_THAT(FindingsOf(facts),
              ElementsAre("warning slow-sync m1", "warning elections m1", "warning files m1"));
  facts.members[0].reading.metrics = MetricsPage::Parse(
      "etcd_server_leader_changes_seen_total 9\n"
      "process_start_time_seconds 1790000000\n");
  EXPECT_THAT(FindingsOf(facts), IsEmpty()) << "nine elections in months are no matter";
  facts.members[0].reading.metrics.reset();
  facts.members[0].reading.no_metrics = "refused";
  EXPECT_THAT(FindingsOf(facts), ElementsAre("note no-metrics m1"));
}

TEST(DiagnosisTest, CertificatesAreToldBeforeTheyExpire) {
  ClusterFacts facts = Healthy();
  const auto days = [](int n) { return std::chrono::days(n); };
  facts.members[0].reading.certificate_end = kNow + days(31);
  facts.members[1].reading.certificate_end = kNow + days(29);
  facts.members[2].reading.certificate_end = kNow + days(2);
  facts.own_certificates = {{"/c.pem", kNow - days(1)}};
  EXPECT_THAT(FindingsOf(facts),
              ElementsAre("critical certificate m3", "critical certificate kvorumctl",
                          "warning certificate m2"));
}

TEST(ClockAheadTest, OnlyWhatIsCertainCounts) {
  using std::chrono::system_clock;
  const system_clock::time_point before = kNow + 400ms;
  const system_clock::time_point after = kNow + 500ms;
  EXPECT_EQ(ClockAhead(kNow, before, after), 0s);
  EXPECT_EQ(ClockAhead(kNow + 1s, before, after), 0s) << "it may be 0.5 s ahead";
  EXPECT_EQ(ClockAhead(kNow + 3s, before, after), 2s);
  EXPECT_EQ(ClockAhead(kNow - 1s, before, after), 0s);
  EXPECT_EQ(ClockAhead(kNow - 3s, before, after), -2s);
}

TEST(WithEndpointsTest, AGivenEndpointStandsForItsMember) {
  etcdserverpb::MemberListResponse list;
  const auto add = [&](std::uint64_t id, const std::string& name,
                       const std::vector<std::string>& urls) {
    auto& member = *list.add_members();
    member.set_id(id);
    member.set_name(name);
    for (const std::string& url : urls) member.add_clienturls(url);
  };
  add(1, "m1", {"http://a:1", "http://b:1"});
  add(2, "m2", {"https://c:1"});
  add(3, "", {});
  const auto members = WithEndpoints(list, {"b:1", "elsewhere:1"});
  ASSERT_EQ(members.size(), 4);
  EXPECT_EQ(members[0].endpoint, "b:1");
  EXPECT_EQ(members[1].endpoint, "https://c:1");
  EXPECT_FALSE(members[2].is_started);
  EXPECT_EQ(members[3].endpoint, "elsewhere:1");
  EXPECT_EQ(members[3].id, 0);
}

}  // namespace
}  // namespace kvorum::ctl
