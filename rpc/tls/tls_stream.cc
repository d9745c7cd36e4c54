#include "rpc/tls/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace kvorum::rpc {

struct MemoryBio {
  static TlsStream& StreamOf(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* bytes, int size) {
    std::string_view& input = StreamOf(bio).input_;
    BIO_clear_retry_flags(bio);
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const std::size_t count = std::min(input.size(), static_cast<std::size_t>(size));
    std::memcpy(bytes, input.data(), count);
    input.remove_prefix(count);
    return static_cast<int>(count);
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    StreamOf(bio).output_->append(bytes, static_cast<std::size_t>(size));
    return size;
  }

  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* Method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "kvorum");
      KV_CHECK(made != nullptr, "OpenSSL takes no BIO of ours");
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }
};

TlsStream::TlsStream(SslPtr ssl) : ssl_(std::move(ssl)) {
  BIO* bio = BIO_new(MemoryBio::Method());
  KV_CHECK(bio != nullptr, "OpenSSL has no memory for a BIO");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

void TlsStream::Fail() {
  broken_ = true;
  error_ = TlsErrorText(ssl_.get());
}

bool TlsStream::has_pending() const { return SSL_pending(ssl_.get()) > 0; }
bool TlsStream::handshake_done() const { return SSL_is_init_finished(ssl_.get()) == 1; }

TlsStream::Progress TlsStream::Handshake(std::string_view* received, std::string* out) {
  input_ = *received;
  output_ = out;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  *received = std::exchange(input_, {});
  if (result == 1) return Progress::kDone;
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return Progress::kMore;
  Fail();
  return Progress::kFailed;
}

std::size_t TlsStream::Open(std::string_view* received, std::span<char> plain, std::string* out) {
  input_ = *received;
  output_ = out;
  std::size_t opened = 0;
  ERR_clear_error();
  while (opened < plain.size()) {
    std::size_t count = 0;
    const int result =
        SSL_read_ex(ssl_.get(), plain.data() + opened, plain.size() - opened, &count);
    if (result != 1) {
      const int reason = SSL_get_error(ssl_.get(), result);
      ended_ = reason == SSL_ERROR_ZERO_RETURN;
      if (!ended_ && reason != SSL_ERROR_WANT_READ) Fail();
      break;
    }
    opened += count;
  }
  *received = ended_ ? std::string_view() : input_;
  input_ = {};
  return opened;
}

bool TlsStream::Seal(std::string_view plain, std::string* out) {
  output_ = out;
  ERR_clear_error();
  while (!plain.empty()) {
    std::size_t count = 0;
    if (SSL_write_ex(ssl_.get(), plain.data(), std::min(plain.size(), kRecordBytes), &count) != 1) {
      Fail();
      return false;
    }
    plain.remove_prefix(count);
  }
  return true;
}

void TlsStream::SealEnd(std::string* out) {
  output_ = out;
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

}  // namespace kvorum::rpc
