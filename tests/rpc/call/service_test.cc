// The objects that handlers hold, without any transport.
#include "rpc/call/service.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "rpc/http/http.h"

namespace kvorum::rpc {
namespace {

TEST(RouterTest, FindsExactPaths) {
  Router router;
  const auto nothing = [](const std::shared_ptr<CallContext>&, const SharedBytes&, UnaryReply) {};
  EXPECT_EQ(router.AddUnary("a.B", "C", nothing), 0);
  EXPECT_EQ(router.AddUnary("a.B", "D", nothing), 1);
  EXPECT_EQ(router.AddStream("a.E", "F", MethodKind::kBidiStream,
                             [](const std::shared_ptr<ServerStream>&) {}),
            2);
  EXPECT_EQ(router.Find("/a.B/D")->info.index, 1);
  EXPECT_EQ(router.Find("/a.E/F")->info.kind, MethodKind::kBidiStream);
  EXPECT_EQ(router.Find("a.B/D"), nullptr);
  EXPECT_EQ(router.Find("/a.B/d"), nullptr);
  EXPECT_EQ(router.MissingMethod("/a.B/X").message, "unknown method X for service a.B");
  EXPECT_EQ(router.MissingMethod("/x.Y/Z").message, "unknown service x.Y");
  EXPECT_EQ(router.MissingMethod("a.B/C").message, "malformed method name: \"a.B/C\"");
}

TEST(UnaryReplyTest, IsGivenOnce) {
  std::optional<Result<ByteChain>> got;
  const auto reply = [&] {
    return UnaryReply::ToFunction([&](Result<ByteChain> answer) { got = std::move(answer); });
  };
  reply().Send(SharedBytes::Static("one"));
  EXPECT_EQ(Join(**got), "one");
  reply().Send(ByteChain{SharedBytes::Static("t"), SharedBytes::Static("wo")});
  EXPECT_EQ(Join(**got), "two");
  reply().Send(SharedBytes());
  EXPECT_EQ(Join(**got), "");
  reply()(Fail(Code::kNotFound, "three"));
  EXPECT_EQ(got->error(), (Error{Code::kNotFound, "three"}));
  {
    const UnaryReply dropped = reply();
  }
  EXPECT_EQ(got->error().code, Code::kInternal);
  UnaryReply moved = reply();
  UnaryReply target = std::move(moved);
  EXPECT_FALSE(static_cast<bool>(moved));  // NOLINT(bugprone-use-after-move)
  target.Send(SharedBytes::Static("four"));
  EXPECT_EQ(Join(**got), "four");
}

TEST(CallContextTest, KeepsMetadataInOrder) {
  CallContext context;
  for (int i = 0; i < 30; ++i) {
    std::string name = "n";
    context.AddMetadata(name.append(std::to_string(i % 10)),
                        std::string(static_cast<std::size_t>(i) * 10, 'v'));
  }
  EXPECT_EQ(context.Metadata("n3")->size(), 30);
  EXPECT_EQ(context.Metadata("x"), std::nullopt);
  std::vector<std::string_view> values;
  int count = 0;
  context.ForEachMetadata([&](std::string_view name, std::string_view value) {
    ++count;
    if (name == "n3") values.push_back(value);
  });
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[2], std::string(230, 'v'));
  EXPECT_EQ(count, 30);
}

TEST(CallContextTest, CancelRunsItsCallbacksOnce) {
  CallContext context;
  std::vector<std::string> reasons;
  const auto note = [&](const Error& reason) { reasons.push_back(reason.message); };
  context.OnCancel(note);
  context.OnCancel(note);
  EXPECT_FALSE(context.cancelled());
  EXPECT_EQ(context.cancel_reason(), Error{});
  context.Cancel({Code::kCanceled, "gone"});
  context.Cancel({Code::kCanceled, "again"});
  context.Done();
  EXPECT_TRUE(context.cancelled());
  EXPECT_EQ(context.cancel_reason().message, "gone");
  context.OnCancel(note);  // at once
  EXPECT_EQ(reasons, (std::vector<std::string>{"gone", "gone", "gone"}));
}

TEST(CallContextTest, DoneDropsTheCallbacks) {
  CallContext context;
  const auto token = std::make_shared<int>();
  context.OnCancel([token](const Error&) { FAIL(); });
  EXPECT_EQ(token.use_count(), 2);
  context.Done();
  EXPECT_EQ(token.use_count(), 1);
  context.Cancel({Code::kCanceled, "late"});
  EXPECT_FALSE(context.cancelled());
  context.OnCancel([](const Error&) { FAIL(); });
}

TEST(HttpMuxTest, LongestPrefixWins) {
  HttpMux mux;
  const auto answer = [](std::string text) {
    return
        [text](const HttpRequest&, HttpReply reply) { reply.Send(HttpResponse::Text(200, text)); };
  };
  mux.Handle("/a/b", answer("exact"));
  mux.HandlePrefix("/a/", answer("a"));
  mux.HandlePrefix("/a/b/", answer("ab"));
  struct Sink final : HttpSink {
    void Complete(HttpResponse response) override { got = Join(response.body); }
    std::string got;
  };
  const auto ask = [&](const std::string& target) {
    const auto sink = std::make_shared<Sink>();
    HttpRequest request;
    request.target = target;
    mux.Serve(std::move(request), HttpReply(sink));
    return sink->got;
  };
  EXPECT_EQ(ask("/a/b?x=/y"), "exact");
  EXPECT_EQ(ask("/a/c"), "a");
  EXPECT_EQ(ask("/a/b/c"), "ab");
  EXPECT_EQ(ask("/b"), "404 page not found\n");
}

}  // namespace
}  // namespace kvorum::rpc
