// The server seen by an independent peer: gRPC C++'s client.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// One blocking client over the generic stub.
class Client {
 public:
  explicit Client(const std::string& address, grpc::ChannelArguments arguments = {}) {
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = std::make_unique<grpc::GenericStub>(channel_);
  }

  struct Answer {
    grpc::Status status;
    std::string message;
  };

  Answer Call(const std::string& method, const std::string& request,
              grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    if (context == nullptr) context = &own;
    grpc::CompletionQueue queue;
    const auto reader =
        stub_->PrepareUnaryCall(context, "/test.Echo/" + method, ToBuffer(request), &queue);
    reader->StartCall();
    Answer answer;
    grpc::ByteBuffer response;
    reader->Finish(&response, &answer.status, this);
    Wait(queue);
    if (answer.status.ok()) answer.message = ToString(response);
    return answer;
  }

  // A stream, used by one thread, one step at a time.
  class Stream {
   public:
    Stream(grpc::GenericStub& stub, const std::string& method) {
      stream_ = stub.PrepareCall(&context, "/test.Echo/" + method, &queue_);
      stream_->StartCall(this);
      Client::Wait(queue_);
    }
    bool Write(const std::string& message) {
      stream_->Write(ToBuffer(message), this);
      return Client::Wait(queue_);
    }
    void WritesDone() {
      stream_->WritesDone(this);
      Client::Wait(queue_);
    }
    std::optional<std::string> Read() {
      grpc::ByteBuffer buffer;
      stream_->Read(&buffer, this);
      if (!Client::Wait(queue_)) return std::nullopt;
      return ToString(buffer);
    }
    grpc::Status Finish() {
      grpc::Status status;
      stream_->Finish(&status, this);
      Client::Wait(queue_);
      return status;
    }
    grpc::ClientContext context;

   private:
    grpc::CompletionQueue queue_;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  };

  std::unique_ptr<Stream> Open(const std::string& method) {
    return std::make_unique<Stream>(*stub_, method);
  }
  grpc::Channel& channel() { return *channel_; }
  grpc::GenericStub& stub() { return *stub_; }

  static bool Wait(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

void ExpectStatus(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(status.error_message(), text);
}

class GrpcTest : public testing::Test {
 protected:
  TestServer server_;
  Client client_{server_.address()};
};

TEST_F(GrpcTest, UnaryCallIsAnswered) {
  const auto answer = client_.Call("Unary", "hello");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.message, "hello");
}

TEST_F(GrpcTest, EmptyMessagesTravel) {
  const auto answer = client_.Call("Unary", "");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.message, "");
}

TEST_F(GrpcTest, AnswerMayComeFromAnotherThread) {
  for (int i = 0; i < 200; ++i) {
    const auto answer = client_.Call("Later", std::to_string(i));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    ASSERT_EQ(answer.message, std::to_string(i));
  }
}

TEST_F(GrpcTest, ErrorKeepsItsCodeAndText) {
  ExpectStatus(client_.Call("Fail", "5:etcdserver: no such thing").status,
               grpc::StatusCode::NOT_FOUND, "etcdserver: no such thing");
  ExpectStatus(client_.Call("Fail", "3:100% wrong\n\xc3\xa4").status,
               grpc::StatusCode::INVALID_ARGUMENT, "100% wrong\n\xc3\xa4");
  ExpectStatus(client_.Call("Fail", "16:").status, grpc::StatusCode::UNAUTHENTICATED, "");
}

TEST_F(GrpcTest, DroppedReplyIsAnInternalError) {
  ExpectStatus(client_.Call("Drop", "x").status, grpc::StatusCode::INTERNAL,
               "the handler ended without an answer");
}

TEST_F(GrpcTest, UnknownMethodsAreNamed) {
  ExpectStatus(client_.Call("Nothing", "x").status, grpc::StatusCode::UNIMPLEMENTED,
               "unknown method Nothing for service test.Echo");
}

TEST_F(GrpcTest, TooLargeRequestIsRefusedAndTheConnectionLives) {
  const std::size_t limit = Options{}.max_receive_message_bytes;
  EXPECT_EQ(client_.Call("Unary", std::string(limit, 'a')).message.size(), limit);
  ExpectStatus(client_.Call("Unary", std::string(limit + 1, 'a')).status,
               grpc::StatusCode::RESOURCE_EXHAUSTED,
               "grpc: received message larger than max (2097153 vs. 2097152)");
  EXPECT_TRUE(client_.Call("Unary", "still here").status.ok());
  EXPECT_EQ(server_.server().stats().accepted_connections, 1);
}

TEST_F(GrpcTest, LargeAnswersPassFlowControl) {
  for (const std::size_t size_bytes : {1UL, 4095UL, 4096UL, 16384UL, 65536UL, 30'000'000UL}) {
    const auto answer = client_.Call("Size", std::to_string(size_bytes));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.message, std::string(size_bytes, 's'));
  }
}

TEST_F(GrpcTest, MetadataReachesTheHandler) {
  grpc::ClientContext context;
  context.AddMetadata("token", "abc.7");
  context.AddMetadata("token", "second");
  context.AddMetadata("trace-bin", std::string("\x00\xff\x10", 3));
  context.AddMetadata("empty", "");
  const auto answer = client_.Call("Metadata", "", &context);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_THAT(answer.message, HasSubstr("token=abc.7\ntoken=second\n"));
  EXPECT_THAT(answer.message, HasSubstr(std::string("trace-bin=\x00\xff\x10\n", 14)));
  EXPECT_THAT(answer.message, HasSubstr("empty=\n"));
  EXPECT_THAT(answer.message, HasSubstr("user-agent=grpc-c++/"));
  EXPECT_THAT(answer.message, HasSubstr(":authority=127.0.0.1"));
  EXPECT_THAT(answer.message, testing::Not(HasSubstr("content-type")));
}

TEST_F(GrpcTest, MuchMetadataIsKept) {
  grpc::ClientContext context;
  for (int i = 0; i < 50; ++i)
    context.AddMetadata("name-" + std::to_string(i), std::string(100, 'v'));
  const std::string text = client_.Call("Metadata", "", &context).message;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(text.contains("name-" + std::to_string(i) + "=" + std::string(100, 'v') + "\n"));
  }
}

TEST_F(GrpcTest, DeadlineEndsACallThatIsNotAnswered) {
  // On a busy machine a call may time out before it reaches the server: then use a longer time-out.
  for (std::chrono::milliseconds timeout(50); server_.held == 0; timeout *= 2) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    EXPECT_EQ(client_.Call("Hold", "x", &context).status.error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == server_.held; }));
  EXPECT_TRUE(Eventually([&] { return server_.ended == server_.started; }));
  server_.Release();  // the late answer is dropped
  EXPECT_TRUE(client_.Call("Unary", "x").status.ok());
}

TEST_F(GrpcTest, ClientsCancelReachesTheHandler) {
  grpc::ClientContext context;
  auto answer = std::async(std::launch::async, [&] { return client_.Call("Hold", "x", &context); });
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  context.TryCancel();
  EXPECT_EQ(answer.get().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
  EXPECT_EQ(server_.last_end().code, Code::kCanceled);
}

TEST_F(GrpcTest, ServerStreamDeliversInOrderAndEnds) {
  auto stream = client_.Open("Expand");
  stream->Write("1000");
  stream->WritesDone();
  int count = 0;
  while (auto message = stream->Read()) {
    EXPECT_EQ(message->size(), 1000);
    ++count;
  }
  EXPECT_EQ(count, 1000);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_LE(server_.largest_buffered, 1005);
}

// A read's callback holds the stream, which holds the read.
TEST(StreamLifetimeTest, AHandlerThatGoesOnAfterTheServerKeepsNothingAlive) {
  std::promise<std::shared_ptr<ServerStream>> opened;
  Router router;
  router.AddStream(
      "test.Echo", "Chat", MethodKind::kBidiStream,
      [&](std::shared_ptr<ServerStream> stream) { opened.set_value(std::move(stream)); });
  Server server({}, std::move(router), HttpMux::ToHandler(HttpMux()));
  const std::string address = server.Listen("127.0.0.1", 0, {}).value();
  server.Start();
  std::shared_ptr<ServerStream> stream;
  {
    Client client(address);
    const auto call = client.Open("Chat");
    stream = opened.get_future().get();
    server.Shutdown(std::chrono::milliseconds(0));
    EXPECT_FALSE(call->Finish().ok());
  }
  bool called = false;
  stream->Read([stream, &called](const Result<std::optional<SharedBytes>>&) { called = true; });
  stream->Write({}, [stream, &called](const Result<void>&) { called = true; });
  const std::weak_ptr<ServerStream> left = stream;
  stream.reset();
  EXPECT_TRUE(left.expired());
  EXPECT_FALSE(called);
}

TEST_F(GrpcTest, ClientStreamIsSummedUp) {
  auto stream = client_.Open("Collect");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream->Write(std::string(10'000, 'c')));
  stream->WritesDone();
  EXPECT_EQ(stream->Read(), "1000000");
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcTest, BidiStreamAnswersEachMessage) {
  auto stream = client_.Open("Chat");
  for (int i = 0; i < 200; ++i) {
    const std::string message(static_cast<std::size_t>(i) * 500, 'm');
    ASSERT_TRUE(stream->Write(message));
    ASSERT_EQ(stream->Read(), message);
  }
  stream->WritesDone();
  EXPECT_EQ(stream->Read(), std::nullopt);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcTest, MessagesThatShareAWriteAreSeparate) {
  auto stream = client_.Open("Repeat");
  for (const std::string message : {"a", "bcd", ""}) {
    ASSERT_TRUE(stream->Write(message));
    EXPECT_EQ(stream->Read(), message);
    EXPECT_EQ(stream->Read(), message);
  }
}

TEST_F(GrpcTest, TheMessagesOfAStreamAreCountedWhileItRuns) {
  (void)client_.Call("Unary", "12345");
  EXPECT_EQ(server_.stream_reads, 0);
  auto stream = client_.Open("Repeat");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->Write("a"));
    EXPECT_EQ(stream->Read(), "a");
    EXPECT_EQ(stream->Read(), "a");
  }
  EXPECT_EQ(server_.stream_reads, 2);
  EXPECT_EQ(server_.stream_writes, 4);
  auto chat = client_.Open("Chat");
  ASSERT_TRUE(chat->Write("b"));
  EXPECT_EQ(chat->Read(), "b");
  EXPECT_EQ(server_.stream_reads, 3);
  EXPECT_EQ(server_.stream_writes, 5);
}

TEST_F(GrpcTest, AStreamThatIsCutHasItsStatusAndTellsItsHandler) {
  auto stream = client_.Open("Repeat");
  ASSERT_TRUE(stream->Write("a"));
  EXPECT_EQ(stream->Read(), "a");
  EXPECT_EQ(stream->Read(), "a");
  ASSERT_TRUE(stream->Write("cut"));
  EXPECT_EQ(stream->Read(), std::nullopt);
  ExpectStatus(stream->Finish(), grpc::StatusCode::UNAVAILABLE, "cut off");
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
}

TEST_F(GrpcTest, StreamRefusesATooLargeMessage) {
  auto stream = client_.Open("Chat");
  stream->Write(std::string(3 * 1024 * 1024, 'x'));
  EXPECT_EQ(stream->Read(), std::nullopt);
  ExpectStatus(stream->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED,
               "grpc: received message larger than max (3145728 vs. 2097152)");
}

TEST_F(GrpcTest, CancelledStreamTellsItsHandler) {
  auto stream = client_.Open("Chat");
  ASSERT_TRUE(stream->Write("x"));
  ASSERT_EQ(stream->Read(), "x");
  stream->context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
}

TEST_F(GrpcTest, AStalledStreamStallsNoOther) {
  auto stalled = client_.Open("Stall");
  // Past the stream's window the client is held back; nothing of it is read.
  auto writer = std::async(std::launch::async, [&] {
    for (int i = 0; i < 20; ++i) stalled->Write(std::string(100'000, 'w'));
  });
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(client_.Call("Unary", std::string(100'000, 'u')).status.ok());
  EXPECT_EQ(writer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_LT(server_.server().stats().received_bytes, 6'000'000);
  server_.Release();
  writer.get();
  stalled->WritesDone();
  EXPECT_EQ(stalled->Read(), "2000000");
  EXPECT_TRUE(stalled->Finish().ok());
}

TEST_F(GrpcTest, GzipRequestsAreUnpacked) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const std::string request(100'000, 'z');
  const auto answer = client_.Call("Unary", request, &context);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.message, request);
  EXPECT_LT(server_.server().stats().received_bytes, 5'000);
}

TEST_F(GrpcTest, GzipBombIsRefused) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  std::string bomb;
  bomb.resize(50'000'000, 'z');
  ExpectStatus(client_.Call("Unary", bomb, &context).status, grpc::StatusCode::RESOURCE_EXHAUSTED,
               "grpc: received message after decompression larger than max 2097152");
}

TEST_F(GrpcTest, UnknownCompressionIsNamed) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  ExpectStatus(client_.Call("Unary", std::string(1000, 'z'), &context).status,
               grpc::StatusCode::UNIMPLEMENTED,
               "grpc: Decompressor is not installed for grpc-encoding \"deflate\"");
}

TEST_F(GrpcTest, HooksSeeEachCallOnce) {
  (void)client_.Call("Unary", "12345");
  ASSERT_TRUE(Eventually([&] { return server_.ended == 1; }));
  EXPECT_EQ(server_.started, 1);
  const CallEnd end = server_.last_end();
  EXPECT_EQ(end.code, Code::kOk);
  EXPECT_EQ(end.received_messages, 1);
  EXPECT_EQ(end.received_bytes, 5);
  EXPECT_EQ(end.sent_bytes, 5);
  EXPECT_THAT(server_.last_peer(), testing::StartsWith("127.0.0.1:"));
  (void)client_.Call("Fail", "9:no");
  ASSERT_TRUE(Eventually([&] { return server_.ended == 2; }));
  EXPECT_EQ(server_.last_end().code, Code::kFailedPrecondition);
  EXPECT_EQ(server_.last_end().message, "no");
  EXPECT_GT(server_.batches, 0);
}

TEST_F(GrpcTest, HealthAnswersForTheWholeServer) {
  grpc::CompletionQueue queue;
  const auto call = [&](const std::string& method, const std::string& request) {
    grpc::ClientContext context;
    auto reader = client_.stub().PrepareUnaryCall(&context, "/grpc.health.v1.Health/" + method,
                                                  ToBuffer(request), &queue);
    reader->StartCall();
    Client::Answer answer;
    grpc::ByteBuffer response;
    reader->Finish(&response, &answer.status, &queue);
    Client::Wait(queue);
    if (answer.status.ok()) answer.message = ToString(response);
    return answer;
  };
  const auto check = [&](const std::string& request) { return call("Check", request); };
  const std::string list("\x0a\x06\x0a\x00\x12\x02", 6);  // one entry, of the empty name
  EXPECT_EQ(check("").message, "\x08\x02");
  EXPECT_EQ(call("List", "").message, list + "\x08\x02");
  server_.health().SetServing(true);
  EXPECT_EQ(check("").message, "\x08\x01");
  EXPECT_EQ(check(std::string("\x0a\x03xyz\x0a\x00\x10\x07", 9)).message, "\x08\x01");
  EXPECT_EQ(call("List", "").message, list + "\x08\x01");
  ExpectStatus(check("\x0a\x03xyz").status, grpc::StatusCode::NOT_FOUND, "unknown service");
  for (const char* method : {"Check", "List"}) {
    ExpectStatus(call(method, "\xff").status, grpc::StatusCode::INTERNAL,
                 "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data");
  }
  ExpectStatus(check("\x0a\x01\xff").status, grpc::StatusCode::INTERNAL,
               "grpc: error unmarshalling request: string field contains invalid UTF-8");

  grpc::ClientContext context;
  auto watch = client_.stub().PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue);
  watch->StartCall(&queue);
  Client::Wait(queue);
  watch->WriteLast(ToBuffer(""), {}, &queue);
  Client::Wait(queue);
  const auto read = [&] {
    grpc::ByteBuffer buffer;
    watch->Read(&buffer, &queue);
    return Client::Wait(queue) ? ToString(buffer) : "ended";
  };
  EXPECT_EQ(read(), "\x08\x01");
  server_.health().SetServing(true);  // no change, no message
  server_.health().SetServing(false);
  EXPECT_EQ(read(), "\x08\x02");
  context.TryCancel();
  grpc::Status status;
  watch->Finish(&status, &queue);
  Client::Wait(queue);
}

TEST_F(GrpcTest, ShutdownLetsCallsInFlightEnd) {
  auto answer = std::async(std::launch::async, [&] { return client_.Call("Hold", "last"); });
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_.Shutdown(std::chrono::seconds(10)); });
  EXPECT_TRUE(
      Eventually([&] { return !Client(server_.address()).Call("Unary", "too late").status.ok(); }));
  EXPECT_EQ(shutdown.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  server_.Release();
  const auto result = answer.get();
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.message, "last");
  shutdown.get();
}

TEST_F(GrpcTest, ShutdownCancelsWhatOutlastsItsGrace) {
  auto stream = client_.Open("Chat");
  ASSERT_TRUE(stream->Write("x"));
  ASSERT_EQ(stream->Read(), "x");
  const auto begin = std::chrono::steady_clock::now();
  server_.Shutdown(std::chrono::milliseconds(50));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(stream->Read(), std::nullopt);
  ExpectStatus(stream->Finish(), grpc::StatusCode::UNAVAILABLE, "etcdserver: server stopped");
  EXPECT_EQ(server_.cancelled, 1);
}

TEST(GrpcServerTest, ManyClientsOnSeveralLoops) {
  Options options;
  options.loops = 3;
  TestServer server(options);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Client client(server.address());
      for (int j = 0; j < 100; ++j) {
        const std::string text = std::to_string(i * 1000 + j);
        const auto answer = client.Call(j % 2 == 0 ? "Unary" : "Later", text);
        if (answer.status.ok() && answer.message == text) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 600);
}

// Heavy use by an unmodified client (its windows grow by BDP pings, and it gives them back
// often) stays below a tenth of the frames that are allowed.
TEST(GrpcServerTest, AClientSendsATenthOfTheFramesThatItMay) {
  Options options;
  options.frame_burst /= 10;
  options.frames_per_second /= 10;
  options.frames_per_message /= 10;
  options.frames_per_kib /= 10;
  TestServer server(options);
  Client client(server.address());
  auto chat = client.Open("Chat");
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(chat->Write("w"));
    ASSERT_EQ(chat->Read(), "w") << i;
  }
  auto events = client.Open("Expand");
  ASSERT_TRUE(events->Write("20000"));
  events->WritesDone();
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(events->Read()) << i;
  EXPECT_TRUE(events->Finish().ok());
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(client.Call("Size", "30000000").message.size(), 30'000'000) << i;
  for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(client.Call("Unary", "u").status.ok()) << i;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(client.Call("Unary", std::string(2'000'000, 'u')).status.ok()) << i;
  EXPECT_EQ(server.server().stats().accepted_connections, 1) << "it was cut off, and came back";
}

TEST(GrpcServerTest, ConcurrentStreamsAreLimited) {
  Options options;
  options.max_concurrent_streams = 2;
  TestServer server(options);
  Client client(server.address());
  std::vector<std::future<Client::Answer>> answers;
  for (int i = 0; i < 12; ++i) {
    answers.push_back(std::async(std::launch::async, [&] { return client.Call("Hold", "h"); }));
  }
  for (int held = 2; held <= 12; held += 2) {
    EXPECT_TRUE(Eventually([&] { return server.held == held; }));
    server.ReleaseHeld();
  }
  server.Release();
  EXPECT_EQ(server.most_held, 2U);
  for (auto& answer : answers) EXPECT_TRUE(answer.get().status.ok());
}

TEST(GrpcServerTest, UnixSocketServes) {
  Options options;
  TestServer server(options);
  const std::string path = testing::TempDir() + "/rpc_test.sock";
  ASSERT_TRUE(server.server().ListenUnix(path).has_value());
  Client client("unix:" + path);
  EXPECT_EQ(client.Call("Unary", "u").message, "u");
  EXPECT_TRUE(Eventually([&] { return server.last_peer() == "@"; }));
}

TEST(GrpcServerTest, AnswersAfterTheServerAreDropped) {
  std::optional<UnaryReply> kept;
  std::atomic<bool> held{false};
  {
    Router router;
    router.AddUnary("test.Echo", "Keep",
                    [&](const std::shared_ptr<CallContext>&, const SharedBytes&, UnaryReply reply) {
                      kept.emplace(std::move(reply));
                      held = true;
                    });
    Server server({}, std::move(router), HttpMux::ToHandler({}));
    auto address = server.Listen("localhost", 0);
    ASSERT_TRUE(address.has_value());
    server.Start();
    Client client(*address);
    auto answer = std::async(std::launch::async, [&] { return client.Call("Keep", "x"); });
    ASSERT_TRUE(Eventually([&] { return held.load(); }));
    server.Shutdown(std::chrono::milliseconds(0));
    EXPECT_EQ(answer.get().status.error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  kept->Send(SharedBytes::Static("too late"));
}

}  // namespace
}  // namespace kvorum::rpc
