// The texts of failed TLS handshakes: Go's, which etcd's operators and tests match.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "rpc/tls/tls_context.h"
#include "rpc/tls/tls_rules.h"

namespace kvorum::rpc {
namespace {

struct AlertText {
  int alert;
  std::string_view text;
};
// The alerts that the other side can send.
constexpr AlertText kAlerts[] = {
    {SSL_AD_CLOSE_NOTIFY, "close notify"},
    {SSL_AD_UNEXPECTED_MESSAGE, "unexpected message"},
    {SSL_AD_BAD_RECORD_MAC, "bad record MAC"},
    {SSL_AD_RECORD_OVERFLOW, "record overflow"},
    {SSL_AD_HANDSHAKE_FAILURE, "handshake failure"},
    {SSL_AD_BAD_CERTIFICATE, "bad certificate"},
    {SSL_AD_UNSUPPORTED_CERTIFICATE, "unsupported certificate"},
    {SSL_AD_CERTIFICATE_REVOKED, "revoked certificate"},
    {SSL_AD_CERTIFICATE_EXPIRED, "expired certificate"},
    {SSL_AD_CERTIFICATE_UNKNOWN, "unknown certificate"},
    {SSL_AD_ILLEGAL_PARAMETER, "illegal parameter"},
    {SSL_AD_UNKNOWN_CA, "unknown certificate authority"},
    {SSL_AD_ACCESS_DENIED, "access denied"},
    {SSL_AD_DECODE_ERROR, "error decoding message"},
    {SSL_AD_DECRYPT_ERROR, "error decrypting message"},
    {SSL_AD_PROTOCOL_VERSION, "protocol version not supported"},
    {SSL_AD_INSUFFICIENT_SECURITY, "insufficient security level"},
    {SSL_AD_INTERNAL_ERROR, "internal error"},
    {SSL_AD_INAPPROPRIATE_FALLBACK, "inappropriate fallback"},
    {SSL_AD_USER_CANCELLED, "user canceled"},
    {SSL_AD_NO_RENEGOTIATION, "no renegotiation"},
    {SSL_AD_MISSING_EXTENSION, "missing extension"},
    {SSL_AD_UNSUPPORTED_EXTENSION, "unsupported extension"},
    {SSL_AD_UNRECOGNIZED_NAME, "unrecognized name"},
    {SSL_AD_CERTIFICATE_REQUIRED, "certificate required"},
    {SSL_AD_NO_APPLICATION_PROTOCOL, "no application protocol"},
};

std::string RemoteError(int alert) {
  const auto* const found = std::ranges::find(kAlerts, alert, &AlertText::alert);
  if (found == std::end(kAlerts)) return fmt::format("remote error: tls: alert({})", alert);
  return fmt::format("remote error: tls: {}", found->text);
}

std::string TimeText(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "?";
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string OutOfTime(const X509* leaf) {
  std::string text = "certificate has expired or is not yet valid";
  if (leaf == nullptr) return text;
  const ASN1_TIME* const begin = X509_get0_notBefore(leaf);
  const bool is_early = X509_cmp_current_time(begin) > 0;
  const ASN1_TIME* const bound = is_early ? begin : X509_get0_notAfter(leaf);
  // The text for an expired intermediate or root lacks the times.
  if (!is_early && X509_cmp_current_time(bound) > 0) return text;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char now_text[32];
  const std::size_t size =
      std::strftime(now_text, sizeof(now_text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return text + fmt::format(": current time {} is {} {}", std::string_view(now_text, size),
                            is_early ? "before" : "after", TimeText(bound));
}

// A fault without a text in Go is reported in OpenSSL's words.
std::string VerifyError(const SSL* ssl) {
  const long result = SSL_get_verify_result(ssl);
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return OutOfTime(ShownCertificate(ssl));
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "certificate signed by unknown authority";
    case X509_V_ERR_INVALID_PURPOSE:
      return "certificate specifies an incompatible key usage";
    default:
      return X509_verify_cert_error_string(result);
  }
}

std::string CertificateError(const SSL* ssl) {
  constexpr std::string_view kPrefix = "tls: failed to verify certificate: x509: ";
  // Beyond the chain: it is not the host we asked for, or not an allowed name.
  if (const std::string_view refusal = RefusalText(ssl); !refusal.empty())
    return std::string(refusal);
  return std::string(kPrefix) + VerifyError(ssl);
}

std::string OpenSslError(unsigned long error) {
  const char* const reason = ERR_reason_error_string(error);
  return fmt::format("tls: {}", reason == nullptr ? "unknown error" : reason);
}

std::string TextOf(unsigned long error, const SSL* ssl) {
  if (error == 0) return "EOF";
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return OpenSslError(error);
  const int reason = ERR_GET_REASON(error);
  if (reason >= SSL_AD_REASON_OFFSET) return RemoteError(reason - SSL_AD_REASON_OFFSET);
  switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return std::string(kNoCertificateError);
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return CertificateError(ssl);
    case SSL_R_HTTP_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return "tls: first record does not look like a TLS handshake";
    case SSL_R_NO_SHARED_CIPHER:
      return "tls: no cipher suite supported by both client and server";
    default:
      return OpenSslError(error);
  }
}

}  // namespace

std::string TlsErrorText(const SSL* ssl) {
  std::string text = TextOf(ERR_peek_last_error(), ssl);
  ERR_clear_error();
  return text;
}

}  // namespace kvorum::rpc
