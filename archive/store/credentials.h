// The access key of S3: from a file in the form of AWS's tools, or from the environment.
//
//   [default]
//   aws_access_key_id = AKIA...
//   aws_secret_access_key = ...
//   aws_session_token = ...
//
// The order: the file of the options; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN; AWS_SHARED_CREDENTIALS_FILE; .aws/credentials in HOME. The profile is that of
// the options, else AWS_PROFILE, else "default". Nothing is asked of a machine's metadata service.
// No text of an error has a key in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "archive/store/store_error.h"
#include "base/file_system.h"

namespace kvorum::archive {

// A value. Wipes the secrets that it held.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none

  Credentials() = default;
  Credentials(std::string access, std::string secret, std::string token);
  Credentials(const Credentials&) = default;
  Credentials(Credentials&&) = default;
  Credentials& operator=(const Credentials&) = default;
  Credentials& operator=(Credentials&&) = default;
  ~Credentials();

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// The text without the secrets, should a server have put them into it.
std::string WithoutSecrets(std::string text, const Credentials& credentials);

// The credentials of a profile in the content of such a file. kDenied with the reason.
StoreResult<Credentials> ParseCredentials(std::string_view content, std::string_view profile);

struct CredentialOptions {
  std::string file = {};     // empty: see above
  std::string profile = {};  // empty: see above
};

// Reads the file anew each time that it is asked, so that replacing the file is enough. While the
// file is missing or unfinished, the last credentials stay in use. Used by one thread at a time.
class CredentialSource {
 public:
  using Environment = std::function<std::optional<std::string>(const char* variable)>;

  CredentialSource(FileSystem& files, CredentialOptions options, Environment environment);

  StoreResult<Credentials> Get();

 private:
  StoreResult<Credentials> Read();

  FileSystem& files_;
  const CredentialOptions options_;
  const Environment environment_;
  std::optional<Credentials> last_;
};

// The process's own environment.
std::optional<std::string> ProcessEnvironment(const char* variable);

}  // namespace kvorum::archive
