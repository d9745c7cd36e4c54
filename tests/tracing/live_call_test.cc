// Calls through a traced router: which spans they leave, and that their answers stay as they are.
#include "server/tracing/live_call.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "rpc/call/grpc_protocol.h"
#include "server/tracing/traced_router.h"
#include "server/tracing/traced_stream.h"
#include "tests/tracing/message_fields.h"

namespace kvorum::server::tracing {
namespace {

constexpr std::string_view kSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kUnsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

class KeptSpans final : public SpanSink {
 public:
  void Add(std::unique_ptr<Span> span) override { spans.push_back(std::move(span)); }
  void CountDropped() override { ++dropped; }

  // The names in the order of their ends.
  std::string names() const {
    std::string names;
    for (const auto& span : spans) names += (names.empty() ? "" : " ") + span->name;
    return names;
  }

  std::vector<std::unique_ptr<Span>> spans;
  int dropped = 0;
};

// The text of an attribute or an event list.
std::string ValueOf(const Span& span, std::string_view name) {
  for (const Attribute& attribute : span.attributes) {
    if (attribute.name != name) continue;
    if (const auto* text = std::get_if<std::string>(&attribute.value)) return *text;
    if (const auto* number = std::get_if<std::int64_t>(&attribute.value))
      return std::to_string(*number);
  }
  return "none";
}
std::string EventsOf(const Span& span) {
  std::string names;
  for (const SpanEvent& event : span.events) names.append(event.name).append(";");
  return names;
}

// Those of the methods that are called here, as the rows of server/call/api.h have them.
CallSpan SpanOf(std::string_view path) {
  if (path.ends_with("KV/Put")) return CallSpan::kPut;
  if (path.ends_with("KV/Range")) return CallSpan::kRange;
  if (path.ends_with("Auth/UserAdd")) return CallSpan::kProposal;
  if (path.ends_with("Lease/LeaseGrant")) return CallSpan::kLeaseGrant;
  if (path.ends_with("Lease/LeaseKeepAlive")) return CallSpan::kLeaseKeepAlive;
  if (path.ends_with("Watch/Watch")) return CallSpan::kWatch;
  return CallSpan::kPlain;
}

class LiveCallTest : public testing::Test {
 protected:
  // Calls a method whose handler gives this answer; returns what the client gets.
  Result<std::string> Call(std::string_view service, std::string_view name,
                           std::string_view request, std::string_view parent,
                           Result<std::string> answer) {
    rpc::Router plain;
    plain.AddUnary(service, name, [&](const auto&, const SharedBytes&, rpc::UnaryReply reply) {
      if (!answer.has_value()) return reply.Fail(answer.error());
      reply.Send(SharedBytes::Copy(*answer));
    });
    const rpc::Router router = Traced(std::move(plain), tracer_, SpanOf);
    const rpc::Router::Method& method = *router.methods().front();
    const auto call = MakeCall(method.info, parent);
    Result<std::string> got = Fail(Code::kInternal, "no answer");
    method.unary(call, SharedBytes::Copy(request),
                 rpc::UnaryReply::ToFunction([&got](Result<ByteChain> chain) {
                   if (!chain.has_value()) {
                     got = Fail(chain.error());
                   } else {
                     got = Join(*chain);
                   }
                 }));
    return got;
  }
  static std::shared_ptr<rpc::CallContext> MakeCall(const rpc::MethodInfo& info,
                                                    std::string_view parent) {
    auto call = std::make_shared<rpc::CallContext>();
    call->set_method(&info);
    if (!parent.empty()) call->AddMetadata("traceparent", parent);
    call->AddMetadata("tracestate", "a=1");
    return call;
  }

  KeptSpans kept_;
  Tracer tracer_{{.samples_per_million = 0, .max_txn_ops = 128}, kept_};
};

TEST_F(LiveCallTest, ASampledPutHasTwoSpans) {
  EXPECT_EQ(Call("etcdserverpb.KV", "Put", Bytes(1, "k"), kSampled, "answer"), "answer");
  ASSERT_EQ(kept_.names(), "put etcdserverpb.KV/Put");
  const Span& put = *kept_.spans[0];
  const Span& call = *kept_.spans[1];
  EXPECT_EQ(call.context.trace_id.front(), 0x0a);
  EXPECT_EQ(call.parent_id.front(), 0xb7);
  EXPECT_TRUE(call.parent_is_remote);
  EXPECT_NE(call.context.span_id, call.parent_id);
  EXPECT_EQ(call.context.state, "a=1");
  EXPECT_EQ(call.kind, Span::Kind::kServer);
  EXPECT_EQ(ValueOf(call, "rpc.method"), "etcdserverpb.KV/Put");
  EXPECT_EQ(ValueOf(call, "rpc.system.name"), "grpc");
  EXPECT_EQ(ValueOf(call, "rpc.response.status_code"), "OK");
  EXPECT_FALSE(call.is_error);

  EXPECT_EQ(put.parent_id, call.context.span_id);
  EXPECT_EQ(put.context.trace_id, call.context.trace_id);
  EXPECT_FALSE(put.parent_is_remote);
  EXPECT_EQ(EventsOf(put), "Send raft proposal;Receive raft result;");
  EXPECT_LE(call.start_ns, put.start_ns);
  EXPECT_LE(put.start_ns, put.end_ns);
  EXPECT_LE(put.end_ns, call.end_ns);
}

TEST_F(LiveCallTest, OnlyASampledParentIsFollowed) {
  EXPECT_EQ(Call("etcdserverpb.KV", "Put", Bytes(1, "k"), kUnsampled, "answer"), "answer");
  EXPECT_EQ(Call("etcdserverpb.KV", "Put", Bytes(1, "k"), "", "answer"), "answer");
  EXPECT_EQ(Call("etcdserverpb.KV", "Put", Bytes(1, "k"), "nonsense", "answer"), "answer");
  EXPECT_EQ(kept_.names(), "");
}

TEST_F(LiveCallTest, ATraceCanBeginHere) {
  Tracer all({.samples_per_million = 1'000'000, .max_txn_ops = 128}, kept_);
  rpc::CallContext call;
  const auto begun = all.Begin(call);
  ASSERT_TRUE(begun.has_value());
  EXPECT_EQ(begun->parent_id, SpanId{});
  EXPECT_NE(begun->context.trace_id, TraceId{});
  EXPECT_EQ(begun->context.flags, kSampledFlag);
  call.AddMetadata("traceparent", kUnsampled);
  EXPECT_FALSE(all.Begin(call).has_value()) << "the caller decides for its own traces";
}

TEST_F(LiveCallTest, ErrorsAreToldByTheirKind) {
  EXPECT_EQ(Call("etcdserverpb.KV", "Range", Bytes(1, "k"), kSampled, kErrFutureRev.Fail()),
            kErrFutureRev.Fail());
  ASSERT_EQ(kept_.names(), "range etcdserverpb.KV/Range");
  EXPECT_EQ(ValueOf(*kept_.spans[1], "rpc.response.status_code"), "OUT_OF_RANGE");
  EXPECT_FALSE(kept_.spans[1]->is_error);
  EXPECT_EQ(EventsOf(*kept_.spans[0]), "");

  Call("etcdserverpb.KV", "Put", Bytes(1, "k"), kSampled, kErrTimeout.Fail());
  EXPECT_TRUE(kept_.spans[3]->is_error);
  EXPECT_EQ(kept_.spans[3]->status_message, "etcdserver: request timed out");
  EXPECT_EQ(EventsOf(*kept_.spans[2]), "Send raft proposal;exception;");
}

TEST_F(LiveCallTest, ARefusalBeforeTheHandlerHasNoSpanBelow) {
  Call("etcdserverpb.KV", "Put", Bytes(1, "k"), kSampled, kErrNoSpace.Fail());
  Call("etcdserverpb.KV", "Put", "", kSampled, kErrEmptyKey.Fail());
  EXPECT_EQ(kept_.names(), "etcdserverpb.KV/Put etcdserverpb.KV/Put");
}

TEST_F(LiveCallTest, ProposalsWithoutASpanOfTheirOwnHaveEventsOnTheCalls) {
  Call("etcdserverpb.Auth", "UserAdd", "", kSampled, "");
  ASSERT_EQ(kept_.names(), "etcdserverpb.Auth/UserAdd");
  EXPECT_EQ(EventsOf(*kept_.spans[0]), "Send raft proposal;Receive raft result;");
}

TEST_F(LiveCallTest, AGrantTellsTheLeaseThatTheServerChose) {
  Call("etcdserverpb.Lease", "LeaseGrant", Number(1, 60), kSampled, Number(2, 77));
  ASSERT_EQ(kept_.names(), "lease_grant etcdserverpb.Lease/LeaseGrant");
  EXPECT_EQ(ValueOf(*kept_.spans[0], "id"), "77");
}

TEST_F(LiveCallTest, ACancelledCallEndsThen) {
  rpc::Router plain;
  std::optional<rpc::UnaryReply> kept_reply;
  plain.AddUnary("etcdserverpb.KV", "Put",
                 [&](const auto&, const SharedBytes&, rpc::UnaryReply reply) {
                   kept_reply = std::move(reply);
                 });
  const rpc::Router router = Traced(std::move(plain), tracer_, SpanOf);
  const rpc::Router::Method& method = *router.methods().front();
  const auto call = MakeCall(method.info, kSampled);
  method.unary(call, SharedBytes::Copy(Bytes(1, "k")),
               rpc::UnaryReply::ToFunction([](const Result<ByteChain>&) {}));
  EXPECT_EQ(kept_.names(), "");
  call->Cancel(kErrDeadlineExceeded.ToError());
  EXPECT_EQ(kept_.names(), "put etcdserverpb.KV/Put");
  EXPECT_EQ(ValueOf(*kept_.spans[1], "rpc.response.status_code"), "DEADLINE_EXCEEDED");
  EXPECT_TRUE(kept_.spans[1]->is_error);
  kept_reply->Send(SharedBytes::Copy("late"));
  EXPECT_EQ(kept_.spans.size(), 2U);
}

class StreamSpansTest : public LiveCallTest {
 protected:
  std::unique_ptr<LiveCall> Begin(std::string name) {
    info_.path = "/" + name;
    const auto call = MakeCall(info_, kSampled);
    return std::make_unique<LiveCall>(tracer_, *tracer_.Begin(*call), SpansOf(SpanOf(info_.path)),
                                      *call);
  }
  static std::string Create(std::string_view key) { return Bytes(1, Bytes(1, key)); }

  rpc::MethodInfo info_;
};

TEST_F(StreamSpansTest, AWatcherHasASpanUntilItIsCancelled) {
  const auto live = Begin("etcdserverpb.Watch/Watch");
  live->OnRequest(Create("a"));
  live->OnRequest(Create("refused"));
  live->OnRequest(Create("b"));
  live->OnAnswer(Number(3, 1));                                 // created, id 0
  live->OnAnswer(Number(2, -1) + Number(3, 1) + Number(4, 1));  // refused
  live->OnAnswer(Number(2, 1) + Number(3, 1));                  // created, id 1
  live->OnAnswer(Number(2, 1) + Bytes(11, "an event"));
  EXPECT_EQ(kept_.names(), "");
  live->OnAnswer(Number(4, 1));  // id 0 is cancelled
  ASSERT_EQ(kept_.names(), "watch");
  EXPECT_EQ(ValueOf(*kept_.spans[0], "key"), "a");
  live->End(kErrCanceled.ToError());
  ASSERT_EQ(kept_.names(), "watch watch etcdserverpb.Watch/Watch");
  EXPECT_EQ(ValueOf(*kept_.spans[1], "key"), "b");
  EXPECT_EQ(ValueOf(*kept_.spans[2], "rpc.response.status_code"), "CANCELLED");
}

TEST_F(StreamSpansTest, WatchersAreBounded) {
  const auto live = Begin("etcdserverpb.Watch/Watch");
  for (std::size_t i = 0; i < LiveCall::kMaxInner + 3; ++i) {
    live->OnRequest(Create("k"));
    live->OnAnswer(Number(2, static_cast<std::int64_t>(i)) + Number(3, 1));
  }
  EXPECT_EQ(kept_.dropped, 3);
  live->End({Code::kOk, {}});
  EXPECT_EQ(kept_.spans.size(), LiveCall::kMaxInner + 1);
}

TEST_F(StreamSpansTest, ARenewalHasASpanUntilItsAnswer) {
  const auto live = Begin("etcdserverpb.Lease/LeaseKeepAlive");
  live->OnRequest(Number(1, 5));
  live->OnRequest(Number(1, 6));
  live->OnAnswer(Number(2, 5));
  ASSERT_EQ(kept_.names(), "lease_renew");
  EXPECT_EQ(ValueOf(*kept_.spans[0], "id"), "5");
  live->End({Code::kOk, {}});
  EXPECT_EQ(kept_.names(), "lease_renew lease_renew etcdserverpb.Lease/LeaseKeepAlive");
}

// Messages with their prefixes, cut into slices of `size` bytes.
TEST(ForEachFramedTest, FindsMessagesWhereverTheSlicesAreCut) {
  std::string bytes;
  const std::vector<std::string> messages{"one", "", "three", std::string(300, 'x')};
  for (const std::string& message : messages) {
    bytes += {'\0', '\0', '\0', static_cast<char>(message.size() >> 8),
              static_cast<char>(message.size() & 0xff)};
    bytes += message;
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{4}, std::size_t{7}, bytes.size()}) {
    ByteChain chain;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      chain.push_back(SharedBytes::Copy(std::string_view(bytes).substr(at, size)));
    std::vector<std::string> found;
    ForEachFramed(chain, [&](std::string_view beginning) { found.emplace_back(beginning); });
    ASSERT_EQ(found.size(), messages.size()) << size;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(messages[i].starts_with(found[i]));
    if (size == bytes.size()) {
      EXPECT_EQ(found, messages);
    }
  }
}

}  // namespace
}  // namespace kvorum::server::tracing
