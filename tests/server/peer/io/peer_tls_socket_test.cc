// TLS over a connection that is a queue in memory: the records written, the ends of a connection,
// and that no callback comes from within the call that requested it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/peer/io/tls_handshakes.h"
#include "server/peer/io/tls_socket.h"
#include "tests/server/peer/peer_certificates.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kRecordOverhead = 22;  // header, tag and type in TLS 1.3

// One direction of a connection.
struct Queue {
  std::deque<std::string> bytes;
  std::function<void()> wake;
  bool is_closed = false;
  std::size_t room_bytes = 0;  // for the reader
};

class QueueSocket final : public PeerSocket {
 public:
  QueueSocket(PeerLoop& loop, std::shared_ptr<Queue> in, std::shared_ptr<Queue> out)
      : loop_(loop), in_(std::move(in)), out_(std::move(out)) {}
  ~QueueSocket() override { QueueSocket::Close(); }

  void Read(std::span<char> buffer, Done done) override {
    reader_ = {buffer, std::move(done)};
    in_->room_bytes = buffer.size();
    in_->wake = [this] { loop_.Post([alive = alive_, this] { *alive ? Give() : void(); }); };
    in_->wake();
  }
  void Write(ByteChain chain, Done done) override {
    const std::size_t size_bytes = SizeBytes(chain);
    sizes.push_back(size_bytes);
    out_->bytes.push_back(kvorum::Join(chain));
    if (out_->wake != nullptr) out_->wake();
    loop_.Post([done = std::move(done), size_bytes]() mutable { done(size_bytes); });
  }
  void Close() override {
    if (!std::exchange(*alive_, false)) return;
    in_->wake = nullptr;
    CloseWriting();
    if (auto reader = std::exchange(reader_, std::nullopt); reader.has_value())
      loop_.Post([done = std::move(reader->second)]() mutable {
        done(Fail(Code::kUnavailable, "closed"));
      });
  }
  void SetPatience(Duration) override {}
  void CloseWriting() override {
    out_->is_closed = true;
    if (out_->wake != nullptr) out_->wake();
  }
  std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) override {
    return std::make_unique<QueueSocket>(loop, in_, out_);
  }
  std::string PeerAddress() const override { return "queue"; }

  // Merges the waiting pieces, so that they are read at once.
  void Merge() {
    std::string all;
    for (const std::string& bytes : std::exchange(in_->bytes, {})) all += bytes;
    in_->bytes.push_back(std::move(all));
  }
  // The last bit of what waits to be read.
  void Flip() { in_->bytes.back().back() ^= 1; }

  std::vector<std::size_t> sizes;  // of each write

 private:
  void Give() {
    if (!reader_.has_value() || (in_->bytes.empty() && !in_->is_closed)) return;
    auto [buffer, done] = *std::exchange(reader_, std::nullopt);
    if (in_->bytes.empty()) return done(Fail(Code::kUnavailable, std::string(kEndOfStream)));
    std::string& front = in_->bytes.front();
    const std::size_t taken = front.copy(buffer.data(), buffer.size());
    front.erase(0, taken);
    if (front.empty()) in_->bytes.pop_front();
    done(taken);
  }

  PeerLoop& loop_;
  const std::shared_ptr<Queue> in_;
  const std::shared_ptr<Queue> out_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<std::pair<std::span<char>, Done>> reader_;
};

class TlsSocketTest : public testing::Test {
 protected:
  TlsSocketTest() { Connect(MutualTls().Files(), MutualTls().Files()); }
  ~TlsSocketTest() override {
    client_.reset();
    server_.reset();
    Run();
  }

  void Connect(const rpc::TlsOptions& server, const rpc::TlsOptions& client) {
    const auto to_server = std::make_shared<Queue>();
    const auto to_client = std::make_shared<Queue>();
    to_client_ = to_client;
    auto server_end = std::make_unique<QueueSocket>(loop_, to_server, to_client);
    auto client_end = std::make_unique<QueueSocket>(loop_, to_client, to_server);
    wire_ = server_end.get();
    client_wire_ = client_end.get();
    server_ = std::make_unique<TlsSocket>(loop_, std::move(server_end),
                                          PeerCertificates::Peer(server).context->NewServer());
    client_ =
        std::make_unique<TlsSocket>(loop_, std::move(client_end),
                                    PeerCertificates::Peer(client).context->NewClient("127.0.0.1"));
  }
  void Run() {
    loop_.context().restart();
    loop_.context().poll();
  }
  void Shake() {
    int shaken = 0;
    for (TlsSocket* end : {client_.get(), server_.get()}) {
      end->Handshake([&](const Result<void>& outcome) {
        EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
        ++shaken;
      });
    }
    EXPECT_EQ(shaken, 0);
    Run();
    ASSERT_EQ(shaken, 2);
    wire_->sizes.clear();
  }
  // Everything that the client reads until the connection ends or nothing more comes.
  std::string ReadAll() {
    std::string all;
    std::array<char, 100'000> buffer{};
    std::move_only_function<void()> next = [&] {
      client_->Read(buffer, [&](Result<std::size_t> bytes) {
        if (!bytes.has_value()) {
          end_ = bytes.error().message;
          return;
        }
        all.append(buffer.data(), *bytes);
        next();
      });
    };
    next();
    Run();
    if (end_.empty()) {
      client_->Close();
      Run();
    }
    return all;
  }

  PeerLoop loop_{"test"};
  std::unique_ptr<TlsSocket> server_;
  std::unique_ptr<TlsSocket> client_;
  QueueSocket* wire_ = nullptr;         // written by the server's end
  QueueSocket* client_wire_ = nullptr;  // and the client's
  std::shared_ptr<Queue> to_client_;
  std::string end_;
};

TEST_F(TlsSocketTest, SmallPiecesShareARecordAndAWrite) {
  Shake();
  ByteChain chain;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    expected += std::to_string(i);
    chain.push_back(SharedBytes::Own(std::to_string(i)));
    chain.emplace_back();
  }
  std::optional<std::size_t> written;
  server_->Write(std::move(chain), [&](const Result<std::size_t>& bytes) { written = *bytes; });
  EXPECT_FALSE(written.has_value());
  Run();
  EXPECT_EQ(written, expected.size());
  EXPECT_THAT(wire_->sizes, testing::ElementsAre(expected.size() + kRecordOverhead));
  EXPECT_EQ(ReadAll(), expected);
}

TEST_F(TlsSocketTest, ALongChainGoesOutInFullRecordsSomeAtATime) {
  Shake();
  ByteChain chain;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    std::string piece(static_cast<std::size_t>(i) * 3'001, static_cast<char>('a' + i % 26));
    expected += piece;
    chain.push_back(SharedBytes::Own(std::move(piece)));
  }
  std::optional<std::size_t> written;
  server_->Write(std::move(chain), [&](const Result<std::size_t>& bytes) { written = *bytes; });
  Run();
  EXPECT_EQ(written, expected.size());
  std::size_t on_wire = 0;
  for (const std::size_t size : wire_->sizes) {
    EXPECT_LE(size, 300'000);
    on_wire += size;
  }
  EXPECT_LE(wire_->sizes.size(), expected.size() / 250'000 + 2);
  // A record is shorter than it could be only where a large piece ends.
  EXPECT_LE(on_wire, expected.size() + kRecordOverhead * (expected.size() / 16'384 + 41));
  EXPECT_EQ(ReadAll(), expected);
}

TEST_F(TlsSocketTest, NothingIsWrittenForNothing) {
  Shake();
  bool done = false;
  server_->Write({}, [&](const Result<std::size_t>& bytes) { done = *bytes == 0; });
  EXPECT_FALSE(done);
  Run();
  EXPECT_TRUE(done);
  EXPECT_TRUE(wire_->sizes.empty());
}

TEST_F(TlsSocketTest, AnAnnouncedEndIsTheEndAndReadingGoesOnTheOtherWay) {
  Shake();
  server_->Write({SharedBytes::Static("last words")}, [](const Result<std::size_t>&) {});
  Run();
  server_->CloseWriting();
  Run();
  EXPECT_EQ(ReadAll(), "last words");
  EXPECT_EQ(end_, "End of file");
}

TEST_F(TlsSocketTest, AnEndThatWasNotAnnouncedIsAnError) {
  Shake();
  wire_->CloseWriting();
  EXPECT_EQ(ReadAll(), "");
  EXPECT_EQ(end_, kEndUnannounced);
}

TEST_F(TlsSocketTest, AWriteIsToldOfThoughTheOtherSideHasEndedMeanwhile) {
  Shake();
  client_->Write({SharedBytes::Static("question")}, [](const Result<std::size_t>&) {});
  Run();
  client_->CloseWriting();
  Run();
  wire_->Merge();
  std::array<char, 100> buffer{};
  std::size_t got = 0;
  bool told = false;
  server_->Read(buffer, [&](const Result<std::size_t>& bytes) { got = *bytes; });
  server_->Write({SharedBytes::Own(std::string(1'000'000, 'x'))},
                 [&](const Result<std::size_t>&) { told = true; });
  Run();
  EXPECT_EQ(got, 8);
  EXPECT_TRUE(told);
}

TEST_F(TlsSocketTest, WithoutMemoryForItThereIsNoHandshake) {
  TlsHandshakes handshakes(loop_, {.timeout = std::chrono::seconds(1), .check = nullptr});
  std::string error;
  handshakes.Begin(
      std::make_unique<QueueSocket>(loop_, std::make_shared<Queue>(), std::make_shared<Queue>()),
      nullptr,
      [&](const Result<std::unique_ptr<TlsSocket>>& socket) { error = socket.error().message; });
  EXPECT_EQ(error, "TLS handshake: out of memory");
}

TEST_F(TlsSocketTest, BytesThatWereChangedEndTheConnection) {
  Shake();
  server_->Write({SharedBytes::Static("hello")}, [](const Result<std::size_t>&) {});
  Run();
  client_wire_->Flip();
  EXPECT_EQ(ReadAll(), "");
  EXPECT_THAT(end_, testing::HasSubstr("tls: "));
}

TEST_F(TlsSocketTest, AMovedSocketGoesOnWithWhatHadArrived) {
  int shaken = 0;
  client_->Handshake([&](const Result<void>& outcome) { shaken += outcome.has_value() ? 1 : 0; });
  // The client's last flight and its first bytes arrive as one.
  server_->Handshake([&](const Result<void>& outcome) { shaken += outcome.has_value() ? 1 : 0; });
  Run();
  ASSERT_EQ(shaken, 2);
  EXPECT_LE(to_client_->room_bytes, 4096) << "nothing is proved yet";
  auto moved = client_->MoveTo(loop_);
  client_.reset(static_cast<TlsSocket*>(moved.release()));
  server_->Write({SharedBytes::Static("to whoever it is now")}, [](const Result<std::size_t>&) {});
  Run();
  EXPECT_EQ(ReadAll(), "to whoever it is now");
  EXPECT_GE(to_client_->room_bytes, 65'536);
}

TEST_F(TlsSocketTest, WhatIsOutstandingFailsWhenTheSocketIsClosed) {
  Shake();
  std::array<char, 10> buffer{};
  std::string error;
  client_->Read(buffer, [&](const Result<std::size_t>& bytes) { error = bytes.error().message; });
  client_->Close();
  EXPECT_EQ(error, "");
  Run();
  EXPECT_EQ(error, "Operation canceled");
  error.clear();
  client_->Write({SharedBytes::Static("x")},
                 [&](const Result<std::size_t>& bytes) { error = bytes.error().message; });
  Run();
  EXPECT_EQ(error, "Operation canceled");
}

TEST_F(TlsSocketTest, BothEndsHearOfAHandshakeThatFails) {
  TestAuthority stranger("ca");
  Connect(MutualTls().Files(),
          MutualTls().Files("stranger", stranger.Issue(PeerCertificates::Subject())));
  std::string server_error;
  server_->Handshake([&](const Result<void>& outcome) { server_error = outcome.error().message; });
  client_->Handshake([](const Result<void>&) {});
  Run();
  EXPECT_THAT(server_error, testing::HasSubstr("certificate"));
  ReadAll();
  EXPECT_THAT(end_, testing::HasSubstr("tls: "));
}

}  // namespace
}  // namespace kvorum::server
