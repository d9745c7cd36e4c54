#include "server/peer/streams/snapshot_sender.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/pace.h"
#include "rpc/http/http1_parser.h"
#include "server/peer/codec/stream_codec.h"
#include "server/peer/io/http_answer.h"
#include "server/peer/io/peer_socket.h"

namespace kvorum::server {
namespace {

// The time for a chunk to be read, or for a part of what comes before it, and to be sent: the peer
// takes nothing while its disk syncs what came before.
constexpr Duration kChunkTimeout = std::chrono::seconds(30);
// The time for the peer to check the whole snapshot and to sync it.
constexpr Duration kFinishTimeout = std::chrono::minutes(10);
// The interval at which the source is asked whether its reader may stay, during any wait.
constexpr Duration kLook = std::chrono::milliseconds(250);
// A piece is written at once, and the pace pauses after it: with the least rate, of 1 MiB a second,
// for less than the five seconds after which etcd closes a connection that brings nothing.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

SharedBytes ChunkHead(std::size_t size_bytes) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size_bytes, 16).ptr;
  return SharedBytes::Own(std::string(digits.data(), end) + "\r\n");
}

}  // namespace

class SnapshotSender::Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  Transfer(PeerLinks& links, PeerUrls& urls, raft::Message message,
           std::unique_ptr<mvcc::SnapshotSource> source, Done done)
      : links_(links),
        urls_(&urls),
        message_(std::move(message)),
        source_(std::make_shared<Source>(std::move(source))),
        done_(std::move(done)),
        url_(urls.current()),
        timer_(links.loop),
        look_timer_(links.loop),
        client_(links.dialer),
        pace_(links.options.snapshot_bytes_per_second),
        parser_(rpc::Http1Parser::Kind::kResponse, kMaxAnswerHeadBytes) {}

  // Members of ours state a format in each answer. A peer that states none is etcd's.
  void AskForFormat() {
    client_.Ask(
        url_,
        {SharedBytes::Own(RequestHead(links_.identity, "GET", HostOf(url_), kProbingPath, ""))},
        links_.options.answer_timeout, [this](const Result<HttpReceived>& answer) {
          if (!answer.has_value()) return End(std::unexpected(answer.error()));
          const std::string_view format = answer->head.Header("x-kvorum-snapshot-format");
          if (!format.empty() && format != kSnapshotFormat) {
            return End(Fail(Code::kUnimplemented,
                            "the peer does not take snapshots of this server's format"));
          }
          Choose(format.empty() ? mvcc::SnapshotFormat::kEtcd : mvcc::SnapshotFormat::kOwn);
        });
  }

  // Ends without a call of `done`.
  void Abandon() {
    done_ = nullptr;
    Release();
  }

 private:
  using Source = std::unique_ptr<mvcc::SnapshotSource>;  // used on the disk executor

  void Choose(mvcc::SnapshotFormat format) {
    is_own_format_ = format == mvcc::SnapshotFormat::kOwn;
    if (is_own_format_) {
      // Only etcd's members want more of the message than its place in the log.
      message_.snapshot = std::make_shared<const raft::Snapshot>(
          raft::Snapshot{.data = {}, .metadata = message_.snapshot->metadata});
    }
    OnDisk([format](mvcc::SnapshotSource& source) { return source.Use(format); },
           [](Transfer& self, const Result<void>& chosen) {
             if (!chosen.has_value()) return self.End(std::unexpected(chosen.error()));
             self.LookAtSource();
             self.Prepare();
           });
  }

  // Before the connection, since etcd closes one that brings nothing for five seconds. A part at a
  // time: other transfers use the disk executor, too.
  void Prepare() {
    OnDisk([](mvcc::SnapshotSource& source) { return source.Prepare(); },
           [](Transfer& self, const Result<bool>& is_prepared) {
             if (!is_prepared.has_value()) return self.End(std::unexpected(is_prepared.error()));
             if (!*is_prepared) return self.Prepare();
             self.timer_.Disarm();
             self.Connect();
           });
  }

  // Calls work(source) on the disk executor, then then(*this, its result) on the loop, unless the
  // transfer has ended.
  template <class Work, class Then>
  void OnDisk(Work work, Then then) {
    timer_.Arm(kChunkTimeout,
               [this] { End(Fail(Code::kUnavailable, "reading the backend stalled")); });
    PostToDisk(work, then);
  }
  template <class Work, class Then>
  void PostToDisk(Work work, Then then) {
    links_.disk.Post([weak = weak_from_this(), source = source_, work, then, &loop = links_.loop] {
      auto result = work(**source);
      loop.Post([weak, then, result = std::move(result)]() mutable {
        const auto self = weak.lock();
        if (self != nullptr && self->urls_ != nullptr) then(*self, std::move(result));
      });
    });
  }

  void LookAtSource() {
    look_timer_.Arm(kLook, [this] {
      PostToDisk([](mvcc::SnapshotSource& source) { return source.Look(); },
                 [](Transfer& self, const Result<void>& looked) {
                   if (!looked.has_value()) return self.End(std::unexpected(looked.error()));
                   self.LookAtSource();
                 });
    });
  }

  void Connect() {
    links_.dialer.Dial(url_, links_.options.dial_timeout,
                       [self = shared_from_this()](Result<std::unique_ptr<PeerSocket>> socket) {
                         if (self->urls_ == nullptr) return;
                         if (!socket.has_value()) return self->End(std::unexpected(socket.error()));
                         self->socket_ = *std::move(socket);
                         self->socket_->SetPatience(kChunkTimeout);
                         self->Begin();
                       });
  }

  void Begin() {
    std::string lines = "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n";
    if (is_own_format_)
      lines.append(kSnapshotFormatHeader).append(": ").append(kSnapshotFormat).append("\r\n");
    ChainWriter frame;
    EncodeMessageFrame(message_, frame);
    ByteChain chain = {
        SharedBytes::Own(RequestHead(links_.identity, "POST", HostOf(url_), kSnapshotPath, lines))};
    AppendChunk(chain, frame.Take());
    Write(std::move(chain));
    ReadAnswer();
  }

  static void AppendChunk(ByteChain& out, ByteChain pieces) {
    out.push_back(ChunkHead(SizeBytes(pieces)));
    for (SharedBytes& piece : pieces) out.push_back(std::move(piece));
    out.push_back(SharedBytes::Static("\r\n"));
  }

  void Write(ByteChain chain) {
    timer_.Arm(kChunkTimeout, [this] { End(Fail(Code::kUnavailable, "the transfer stalled")); });
    socket_->Write(std::move(chain), [self = shared_from_this()](const Result<std::size_t>& sent) {
      if (self->urls_ == nullptr) return;
      // An answer that came meanwhile is more specific than the broken connection.
      if (!sent.has_value()) return self->EndSoon(sent.error());
      self->sent_bytes_ += *sent;
      self->GoOnAt(self->pace_.After(self->began_, *sent));
    });
  }

  void GoOnAt(TimePoint at) {
    const TimePoint now = links_.loop.clock().Now();
    if (at <= now) return GoOn();
    timer_.Arm(at - now, [this] { GoOn(); });
  }

  void GoOn() {
    if (unsent_.empty()) return ReadSource();
    began_ = links_.loop.clock().Now();
    WritePiece();
  }

  void WritePiece() {
    const std::size_t size = std::min(kPieceBytes, unsent_.size());
    ByteChain chain;
    AppendChunk(chain, {unsent_.Slice(0, size)});
    unsent_ = unsent_.Slice(size, unsent_.size() - size);
    Write(std::move(chain));
  }

  void ReadSource() {
    began_ = links_.loop.clock().Now();
    OnDisk([](mvcc::SnapshotSource& source) { return source.Next(); },
           [](Transfer& self, Result<SharedBytes> chunk) { self.OnChunk(std::move(chunk)); });
  }

  void OnChunk(Result<SharedBytes> chunk) {
    if (!chunk.has_value()) return End(std::unexpected(chunk.error()));
    if (!chunk->empty()) {
      unsent_ = *std::move(chunk);
      return WritePiece();
    }
    timer_.Arm(kFinishTimeout, [this] { End(Fail(Code::kUnavailable, "no answer in time")); });
    socket_->Write({SharedBytes::Static("0\r\n\r\n")},
                   [self = shared_from_this()](const Result<std::size_t>& sent) {
                     if (self->urls_ != nullptr && !sent.has_value()) self->EndSoon(sent.error());
                   });
  }

  void ReadAnswer() {
    socket_->Read(buffer_, [self = shared_from_this()](const Result<std::size_t>& bytes) {
      if (self->urls_ == nullptr) return;
      if (!bytes.has_value()) return self->End(std::unexpected(bytes.error()));
      self->input_.append(self->buffer_.data(), *bytes);
      while (true) {
        const Result<std::size_t> used = self->parser_.Put(self->input_, self->body_);
        if (!used.has_value()) return self->End(std::unexpected(used.error()));
        self->input_.erase(0, *used);
        if (self->parser_.done() || self->body_.size() > kMaxRefusalBytes) return self->OnAnswer();
        if (*used == 0) return self->ReadAnswer();
      }
    });
  }

  void OnAnswer() {
    const rpc::HttpHead& head = parser_.head();
    if (head.status == 204) return End(sent_bytes_);
    if (SaysRemoved(head, body_, links_.identity.cluster_id)) links_.on_removed();
    while (body_.ends_with('\n')) body_.pop_back();
    End(Fail(Code::kFailedPrecondition,
             "refused: " + std::to_string(head.status) + " " + body_.substr(0, 200)));
  }

  void EndSoon(const Error& error) {
    timer_.Arm(std::chrono::seconds(1), [this, error] { End(std::unexpected(error)); });
  }

  void End(Result<std::uint64_t> sent) {
    const auto self = shared_from_this();
    if (!sent.has_value() && urls_ != nullptr) urls_->Failed(url_.text());
    auto done = std::exchange(done_, nullptr);
    Release();
    if (done != nullptr) done(std::move(sent));
  }

  void Release() {
    urls_ = nullptr;
    timer_.Disarm();
    look_timer_.Disarm();
    if (socket_ != nullptr) socket_->Close();
    // After the read that may be in progress.
    if (source_ != nullptr) links_.disk.Post([source = std::exchange(source_, nullptr)] {});
  }

  PeerLinks& links_;
  PeerUrls* urls_;  // null when it has ended
  raft::Message message_;
  std::shared_ptr<Source> source_;
  Done done_;
  const Url url_;
  PeerTimer timer_;
  PeerTimer look_timer_;
  HttpClient client_;
  std::unique_ptr<PeerSocket> socket_;
  Pace pace_;
  TimePoint began_;  // the piece
  rpc::Http1Parser parser_;
  std::array<char, 4096> buffer_{};
  std::string input_;
  std::string body_;
  std::uint64_t sent_bytes_ = 0;
  bool is_own_format_ = true;
  SharedBytes unsent_;  // of the chunk that was read last
};

SnapshotSender::SnapshotSender(PeerLinks& links, PeerUrls& urls, raft::Message message,
                               std::unique_ptr<mvcc::SnapshotSource> source, Done done)
    : transfer_(std::make_shared<Transfer>(links, urls, std::move(message), std::move(source),
                                           std::move(done))) {
  transfer_->AskForFormat();
}

SnapshotSender::~SnapshotSender() { transfer_->Abandon(); }

}  // namespace kvorum::server
