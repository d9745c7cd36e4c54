// Every key of a range at one revision, in pages, so that memory does not grow with the range.
//
// Used by one thread. A page is of about 4 MiB and has at most 200 keys, so one is held of at most
// so many of the largest values. Half as many keys are asked for when a page is refused as too
// large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "client/client.h"
#include "proto/rpc.pb.h"

namespace kvorum::ctl {

struct PagedRange {
  std::string prefix = {};    // empty: every key
  std::int64_t revision = 0;  // 0: the current one
  bool keys_only = false;
};

class KeyPager {
 public:
  // `call` makes the options of each page's call. The client outlives the pager.
  KeyPager(client::Client& client, const PagedRange& range,
           std::function<client::CallOptions()> call);

  // Goes on to the next key, at first to the first; false after the last.
  Result<bool> Next();
  // The key that Next went to.
  const mvccpb::KeyValue& kv() const { return page_.kvs(at_); }

  // After the first Next: the revision of all pages, the keys of the whole range, and the cluster.
  std::int64_t revision() const { return request_.revision(); }
  std::int64_t count() const { return count_; }
  std::uint64_t cluster() const { return cluster_; }

 private:
  Result<void> Fetch();
  std::int64_t NextLimit() const;

  client::Client& client_;
  const std::function<client::CallOptions()> call_;
  etcdserverpb::RangeRequest request_;
  etcdserverpb::RangeResponse page_;
  int at_ = -1;
  std::int64_t count_ = 0;
  std::uint64_t cluster_ = 0;
};

}  // namespace kvorum::ctl
