// Whether the files that the TLS options name are of use: known before the first connection, not
// from one that never comes up. Internal to client/.
#pragma once

#include "base/error.h"
#include "client/client.h"

namespace kvorum::client {

// kFailedPrecondition, with the file's name: it can't be read, holds no certificate or key, the key
// is encrypted or is not the certificate's, or one of the two is missing.
Result<void> CheckTlsFiles(const TlsOptions& options);

}  // namespace kvorum::client
