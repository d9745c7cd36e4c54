// Maintenance.Downgrade: its answers, its effects on Status, and the state that stays.
#include <gtest/gtest.h>

#include <string>

#include "api/downgrade.h"
#include "api/maintenance_encode.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class DowngradeTest : public testing::Test {
 protected:
  void Start(const std::string& cluster_version = "3.7.0") {
    ASSERT_TRUE(served_.Start().has_value());
    if (!cluster_version.empty())
      Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion(cluster_version));
  }
  void Propose(RequestKind kind, const std::string& body) {
    bool done = false;
    served_.member().Propose(kind, body, [&](const Result<ApplyResult::Value>& outcome) {
      EXPECT_TRUE(outcome.has_value());
      done = true;
    });
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return done; }));
  }
  // The cluster's version in the answer, or the error's text.
  std::string Ask(int action, const std::string& version = "") {
    etcdserverpb::DowngradeRequest request;
    request.set_action(static_cast<etcdserverpb::DowngradeRequest::DowngradeAction>(action));
    request.set_version(version);
    const auto answer =
        served_.Call("/etcdserverpb.Maintenance/Downgrade", request.SerializeAsString());
    if (!answer.has_value()) return answer.error().message;
    etcdserverpb::DowngradeResponse response;
    EXPECT_TRUE(response.ParseFromString(*answer));
    EXPECT_EQ(response.header().revision(), 1);
    EXPECT_GT(response.header().raft_term(), 0);
    return response.version();
  }
  etcdserverpb::StatusResponse Status() {
    etcdserverpb::StatusResponse response;
    EXPECT_TRUE(
        response.ParseFromString(served_.Call("/etcdserverpb.Maintenance/Status", "").value()));
    return response;
  }

  ServedMember served_;
};

const std::string kInvalid = "etcdserver: invalid downgrade target version";
const std::string kFormat = "etcdserver: wrong downgrade target version format";

TEST_F(DowngradeTest, OnlyTheMinorVersionBelowIsATarget) {
  Start();
  for (const char* target : {"3.6", "3.6.0", "3.6.7"})
    EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::VALIDATE, target), "3.7") << target;
  for (const char* target : {"3.7", "3.8", "3.5", "2.6", "4.6"})
    EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::VALIDATE, target), kInvalid) << target;
  for (const char* target : {"", "3", "v3.6"}) {
    EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::VALIDATE, target), kFormat) << target;
    EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::ENABLE, target), kFormat) << target;
  }
  EXPECT_FALSE(Status().downgradeinfo().enabled()) << "to validate changes nothing";
}

TEST_F(DowngradeTest, OneIsUnderWayFromEnableToCancel) {
  Start();
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::CANCEL), "3.7") << "without one, a success";
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::ENABLE, "3.5"), kInvalid);
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::ENABLE, "3.6.2"), "3.7");
  EXPECT_TRUE(Status().downgradeinfo().enabled());
  EXPECT_EQ(Status().downgradeinfo().targetversion(), "3.6.0");
  EXPECT_EQ(Status().storageversion(), "3.7.0");
  for (const auto action :
       {etcdserverpb::DowngradeRequest::ENABLE, etcdserverpb::DowngradeRequest::VALIDATE})
    EXPECT_EQ(Ask(action, "3.6"), "etcdserver: cluster has a downgrade job in progress");
  Propose(RequestKind::kClusterVersionSet, EncodeClusterVersion("3.6.0"));
  EXPECT_EQ(Status().storageversion(), "3.6.0");
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::ENABLE, "3.6"), kInvalid)
      << "the target is told before the job";
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::CANCEL, "nonsense"), "3.6");
  EXPECT_FALSE(Status().downgradeinfo().enabled());
  EXPECT_EQ(Status().downgradeinfo().targetversion(), "");
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::CANCEL), "3.6");
}

TEST_F(DowngradeTest, AClusterWithoutVersionHasNone) {
  Start("");
  const std::string unavailable = "etcdserver: cluster version not found during downgrade";
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::VALIDATE, "3.6"), unavailable);
  EXPECT_EQ(Ask(etcdserverpb::DowngradeRequest::ENABLE, "3.6"), unavailable);
}

TEST_F(DowngradeTest, OtherActionsAreUnknown) {
  Start();
  EXPECT_EQ(Ask(3), "etcdserver: unknown method");
  EXPECT_EQ(Ask(-1), "etcdserver: unknown method");
}

}  // namespace
}  // namespace kvorum::server
