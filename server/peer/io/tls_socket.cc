#include "server/peer/io/tls_socket.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/tls/tls_stream.h"

namespace kvorum::server {
namespace {

using rpc::TlsStream;

constexpr std::size_t kRecordBytes = TlsStream::kRecordBytes;
// The bytes encrypted for one write; the rest goes with the next one.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
// The bound of TLS's own answers, as to key updates, that wait for a peer which does not read.
constexpr std::size_t kMaxAnswers = 2 * kBatchBytes;
constexpr std::size_t kTlsReadBytes = std::size_t{64} << 10;
// For the time before the other side has proved anything.
constexpr std::size_t kShakingReadBytes = std::size_t{4} << 10;

// Divides a chain into the plain text of records: small pieces side by side, large ones in place.
class PlainText {
 public:
  void Reset(ByteChain chain) {
    chain_ = std::move(chain);
    piece_ = 0;
    offset_ = 0;
    size_bytes_ = SizeBytes(chain_);
  }
  std::size_t size_bytes() const { return size_bytes_; }
  // The plain text of the next record; empty at the end. Valid until the next call.
  std::string_view Next() {
    SkipEmpty();
    if (piece_ == chain_.size()) return {};
    if (chain_[piece_].size() - offset_ >= kRecordBytes || piece_ + 1 == chain_.size())
      return Take(kRecordBytes);
    static thread_local std::array<char, kRecordBytes> record;
    std::size_t filled = 0;
    while (filled < record.size() && piece_ < chain_.size()) {
      const std::string_view part = Take(record.size() - filled);
      std::ranges::copy(part, record.data() + filled);
      filled += part.size();
    }
    return {record.data(), filled};
  }

 private:
  std::string_view Take(std::size_t at_most) {
    const std::string_view part = chain_[piece_].view().substr(offset_, at_most);
    offset_ += part.size();
    SkipEmpty();
    return part;
  }
  void SkipEmpty() {
    while (piece_ < chain_.size() && offset_ == chain_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
  }

  ByteChain chain_;
  std::size_t piece_ = 0;
  std::size_t offset_ = 0;  // in the piece
  std::size_t size_bytes_ = 0;
};

std::unexpected<Error> Closed() { return Fail(Code::kUnavailable, "Operation canceled"); }

}  // namespace

// The part kept alive by callbacks of the socket beneath.
class TlsSocket::Channel : public std::enable_shared_from_this<Channel> {
 public:
  Channel(PeerLoop& loop, std::unique_ptr<PeerSocket> inner, rpc::SslPtr ssl)
      : loop_(loop), inner_(std::move(inner)), tls_(std::make_unique<TlsStream>(std::move(ssl))) {}
  // The same connection on another loop.
  Channel(PeerLoop& loop, Channel& before)
      : loop_(loop),
        inner_(before.inner_->MoveTo(loop)),
        tls_(std::move(before.tls_)),
        input_(std::move(before.input_)),
        arrived_(before.arrived_),
        output_(std::move(before.output_)) {}

  void Handshake(Shaken done, Answered answered) {
    shaken_ = std::move(done);
    answered_ = std::move(answered);
    loop_.Post([self = shared_from_this()] { self->Shake(); });
  }

  void Read(std::span<char> buffer, Done done) {
    if (is_closed_) return Refuse(std::move(done));
    read_buffer_ = buffer;
    read_done_ = std::move(done);
    const bool may_have_some = broken_.has_value() || !arrived_.empty() || tls_->has_pending();
    if (!may_have_some) return ReadMore();
    loop_.Post([self = shared_from_this()] { self->TakeRead(); });
  }

  void Write(ByteChain chain, Done done) {
    if (is_closed_) return Refuse(std::move(done));
    plain_.Reset(std::move(chain));
    write_done_ = std::move(done);
    if (broken_.has_value() || plain_.size_bytes() == 0) {
      loop_.Post([self = shared_from_this()] { self->FinishWrite(); });
      return;
    }
    Encrypt();
  }

  void CloseWriting() {
    if (is_closed_ || broken_.has_value() || !tls_->handshake_done()) return;
    tls_->SealEnd(&output_);
    ends_writing_ = true;
    Flush();
  }

  // The loop reports this to outstanding operations: stored here, they could keep us alive.
  void Close() {
    if (std::exchange(is_closed_, true)) return;
    inner_->Close();
    loop_.Post([shaken = std::exchange(shaken_, nullptr), read = std::exchange(read_done_, nullptr),
                written = std::exchange(write_done_, nullptr)]() mutable {
      if (shaken != nullptr) shaken(Closed());
      if (read != nullptr) read(Closed());
      if (written != nullptr) written(Closed());
    });
  }

  std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) {
    is_closed_ = true;
    return std::unique_ptr<PeerSocket>(new TlsSocket(std::make_shared<Channel>(loop, *this)));
  }

  void SetPatience(Duration limit) { inner_->SetPatience(limit); }
  std::string PeerAddress() const { return inner_->PeerAddress(); }
  const ssl_st* ssl() const { return tls_->ssl(); }

 private:
  void Shake() {
    if (is_closed_ || shaken_ == nullptr) return;
    const bool wants_more = tls_->Handshake(&arrived_, &output_) == TlsStream::Progress::kMore;
    if (tls_->broken()) broken_ = Error{Code::kUnauthenticated, tls_->error()};
    is_shaken_ = !wants_more;
    if (answered_ != nullptr && !broken_.has_value() && !output_.empty())
      std::exchange(answered_, nullptr)();
    Flush();
    if (wants_more) ReadMore();
  }

  void FinishShake() {
    if (shaken_ == nullptr) return;
    auto done = std::exchange(shaken_, nullptr);
    if (broken_.has_value()) return done(Fail(*broken_));
    done({});
  }

  void ReadMore() {
    if (std::exchange(is_reading_, true)) return;
    // Everything received is consumed.
    input_.resize(tls_->handshake_done() ? kTlsReadBytes : kShakingReadBytes);
    inner_->Read(input_, [self = shared_from_this()](const Result<std::size_t>& bytes) {
      self->is_reading_ = false;
      if (self->is_closed_) return;
      if (!bytes.has_value()) return self->BreakOff(bytes.error());
      self->arrived_ = std::string_view(self->input_.data(), *bytes);
      self->shaken_ != nullptr ? self->Shake() : self->TakeRead();
    });
  }

  // Reads as much as has arrived and fits.
  void TakeRead() {
    if (is_closed_ || read_done_ == nullptr) return;
    if (broken_.has_value()) return Break(*broken_);
    const std::size_t total = tls_->Open(&arrived_, read_buffer_, &output_);
    if (tls_->ended()) broken_ = Error{Code::kUnavailable, std::string(kEndOfStream)};
    if (tls_->broken()) broken_ = Error{Code::kUnavailable, tls_->error()};
    Flush();  // an answer to a record that was not plain text
    if (output_.size() > kMaxAnswers)
      broken_ = Error{Code::kUnavailable, "tls: no answer is taken"};
    if (total > 0) return std::exchange(read_done_, nullptr)(total);
    if (broken_.has_value()) return Break(*broken_);
    ReadMore();
  }

  void Encrypt() {
    while (output_.size() < kBatchBytes) {
      const std::string_view record = plain_.Next();
      if (record.empty()) break;
      if (!tls_->Seal(record, &output_)) {
        broken_ = Error{Code::kUnavailable, tls_->error()};
        loop_.Post([self = shared_from_this()] { self->FinishWrite(); });
        return;
      }
    }
    Flush();
  }

  void Flush() {
    if (is_writing_) return;
    if (output_.empty()) return OnFlushed();
    is_writing_ = true;
    inner_->Write({SharedBytes::Own(std::exchange(output_, {}))},
                  [self = shared_from_this()](const Result<std::size_t>& bytes) {
                    self->is_writing_ = false;
                    if (self->is_closed_) return;
                    if (!bytes.has_value()) return self->Break(bytes.error());
                    if (self->write_done_ != nullptr) return self->GoOnWriting();
                    self->Flush();
                  });
  }

  void GoOnWriting() {
    if (broken_.has_value()) return FinishWrite();
    Encrypt();
    if (!is_writing_) FinishWrite();
  }

  // Reports the handshake once its last bytes are sent: the socket may be moved then.
  void OnFlushed() {
    if (std::exchange(ends_writing_, false)) inner_->CloseWriting();
    if (is_shaken_) FinishShake();
  }

  void Refuse(Done done) {
    loop_.Post([done = std::move(done)]() mutable { done(Closed()); });
  }

  void FinishWrite() {
    if (is_closed_ || write_done_ == nullptr) return;
    auto done = std::exchange(write_done_, nullptr);
    const std::size_t size_bytes = plain_.size_bytes();
    plain_.Reset({});
    if (broken_.has_value()) return done(Fail(*broken_));
    done(size_bytes);
  }

  // An end of the connection beneath was not announced by the other side: anybody in between could
  // have caused it.
  void BreakOff(const Error& error) {
    Break(IsEndOfStream(error) ? Error{error.code, std::string(kEndUnannounced)} : error);
  }

  void Break(const Error& error) {
    const auto self = shared_from_this();
    if (!broken_.has_value()) broken_ = error;
    FinishShake();
    if (read_done_ != nullptr) std::exchange(read_done_, nullptr)(Fail(*broken_));
    FinishWrite();
  }

  PeerLoop& loop_;
  std::unique_ptr<PeerSocket> inner_;
  std::unique_ptr<TlsStream> tls_;
  std::vector<char> input_;
  std::string_view arrived_;  // of the input, and not consumed yet
  std::string output_;        // records to be written
  PlainText plain_;
  std::span<char> read_buffer_;
  Shaken shaken_;
  Answered answered_;
  Done read_done_;
  Done write_done_;
  std::optional<Error> broken_;
  bool is_shaken_ = false;  // or has failed to
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool ends_writing_ = false;
  bool is_closed_ = false;
};

TlsSocket::TlsSocket(PeerLoop& loop, std::unique_ptr<PeerSocket> inner, rpc::SslPtr ssl)
    : TlsSocket(std::make_shared<Channel>(loop, std::move(inner), std::move(ssl))) {}

TlsSocket::TlsSocket(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

TlsSocket::~TlsSocket() { channel_->Close(); }

void TlsSocket::Handshake(Shaken done, Answered answered) {
  channel_->Handshake(std::move(done), std::move(answered));
}
const ssl_st* TlsSocket::ssl() const { return channel_->ssl(); }
void TlsSocket::Read(std::span<char> buffer, Done done) { channel_->Read(buffer, std::move(done)); }
void TlsSocket::Write(ByteChain chain, Done done) {
  channel_->Write(std::move(chain), std::move(done));
}
void TlsSocket::Close() { channel_->Close(); }
void TlsSocket::SetPatience(Duration limit) { channel_->SetPatience(limit); }

void TlsSocket::CloseWriting() { channel_->CloseWriting(); }
std::unique_ptr<PeerSocket> TlsSocket::MoveTo(PeerLoop& loop) { return channel_->MoveTo(loop); }
std::string TlsSocket::PeerAddress() const { return channel_->PeerAddress(); }

}  // namespace kvorum::server
