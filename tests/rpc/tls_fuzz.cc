// A client that sends anything at all to a TLS server: the handshake, and the records that follow
// it. The first byte says how large the pieces are.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "rpc/tls/tls_stream.h"
#include "tests/rpc/certificates.h"

namespace kvorum::rpc {
namespace {

std::shared_ptr<TlsContext> MakeContext() {
  static const TestFolder folder;
  TestAuthority ca("ca");
  ca.Write(folder.path("ca.pem"));
  ca.Issue({.dns_names = {"localhost"}}).Write(folder.path("s.pem"), folder.path("s.key"));
  TlsOptions options;
  options.certificate_file = folder.path("s.pem");
  options.key_file = folder.path("s.key");
  options.trusted_ca_file = folder.path("ca.pem");
  options.alpn = {"h2", "http/1.1"};
  auto context = TlsContext::Create(options);
  KV_CHECK(context.has_value(), "no context");
  return *context;
}

}  // namespace
}  // namespace kvorum::rpc

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvorum::rpc;
  static const std::shared_ptr<TlsContext> context = MakeContext();
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] * std::size_t{64};
  std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  TlsStream stream(context->NewServer());
  std::string out;
  std::vector<char> plain(64 * 1024);
  auto progress = TlsStream::Progress::kMore;
  while (!rest.empty() && progress != TlsStream::Progress::kFailed) {
    std::string_view received = rest.substr(0, piece);
    rest.remove_prefix(received.size());
    if (progress == TlsStream::Progress::kMore) progress = stream.Handshake(&received, &out);
    if (progress != TlsStream::Progress::kDone) continue;
    stream.Open(&received, plain, &out);
    if (stream.broken()) break;
  }
  return 0;
}
