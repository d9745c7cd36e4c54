// The certificates of --auto-tls and --peer-auto-tls: made at the first start, one for clients and
// one for peers, and kept in the data directory, where scripts look for them:
//
//   <data-dir>/fixtures/client/cert.pem, key.pem
//   <data-dir>/fixtures/peer/cert.pem, key.pem
//
// Files have mode 0600, directories 0700. An existing pair is used unless it has expired or is
// damaged; then a new one is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/net/url.h"

namespace kvorum::server {

struct CertificatePair {
  std::string certificate;  // paths
  std::string key;
};

// `dir` is the directory of the pair. A new certificate names the hosts of the URLs and is valid
// for `years` from now on; 0 is refused.
Result<CertificatePair> KeepSelfSigned(FileSystem& fs, const std::string& dir,
                                       const std::vector<Url>& urls, std::uint64_t years,
                                       std::int64_t now_s);

}  // namespace kvorum::server
