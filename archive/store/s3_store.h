// Objects in a bucket, by S3's API over HTTP/1.1: AWS's own and others that speak it.
//
// Every request is signed here (sigv4.h), with the hash of its body, and a Put carries Content-MD5
// and x-amz-checksum-sha256, so that an object never differs from what was sent. A request whose
// time the store refuses is signed once more by the store's clock. Other failures are the caller's
// to try again (retrying_store.h).
// Used by one thread at a time (object_store.h). Memory: a page of a list (4 MiB at most), else an
// answer of 1 MiB and a piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/store/credentials.h"
#include "archive/store/http_transport.h"
#include "archive/store/object_store.h"
#include "archive/store/s3_place.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"

namespace kvorum::archive {

class S3Store final : public ObjectStore {
 public:
  S3Store(S3Place place, CredentialSource credentials, TransportOptions transport,
          const Clock& clock, const StopSignal& stop);

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override;
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override;
  StoreResult<ObjectInfo> Head(const std::string& key) override;
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override;
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override;
  void RenewConnection() override { transport_.Renew(); }
  const std::string& name() const override { return place_.name; }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  struct Call {
    HttpMethod method = HttpMethod::kGet;
    std::string key = {};  // below the prefix; empty: the bucket itself
    Pairs query = {};
    Pairs headers = {};
    std::string_view body = {};
    std::size_t limit_bytes = std::size_t{1} << 20;
    const BodySink* sink = nullptr;
  };

  StoreResult<HttpAnswer> Do(const Call& call);
  StoreResult<std::vector<DeleteFailure>> DeleteSome(std::span<const std::string> keys);
  std::string PathOf(const std::string& key) const;
  std::int64_t UnixSeconds() const { return clock_.WallSeconds() + clock_offset_seconds_; }

  const S3Place place_;
  CredentialSource credentials_;
  HttpTransport transport_;
  const Clock& clock_;
  // The store's clock less ours, once it has refused a request for its time.
  std::int64_t clock_offset_seconds_ = 0;
};

}  // namespace kvorum::archive
