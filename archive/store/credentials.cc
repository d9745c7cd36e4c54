#include "archive/store/credentials.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/letter_case.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

constexpr std::uint64_t kMaxCredentialFileBytes = std::uint64_t{1} << 20;
constexpr std::string_view kHidden = "(hidden)";
// A shorter one stands in ordinary words; only stand-ins for tests have such.
constexpr std::size_t kMinSecretBytes = 5;

void Wipe(std::string& secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

// They become parts of headers.
bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

void Hide(std::string& text, std::string_view secret) {
  if (secret.size() < kMinSecretBytes) return;
  for (std::size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) {
    text.replace(at, secret.size(), kHidden);
    at += kHidden.size();
  }
}

std::unexpected<StoreError> CredentialFail(const std::string& text) {
  return StoreFail(StoreErrorKind::kDenied, "credentials of S3: " + text);
}

StoreResult<Credentials> Checked(Credentials credentials) {
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return CredentialFail("an access key and a secret key are needed");
  }
  if (!IsPrintable(credentials.access_key) || !IsPrintable(credentials.secret_key) ||
      !IsPrintable(credentials.session_token)) {
    return CredentialFail("a key has characters that no key has");
  }
  return credentials;
}

}  // namespace

Credentials::Credentials(std::string access, std::string secret, std::string token)
    : access_key(std::move(access)),
      secret_key(std::move(secret)),
      session_token(std::move(token)) {}

Credentials::~Credentials() {
  Wipe(secret_key);
  Wipe(session_token);
}

std::string WithoutSecrets(std::string text, const Credentials& credentials) {
  Hide(text, credentials.secret_key);
  Hide(text, credentials.session_token);
  return text;
}

StoreResult<Credentials> ParseCredentials(std::string_view content, std::string_view profile) {
  Credentials credentials;
  bool is_wanted = false;
  bool was_found = false;
  for (const std::string_view raw : Split(content, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const std::string_view name = Trim(line.substr(1, line.find(']') - 1));
      is_wanted = name == profile;
      was_found = was_found || is_wanted;
      continue;
    }
    if (!is_wanted) continue;
    const auto [key, value] = Cut(line, '=');
    if (!value.has_value()) continue;
    const std::string name = LowerCase(std::string(Trim(key)));
    if (name == "aws_access_key_id") credentials.access_key = Trim(*value);
    if (name == "aws_secret_access_key") credentials.secret_key = Trim(*value);
    if (name == "aws_session_token") credentials.session_token = Trim(*value);
  }
  if (!was_found) return CredentialFail("the file has no profile [" + std::string(profile) + "]");
  return Checked(std::move(credentials));
}

CredentialSource::CredentialSource(FileSystem& files, CredentialOptions options,
                                   Environment environment)
    : files_(files), options_(std::move(options)), environment_(std::move(environment)) {}

StoreResult<Credentials> CredentialSource::Get() {
  auto read = Read();
  if (read.has_value()) last_ = *read;
  if (!read.has_value() && last_.has_value()) return *last_;
  return read;
}

StoreResult<Credentials> CredentialSource::Read() {
  std::string file = options_.file;
  if (file.empty()) {
    const auto access = environment_("AWS_ACCESS_KEY_ID");
    const auto secret = environment_("AWS_SECRET_ACCESS_KEY");
    if (access.has_value() && secret.has_value()) {
      return Checked({*access, *secret, environment_("AWS_SESSION_TOKEN").value_or("")});
    }
    file = environment_("AWS_SHARED_CREDENTIALS_FILE").value_or("");
  }
  if (file.empty()) {
    const auto home = environment_("HOME");
    if (!home.has_value()) {
      return CredentialFail(
          "neither a file nor AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are given");
    }
    file = *home + "/.aws/credentials";
  }
  std::string profile = options_.profile;
  if (profile.empty()) profile = environment_("AWS_PROFILE").value_or("default");
  auto content = ReadWholeFile(files_, file, kMaxCredentialFileBytes);
  if (!content.has_value()) return CredentialFail(content.error().message);
  auto parsed = ParseCredentials(*content, profile);
  Wipe(*content);
  if (!parsed.has_value()) parsed.error().text += " (" + file + ")";
  return parsed;
}

std::optional<std::string> ProcessEnvironment(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace kvorum::archive
