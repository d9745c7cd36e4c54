// Checks that the files that the TLS options name are usable, before the first connection rather
// than by one that never comes up. Internal to client/.
#pragma once

#include "base/error.h"
#include "client/client.h"

namespace kvorum::client {

// kFailedPrecondition with the file's name: it can't be read, has no certificate or key, the key is
// encrypted or does not match the certificate, or one of the two is missing.
Result<void> CheckTlsFiles(const TlsOptions& options);

}  // namespace kvorum::client
