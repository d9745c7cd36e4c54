// The gateway over a small member: an HTTP request goes in, and the lanes run until it is answered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/http/http_input.h"
#include "server/gateway/gateway.h"
#include "tests/server/served_member.h"

namespace kvorum::server::gateway {

// A client that keeps what it gets, and may leave. Its body takes what is written as soon as the
// lanes run, unless it stops reading.
class KeptAnswer final : public rpc::HttpSink,
                         public rpc::HttpBody,
                         public std::enable_shared_from_this<KeptAnswer> {
 public:
  explicit KeptAnswer(Executor& io) : io_(io) {}

  void Complete(rpc::HttpResponse answer) override {
    head = std::move(answer);
    body = Join(head->body);
    ended = true;
  }
  std::shared_ptr<rpc::HttpBody> Begin(rpc::HttpResponse begun) override {
    head = std::move(begun);
    return shared_from_this();
  }
  void OnGone(std::move_only_function<void()> callback) override { gone_ = std::move(callback); }
  void Write(ByteChain bytes, Written written) override {
    KV_CHECK(written_ == nullptr, "one write at a time");
    body += Join(bytes);
    written_ = std::move(written);
    if (reads) Take();
  }
  void End() override { ended = true; }
  void Hold(std::size_t bytes) override {
    held = bytes;
    most_held = std::max(most_held, bytes);
  }

  // The client's side.
  void Leave() {
    if (gone_ != nullptr) std::exchange(gone_, nullptr)();
  }
  void Take() {
    io_.Post([self = shared_from_this()] {
      if (self->written_ != nullptr) std::exchange(self->written_, nullptr)({});
    });
  }
  std::string HeaderOf(std::string_view name) const {
    for (const rpc::HttpHeader& header : head->headers)
      if (header.name == name) return header.value;
    return "";
  }

  std::optional<rpc::HttpResponse> head;
  std::string body;
  bool ended = false;
  bool reads = true;
  std::size_t held = 0;  // of the request, by the gateway
  std::size_t most_held = 0;

 private:
  Executor& io_;
  std::move_only_function<void()> gone_;
  Written written_;
};

// A body that the test sends on while its request is served.
class SentOn final : public rpc::HttpInput {
 public:
  explicit SentOn(Executor& io) : io_(io) {}

  void Read(Arrived arrived) override {
    KV_CHECK(arrived_ == nullptr, "one read at a time");
    arrived_ = std::move(arrived);
  }
  // Needs a Read that waits; empty bytes are the end.
  void Send(Result<std::string> bytes) {
    KV_CHECK(arrived_ != nullptr, "nobody reads");
    io_.Post([arrived = std::exchange(arrived_, nullptr), bytes = std::move(bytes)]() mutable {
      arrived(std::move(bytes));
    });
  }
  bool is_read() const { return arrived_ != nullptr; }

 private:
  Executor& io_;
  Arrived arrived_;
};

class GatewayTest : public testing::Test {
 protected:
  static constexpr std::size_t kMaxMessageBytes = 2'000;

  void SetUp() override {
    ASSERT_TRUE(served_.Start().has_value());
    gateway_.emplace(
        GatewayParts{.reads = &served_.parts().reads,
                     .router = [this]() -> const rpc::Router& { return served_.router(); },
                     .max_message_bytes = kMaxMessageBytes,
                     .certificates_name_users = true});
    gateway_->AddRoutes(mux_);
  }

  rpc::HttpRequest Post(std::string path, std::string body) const {
    rpc::HttpRequest request;
    request.method = "POST";
    request.target = std::move(path);
    request.body = SharedBytes::Own(std::move(body));
    return request;
  }
  // The same with a body that is still to come.
  rpc::HttpRequest PostOpen(std::string path, std::shared_ptr<SentOn> body) const {
    rpc::HttpRequest request = Post(std::move(path), "");
    request.input = std::move(body);
    return request;
  }
  std::shared_ptr<KeptAnswer> Send(rpc::HttpRequest request) {
    auto answer = std::make_shared<KeptAnswer>(served_.lanes().io());
    mux_.Serve(std::move(request), rpc::HttpReply(answer));
    return answer;
  }
  std::shared_ptr<KeptAnswer> Ask(rpc::HttpRequest request) {
    auto answer = Send(std::move(request));
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return answer->ended; }));
    return answer;
  }
  // "200 {...}"
  std::string Outcome(rpc::HttpRequest request) {
    const auto answer = Ask(std::move(request));
    return std::to_string(answer->head->status) + " " + answer->body;
  }
  std::string Outcome(std::string path, std::string body) {
    return Outcome(Post(std::move(path), std::move(body)));
  }
  // The same without the ids in its header.
  std::string Plain(std::string path, std::string body) {
    return WithoutHeader(Outcome(std::move(path), std::move(body)));
  }
  static std::string WithoutHeader(std::string outcome) {
    const std::size_t start = outcome.find("\"header\":{");
    if (start == std::string::npos) return outcome;
    std::size_t end = outcome.find('}', start) + 1;
    while (end < outcome.size() && (outcome[end] == ',' || outcome[end] == ' ')) ++end;
    return WithoutHeader(outcome.erase(start, end - start));
  }

  ServedMember served_;
  std::optional<Gateway> gateway_;
  rpc::HttpMux mux_;
};

}  // namespace kvorum::server::gateway
