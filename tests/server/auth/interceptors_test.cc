#include "server/call/interceptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/call/call_counters.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

const std::string kLocalRead = RangeBody({.key = "k", .serializable = true});

std::shared_ptr<rpc::CallContext> With(std::string_view name, std::string_view value) {
  auto call = std::make_shared<rpc::CallContext>();
  call->AddMetadata(name, value);
  return call;
}

// Opens a stream whose call has that metadata, and gives its status.
Error StreamStatus(ServedMember& served, std::string_view name, std::string_view value) {
  const auto stream = std::make_shared<FakeStream>(served.lanes().io(), std::deque{kLocalRead});
  stream->context().AddMetadata(name, value);
  served.router().Find(kRangeStreamPath)->stream(stream);
  EXPECT_TRUE(served.RunUntilFinished(*stream));
  return stream->status().value_or(Error{});
}

TEST(InterceptorsTest, AClientVersionThatIsNotUtf8IsRefused) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead, With("client-api-version", "3.5")).has_value());
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead, With("client-api-version", "")).has_value());
  EXPECT_EQ(ErrorOf(served.Call(kRangePath, kLocalRead, With("client-api-version", "\xff"))),
            kErrInvalidClientApiVersion.ToError());
  EXPECT_EQ(StreamStatus(served, "client-api-version", "\xc0\x80"),
            kErrInvalidClientApiVersion.ToError());
  EXPECT_EQ(StreamStatus(served, "client-api-version", "3.5").code, Code::kOk);
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead, With("other", "\xff")).has_value());
}

TEST(InterceptorsTest, WhoRequiresALeaderIsToldThatThereIsNone) {
  ServedMember served;
  ASSERT_TRUE(served.Open().has_value());
  EXPECT_EQ(ErrorOf(served.Call(kRangePath, kLocalRead, With("hasleader", "true"))),
            kErrNoLeader.ToError());
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead, With("hasleader", "false")).has_value());
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead).has_value());
  ASSERT_TRUE(served.member().CatchUp());
  EXPECT_TRUE(served.Call(kRangePath, kLocalRead, With("hasleader", "true")).has_value());
}

TEST(InterceptorsTest, AStreamThatRequiresALeaderIsRefusedWithoutOne) {
  ServedMember served;
  ASSERT_TRUE(served.Open().has_value());
  const auto stream = std::make_shared<FakeStream>(served.lanes().io(), std::deque{kLocalRead});
  stream->context().AddMetadata("hasleader", "true");
  served.router().Find(kRangeStreamPath)->stream(stream);
  EXPECT_EQ(stream->status(), kErrNoLeader.ToError());
}

// --- counters and the slow-request log ---------------------------------------------------------

class ObserveCallsTest : public testing::Test {
 protected:
  ObserveCallsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "kvorum-log-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    dir_ = name;
    EXPECT_TRUE(InitLogging({.level = LogLevel::kInfo, .json = true, .outputs = {dir_ + "/log"}})
                    .has_value());
    router_.AddUnary(
        "t.T", "U",
        [](const std::shared_ptr<rpc::CallContext>&, const SharedBytes&, rpc::UnaryReply) {});
    router_.AddStream("t.T", "S", rpc::MethodKind::kServerStream,
                      [](const std::shared_ptr<rpc::ServerStream>&) {});
    for (const char* name_of_kv : {"Range", "Put", "Txn"}) {
      router_.AddUnary(
          "etcdserverpb.KV", name_of_kv,
          [](const std::shared_ptr<rpc::CallContext>&, const SharedBytes&, rpc::UnaryReply) {});
    }
    ObserveCalls(router_, counters_, writes_, {});
  }
  ~ObserveCallsTest() override {
    EXPECT_TRUE(InitLogging({}).has_value());
    SetLogLevel(LogLevel::kError);
    std::filesystem::remove_all(dir_);
  }
  void End(std::string_view path, Code code, Duration duration) {
    rpc::CallContext call;
    call.set_method(&router_.Find(path)->info);
    call.set_peer(SharedBytes::Static("127.0.0.1:5123"));
    call.set_started(SystemClock().Now());
    if (waited_ > Duration::zero()) call.NoteBegun(call.started() + waited_);
    call.KeepRequest(SharedBytes::Static(request_));
    if (!rows_.empty()) call.NoteAnswerRows(rows_);
    router_.start_hook()(call);
    router_.end_hook()(call, {.code = code,
                              .message = "why",
                              .duration = duration,
                              .received_messages = 1,
                              .received_bytes = 17,
                              .sent_messages = 1,
                              .sent_bytes = 29});
  }
  std::string Logged() {
    EXPECT_TRUE(FlushLog());
    std::stringstream text;
    text << std::ifstream(dir_ + "/log").rdbuf();
    return text.str();
  }

  std::string dir_;
  std::string_view request_;
  Duration waited_{};  // for others
  std::vector<std::int64_t> rows_;
  rpc::Router router_;
  CallCounters counters_{5};
  WriteStages stages_;
  SlowWrites writes_{stages_, 1};
};

TEST_F(ObserveCallsTest, CallsAreCountedByMethodAndCode) {
  End("/t.T/U", Code::kOk, {});
  End("/t.T/U", Code::kOk, {});
  End("/t.T/U", Code::kUnauthenticated, {});
  End("/t.T/S", Code::kCanceled, {});
  EXPECT_EQ(counters_.started(0), 3);
  EXPECT_EQ(counters_.ended(0, Code::kOk), 2);
  EXPECT_EQ(counters_.ended(0, Code::kUnauthenticated), 1);
  EXPECT_EQ(counters_.ended(0, Code::kCanceled), 0);
  EXPECT_EQ(counters_.started(1), 1);
  EXPECT_EQ(counters_.ended(1, Code::kCanceled), 1);
}

TEST_F(ObserveCallsTest, MessagesOfAStreamAreCountedWhileItRuns) {
  const rpc::MethodInfo& stream = router_.Find("/t.T/S")->info;
  router_.CountMessages(stream, 1, 0);
  router_.CountMessages(stream, 0, 3);
  EXPECT_EQ(counters_.received(1), 1);
  EXPECT_EQ(counters_.sent(1), 3);
  End("/t.T/S", Code::kOk, {});
  EXPECT_EQ(counters_.received(1), 1);
  EXPECT_EQ(counters_.sent(1), 3);
}

TEST_F(ObserveCallsTest, OnlyASlowUnaryCallIsLogged) {
  End("/t.T/U", Code::kOk, std::chrono::milliseconds(300));
  End("/t.T/S", Code::kOk, std::chrono::hours(1));
  EXPECT_EQ(Logged(), "");
}

TEST_F(ObserveCallsTest, ASlowReadShowsItsRequest) {
  request_ =
      "\x0a\x03"
      "foo"
      "\x12\x03"
      "fop";
  const std::string_view shown = R"(key:\"foo\"  range_end:\"fop\")";
  End("/etcdserverpb.KV/Range", Code::kOk, std::chrono::milliseconds(100));
  EXPECT_EQ(Logged(), "");
  End("/etcdserverpb.KV/Range", Code::kOk, std::chrono::milliseconds(301));
  const std::string lines = Logged();
  EXPECT_THAT(lines,
              testing::HasSubstr(R"("msg":"apply request took too long","took":"301ms",)"
                                 R"("expected-duration":"100ms","prefix":"read-only range ",)"
                                 R"("request":")" +
                                 std::string(shown) + R"(","response":"size:29")"));
  EXPECT_THAT(lines, testing::HasSubstr(R"("request count":0,"request size":17)"));
  EXPECT_THAT(lines, testing::HasSubstr(R"("request content":")" + std::string(shown)));
  EXPECT_THAT(lines, testing::HasSubstr(R"("msg":"trace","trace_id":)"));
  EXPECT_THAT(lines, testing::HasSubstr(R"("operation":"range","detail":"{request:)"));
}

TEST_F(ObserveCallsTest, ASlowTxnThatReadsShowsWhatItsRangesFound) {
  request_ = "\x12\x05\x0a\x03\x0a\x01k";  // success: a range of k
  const auto end = [&] {
    End("/etcdserverpb.KV/Txn", Code::kOk, std::chrono::milliseconds(301));
    const std::string lines = Logged();
    const std::size_t at = lines.rfind(R"("prefix":"read-only txn ")");
    return at == std::string::npos ? lines : lines.substr(at, lines.find('\n', at) - at);
  };
  EXPECT_THAT(end(), testing::HasSubstr(R"("response":"size:29")"));
  rows_ = {3, 0};
  EXPECT_THAT(end(), testing::HasSubstr(
                         R"("response":"responses:<range_response_count:3 range_response_count:0>)"
                         R"( size:29")"));
  rows_ = std::vector<std::int64_t>(1000, 1);
  const std::string long_line = end();
  EXPECT_THAT(long_line, testing::HasSubstr(" ...> size:29"));
  EXPECT_LT(long_line.size(), 5000U);
}

TEST_F(ObserveCallsTest, ATraceNamesThePartsThatWereLong) {
  request_ = "\x0a\x01k";
  const auto steps_of = [&](std::string_view path) {
    End(path, Code::kOk, std::chrono::milliseconds(301));
    const std::string lines = Logged();
    return lines.substr(lines.rfind("\"steps\""));
  };
  const std::string agreement = "'agreement among raft nodes before linearized reading'  ";
  const std::string read = "'range keys from bolt db'  ";
  const auto one = [](const std::string& step) {
    return "\"steps\":[\"" + step + "\"],\"step_count\":1}\n";
  };
  EXPECT_EQ(steps_of("/etcdserverpb.KV/Range"), one(read + "(duration: 301ms)"));
  waited_ = std::chrono::milliseconds(100);
  EXPECT_EQ(steps_of("/etcdserverpb.KV/Range"), "\"steps\":[\"" + agreement +
                                                    "(duration: 100ms)\",\"" + read +
                                                    "(duration: 201ms)\"],\"step_count\":2}\n");
  waited_ = std::chrono::milliseconds(300);
  EXPECT_EQ(steps_of("/etcdserverpb.KV/Range"), one(agreement + "(duration: 300ms)"));
  EXPECT_EQ(steps_of("/etcdserverpb.KV/Put"), one("'process raft request'  (duration: 301ms)"));
}

TEST_F(ObserveCallsTest, AnErrorStandsInALineOnlyIfThereIsOne) {
  request_ = "\x0a\x01k";
  End("/etcdserverpb.KV/Range", Code::kOk, std::chrono::milliseconds(301));
  EXPECT_THAT(Logged(), testing::Not(testing::HasSubstr("\"error\"")));
  EXPECT_THAT(Logged(), testing::Not(testing::HasSubstr("\"code\"")));
  End("/etcdserverpb.KV/Range", Code::kOutOfRange, std::chrono::milliseconds(301));
  EXPECT_THAT(Logged(), testing::HasSubstr(R"("response":"","error":"why"})"));
  EXPECT_THAT(Logged(), testing::HasSubstr(R"("code":11,"error":"why"})"));
}

TEST_F(ObserveCallsTest, EveryCallHasItsLineAtDebug) {
  SetLogLevel(LogLevel::kDebug);
  End("/t.T/U", Code::kOk, std::chrono::milliseconds(1));
  SetLogLevel(LogLevel::kInfo);
  EXPECT_THAT(Logged(), testing::HasSubstr(R"("level":"debug")"));
}

TEST_F(ObserveCallsTest, TheLineOfASlowCallNamesItsCaller) {
  End("/t.T/U", Code::kNotFound, std::chrono::milliseconds(301));
  const std::string line = Logged();
  for (const char* part :
       {R"("level":"warn")", R"("msg":"request stats")", R"("start time":"2)",
        R"("time spent":"301ms")", R"("request count":-1)", R"("request content":"")",
        R"("remote":"127.0.0.1:5123")", R"("response type":"/t.T/U")", R"("request size":17)",
        R"("response size":29)", R"("code":5)", R"("error":"why")"})
    EXPECT_THAT(line, testing::HasSubstr(part));
}

}  // namespace
}  // namespace kvorum::server
