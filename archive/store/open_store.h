// The store that an archive's URL names: file:///folder, or s3://bucket/prefix.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "archive/store/credentials.h"
#include "archive/store/object_store.h"
#include "archive/store/s3_place.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace kvorum::archive {

// A value.
struct StoreSettings {
  std::string url = {};
  // For tools that only read.
  bool read_only = false;
  // For S3 alone (s3_place.h, credentials.h); empty: the defaults.
  std::string endpoint = {};
  std::string region = {};
  BucketStyle style = BucketStyle::kAuto;
  CredentialOptions credentials = {};
  std::string ca_file = {};  // the certificates that are trusted; empty: the system's
};

// Ok if the URL is one, without reaching what it names. kInvalid.
StoreResult<void> CheckStoreUrl(std::string_view url);

// A folder is made if it is missing; a bucket is not reached yet. Calls are not tried again: for
// that, wrap it into a RetryingStore. All arguments outlive the store.
StoreResult<std::unique_ptr<ObjectStore>> OpenStore(const StoreSettings& settings,
                                                    FileSystem& files, const Clock& clock,
                                                    const StopSignal& stop);

}  // namespace kvorum::archive
