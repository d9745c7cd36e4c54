#include "rpc/tls/tls_context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/log/logging.h"
#include "rpc/tls/tls_ciphers.h"
#include "rpc/tls/tls_files.h"
#include "rpc/tls/tls_rules.h"

namespace kvorum::rpc {
namespace {

// RSA and DH from 2048 bits, curves from 224, no SHA-1.
constexpr int kSecurityLevel = 2;

using Authorities = std::vector<X509Ptr>;

// The set in force. Immutable; the parts are shared with the previous set.
struct Material {
  std::shared_ptr<const KeyPair> certificate;         // null: none
  std::shared_ptr<const KeyPair> client_certificate;  // null: `certificate` is used
  std::shared_ptr<const Authorities> authorities;     // null: the system's
  std::shared_ptr<const RevokedSerials> revoked;      // null: none
};

std::string OpenSslReason() {
  const unsigned long error = ERR_peek_last_error();  // the most specific one
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

std::unexpected<Error> Refused(std::string_view what, const std::string& file) {
  std::string reason = OpenSslReason();
  ERR_clear_error();
  return Fail(Code::kInvalidArgument, fmt::format("tls: {}: {} ({})", what, reason, file));
}

std::string AlpnWireFormat(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

int ProtocolNumber(TlsVersion version) {
  switch (version) {
    case TlsVersion::kAny:
      return 0;
    case TlsVersion::kTls12:
      return TLS1_2_VERSION;
    case TlsVersion::kTls13:
      return TLS1_3_VERSION;
  }
  return 0;
}

Result<void> SetLimits(SSL_CTX* context, const TlsOptions& options) {
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  TlsVersion lowest =
      options.min_version == TlsVersion::kAny ? TlsVersion::kTls12 : options.min_version;
  std::string ciphers = kStrongCiphers;
  if (!options.cipher_suites.empty()) {
    ciphers = TlsCipherList(options.cipher_suites);
    if (ciphers.empty()) lowest = TlsVersion::kTls13;  // the list has nothing for TLS 1.2
  }
  SSL_CTX_set_min_proto_version(context, ProtocolNumber(lowest));
  SSL_CTX_set_max_proto_version(context, ProtocolNumber(options.max_version));
  if (!ciphers.empty() && SSL_CTX_set_cipher_list(context, ciphers.c_str()) != 1)
    return Refused("cannot use the cipher suites", ciphers);
  // Bounds the computation that a client can cause: no finite-field groups.
  KV_CHECK(SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384:P-521") == 1,
           "OpenSSL does not know the usual groups");
  return {};
}

Result<void> UseKeyPair(SSL_CTX* context, const KeyPair& pair, const std::string& file) {
  if (SSL_CTX_use_certificate(context, pair.leaf.get()) != 1)
    return Refused("cannot use the certificate", file);
  for (const X509Ptr& intermediate : pair.intermediates) {
    if (SSL_CTX_add1_chain_cert(context, intermediate.get()) != 1)
      return Refused("cannot use an intermediate certificate", file);
  }
  if (SSL_CTX_use_PrivateKey(context, pair.key.get()) != 1)
    return Refused("cannot use the key of the certificate", file);
  return {};
}

Result<void> UseAuthorities(SSL_CTX* context, const Authorities* authorities, bool accepting,
                            const std::string& file) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // Each certificate of the file is an anchor, an intermediate too.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  FindIssuersBySignature(store);
  // Our own rules check the purpose: OpenSSL's also demand things that no other server does.
  SSL_CTX_set_purpose(context, X509_PURPOSE_ANY);
  if (authorities == nullptr) {
    SSL_CTX_set_default_verify_paths(context);
    ERR_clear_error();
    return {};
  }
  for (const X509Ptr& authority : *authorities) {
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return Refused("cannot use a CA certificate", file);
    if (accepting) SSL_CTX_add_client_CA(context, authority.get());
  }
  return {};
}

Result<SslCtxPtr> NewContext(const TlsOptions& options, const SSL_METHOD* method) {
  SslCtxPtr context(SSL_CTX_new(method));
  KV_CHECK(context != nullptr, "OpenSSL has no memory for a context");
  KV_RETURN_IF_ERROR(SetLimits(context.get(), options));
  return context;
}

Result<SslCtxPtr> MakeContext(const TlsOptions& options, const Material& material,
                              const std::shared_ptr<const RevokedNow>& revoked, bool accepting) {
  KV_TRY(SslCtxPtr context,
         NewContext(options, accepting ? TLS_server_method() : TLS_client_method()));
  const bool separate = !accepting && material.client_certificate != nullptr;
  const KeyPair* pair = separate ? material.client_certificate.get() : material.certificate.get();
  if (pair != nullptr) {
    KV_RETURN_IF_ERROR(
        UseKeyPair(context.get(), *pair,
                   separate ? options.client_certificate_file : options.certificate_file));
  }
  const bool verifies = accepting ? !options.trusted_ca_file.empty() || options.client_cert_auth
                                  : !options.skip_server_verification;
  if (verifies) {
    KV_RETURN_IF_ERROR(UseAuthorities(context.get(), material.authorities.get(), accepting,
                                      options.trusted_ca_file));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  AttachRules(context.get(), std::make_unique<const TlsRules>(
                                 TlsRules{.accepting = accepting,
                                          .allowed_cns = options.allowed_cns,
                                          .allowed_hostnames = options.allowed_hostnames,
                                          .revoked = revoked,
                                          .alpn = AlpnWireFormat(options.alpn)}));
  return context;
}

// OpenSSL may refuse a matching pair, as for a key that is too short, and says so only when it gets
// the pair. So it is tried here alone: later, its refusal would discard all that was read with it.
Result<std::shared_ptr<const KeyPair>> TakePair(const TlsOptions& options, const Watched& watched,
                                                Watched::Contents contents) {
  auto pair = ParseKeyPair(contents[0], contents[1], watched.paths()[0], watched.paths()[1]);
  OPENSSL_cleanse(contents[1].data(), contents[1].size());
  if (!pair.has_value()) return Fail(std::move(pair).error());
  KV_TRY(const SslCtxPtr trial, NewContext(options, TLS_method()));
  KV_RETURN_IF_ERROR(UseKeyPair(trial.get(), *pair, watched.paths()[0]));
  if (X509_cmp_current_time(X509_get0_notAfter(pair->leaf.get())) < 0)
    KV_WARN("a TLS certificate has expired", {"cert-file", watched.paths()[0]});
  return std::make_shared<const KeyPair>(std::move(*pair));
}

Result<std::shared_ptr<const Authorities>> TakeAuthorities(const Watched& watched,
                                                           Watched::Contents contents) {
  KV_TRY(Authorities authorities, ParseAuthorities(contents[0], watched.paths()[0]));
  return std::make_shared<const Authorities>(std::move(authorities));
}

Result<std::shared_ptr<const RevokedSerials>> TakeRevocations(const Watched& watched,
                                                              Watched::Contents contents) {
  bool expired = false;
  KV_TRY(RevokedSerials serials, ParseRevocations(contents[0], watched.paths()[0], &expired));
  if (expired) {
    KV_WARN("a certificate revocation list has expired; it stays in force",
            {"crl-file", watched.paths()[0]});
  }
  return std::make_shared<const RevokedSerials>(std::move(serials));
}

void WarnOfCiphers(const std::vector<std::string>& cipher_suites) {
  const std::vector<std::string> unavailable = UnavailableCiphers(cipher_suites);
  if (unavailable.empty()) return;
  KV_WARN("some of the TLS cipher suites are not there, and are left out",
          {"cipher-suites", fmt::format("{}", fmt::join(unavailable, ","))});
  if (TlsCipherList(cipher_suites).empty())
    KV_WARN("none of the TLS cipher suites can be used with TLS1.2; only TLS1.3 is spoken");
}

Result<void> CheckOptions(const TlsOptions& options) {
  const auto refuse = [](std::string text) {
    return Fail(Code::kInvalidArgument, std::move(text));
  };
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return refuse(fmt::format("KeyFile and CertFile must both be present[key: {}, cert: {}]",
                              options.key_file, options.certificate_file));
  }
  if (options.client_certificate_file.empty() != options.client_key_file.empty()) {
    return refuse(fmt::format(
        "ClientKeyFile and ClientCertFile must both be present or both absent: key: {}, cert: {}]",
        options.client_key_file, options.client_certificate_file));
  }
  if (!options.allowed_cns.empty() && !options.allowed_hostnames.empty()) {
    return refuse("AllowedCNs and AllowedHostnames are mutually exclusive");
  }
  return CheckTlsLimits(options.min_version, options.max_version, options.cipher_suites);
}

}  // namespace

struct TlsContext::Contexts {
  SslCtxPtr server;
  SslCtxPtr client;
};

struct TlsContext::Files {
  explicit Files(const TlsOptions& options) {
    if (!options.certificate_file.empty())
      certificate.emplace(Watched::Contents{options.certificate_file, options.key_file});
    if (!options.client_certificate_file.empty()) {
      client_certificate.emplace(
          Watched::Contents{options.client_certificate_file, options.client_key_file});
    }
    if (!options.trusted_ca_file.empty())
      authorities.emplace(Watched::Contents{options.trusted_ca_file});
    if (!options.crl_file.empty()) revoked.emplace(Watched::Contents{options.crl_file});
  }

  // The number of bytes to read; nullopt if nothing has changed.
  std::optional<std::int64_t> BytesToRead() const {
    std::optional<std::int64_t> sum;
    for (const auto* watched : {&certificate, &client_certificate, &authorities, &revoked}) {
      if (!watched->has_value()) continue;
      if (const auto bytes = (*watched)->BytesToRead(); bytes.has_value())
        sum = sum.value_or(0) + *bytes;
    }
    return sum;
  }

  // Takes over changed files that are good; reports bad ones to `bad`. Returns the contexts if they
  // are new.
  template <class Bad>
  std::optional<Contexts> Poll(const TlsOptions& options, Bad&& bad) {
    Material next = material;
    bool changed = false;
    const auto take = [&](std::optional<Watched>& watched, auto& part, auto&& parse) {
      if (!watched.has_value()) return;
      auto contents = watched->Poll();
      if (!contents.has_value()) return;
      if (!contents->has_value()) return bad(contents->error());
      auto parsed = parse(*watched, std::move(**contents));
      if (!parsed.has_value()) return bad(parsed.error());
      part = std::move(*parsed);
      changed = true;
    };
    const auto take_pair = [&options](const Watched& watched, Watched::Contents contents) {
      return TakePair(options, watched, std::move(contents));
    };
    take(certificate, next.certificate, take_pair);
    take(client_certificate, next.client_certificate, take_pair);
    take(authorities, next.authorities, TakeAuthorities);
    take(revoked, next.revoked, TakeRevocations);
    if (!changed && is_loaded) return std::nullopt;
    auto server = MakeContext(options, next, revoked_now, /*accepting=*/true);
    auto client = MakeContext(options, next, revoked_now, /*accepting=*/false);
    for (const auto* made : {&server, &client}) {
      if (made->has_value()) continue;
      bad(made->error());
      return std::nullopt;
    }
    material = std::move(next);
    revoked_now->Set(material.revoked);
    is_loaded = true;
    return Contexts{.server = std::move(*server), .client = std::move(*client)};
  }

  std::mutex mutex;
  Contexts contexts;  // guarded by the mutex
  const std::shared_ptr<RevokedNow> revoked_now = std::make_shared<RevokedNow>();
  Executor* loader = nullptr;
  bool is_loading = false;
  // The loader's while it is loading, otherwise guarded by the mutex too.
  std::optional<Watched> certificate;
  std::optional<Watched> client_certificate;
  std::optional<Watched> authorities;
  std::optional<Watched> revoked;
  Material material;
  bool is_loaded = false;
};

TlsContext::TlsContext(TlsOptions options)
    : options_(std::move(options)), files_(std::make_unique<Files>(options_)) {}

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::Create(TlsOptions options) {
  KV_RETURN_IF_ERROR(CheckOptions(options));
  WarnOfCiphers(options.cipher_suites);
  std::shared_ptr<TlsContext> context(new TlsContext(std::move(options)));
  std::optional<Error> first;
  auto contexts = context->files_->Poll(context->options_, [&first](const Error& error) {
    if (!first.has_value()) first = error;
  });
  if (first.has_value()) return Fail(std::move(*first));
  context->files_->contexts = *std::move(contexts);
  return context;
}

void TlsContext::LoadLargeFilesOn(Executor& loader) {
  {
    std::lock_guard lock(files_->mutex);
    files_->loader = &loader;
  }
  Look();
}

void TlsContext::Refresh() {
  if (files_->is_loading) return;
  const auto bytes = files_->BytesToRead();
  if (!bytes.has_value()) return;
  if (files_->loader != nullptr && *bytes > kInlineBytes) return LoadSoon();
  if (auto contexts = Poll(); contexts.has_value()) files_->contexts = *std::move(contexts);
}

void TlsContext::LoadSoon() {
  files_->is_loading = true;
  files_->loader->Post([context = weak_from_this()] {
    if (const auto self = context.lock(); self != nullptr) self->Load();
  });
}

// Small files are left to new connections: their change counts for the very next connection, which
// could not use them while they are read here.
void TlsContext::Look() {
  std::lock_guard lock(files_->mutex);
  if (!files_->is_loading && files_->BytesToRead() > kInlineBytes) LoadSoon();
  Executor& loader = *files_->loader;
  loader.PostAt(loader.clock().Now() + kLookInterval, [context = weak_from_this()] {
    if (const auto self = context.lock(); self != nullptr) self->Look();
  });
}

void TlsContext::Load() {
  std::optional<Contexts> contexts = Poll();
  std::lock_guard lock(files_->mutex);
  files_->is_loading = false;
  // The previous set is destroyed after the lock is released.
  if (contexts.has_value()) std::swap(files_->contexts, *contexts);
}

std::optional<TlsContext::Contexts> TlsContext::Poll() {
  auto contexts = files_->Poll(options_, [this](const Error& error) {
    ++failed_reloads_;
    KV_WARN("a TLS file cannot be used; what was read before stays in force",
            {"error", error.message});
  });
  if (!contexts.has_value()) return contexts;
  ++reloads_;
  KV_INFO("took changed TLS files", {"cert-file", options_.certificate_file},
          {"trusted-ca-file", options_.trusted_ca_file}, {"crl-file", options_.crl_file});
  return contexts;
}

SslPtr TlsContext::NewServer() {
  std::lock_guard lock(files_->mutex);
  Refresh();
  SslPtr ssl(SSL_new(files_->contexts.server.get()));
  if (ssl != nullptr) SSL_set_accept_state(ssl.get());
  return ssl;
}

SslPtr TlsContext::NewClient(const std::string& host) {
  SslPtr ssl;
  {
    std::lock_guard lock(files_->mutex);
    Refresh();
    ssl.reset(SSL_new(files_->contexts.client.get()));
  }
  if (ssl == nullptr) return ssl;
  SSL_set_connect_state(ssl.get());
  std::string name = options_.server_name.empty() ? host : options_.server_name;
  if (!ExpectHost(ssl.get(), name)) return nullptr;
  if (IsIpAddress(name)) return ssl;
  // The name to verify has no final dot, even if one was dialled.
  while (name.ends_with('.')) name.pop_back();
  if (!name.empty() && SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1) return nullptr;
  return ssl;
}

void SslDelete::operator()(SSL* ssl) const { SSL_free(ssl); }

std::optional<TlsIdentity> VerifiedIdentity(const SSL* ssl) {
  if (SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE || SSL_get_verify_result(ssl) != X509_V_OK ||
      SSL_is_init_finished(ssl) == 0) {
    return std::nullopt;
  }
  return ShownIdentity(ssl);
}

bool CertificateWasRefused(const SSL* ssl) { return SSL_get_verify_result(ssl) != X509_V_OK; }

std::optional<TlsIdentity> ShownIdentity(const SSL* ssl) {
  X509* leaf = ShownCertificate(ssl);
  if (leaf == nullptr) return std::nullopt;
  TlsIdentity identity;
  identity.common_name = CommonName(leaf);
  identity.dns_names = DnsNames(leaf);
  identity.ip_addresses = IpAddresses(leaf);
  return identity;
}

std::string_view NegotiatedProtocol(const SSL* ssl) {
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &protocol, &size);
  return {reinterpret_cast<const char*>(protocol), size};
}

std::string_view RequestedName(const SSL* ssl) {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

}  // namespace kvorum::rpc
