#include "tests/differential/request_stream.h"

#include <string>
#include <utility>

#include "tests/differential/random_requests.h"

namespace kvorum::differential {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kRequestLimit = 1536 * kKiB;                 // --max-request-bytes
constexpr std::size_t kMessageLimit = kRequestLimit + 512 * kKiB;  // of gRPC
constexpr std::int64_t kMostOps = 128;                             // --max-txn-ops

etcdserverpb::PutRequest Put(std::string key, std::string value) {
  etcdserverpb::PutRequest put;
  put.set_key(std::move(key));
  put.set_value(std::move(value));
  return put;
}

etcdserverpb::RangeRequest Range(std::string key, std::string end = {}) {
  etcdserverpb::RangeRequest range;
  range.set_key(std::move(key));
  range.set_range_end(std::move(end));
  return range;
}

etcdserverpb::DeleteRangeRequest Delete(std::string key, std::string end = {}) {
  etcdserverpb::DeleteRangeRequest del;
  del.set_key(std::move(key));
  del.set_range_end(std::move(end));
  return del;
}

}  // namespace

Request SettleCompactions() {
  etcdserverpb::CompactionRequest compaction;
  compaction.set_revision(-1);
  compaction.set_physical(true);
  return compaction;
}

std::vector<Request> RequestStream::Next(std::size_t count) {
  std::vector<Request> requests;
  while (requests.size() < count) AddStory(requests);
  return requests;
}

void RequestStream::AddStory(std::vector<Request>& requests) {
  const std::int64_t dice = choices_.Between(1, 10000);
  if (dice <= 5200) {
    requests.emplace_back(RandomRange(choices_));
  } else if (dice <= 7200) {
    requests.emplace_back(RandomPut(choices_));
  } else if (dice <= 7600) {
    AddLeaseStory(requests);
  } else if (dice <= 8000) {
    requests.emplace_back(RandomDelete(choices_));
  } else if (dice <= 9900) {
    AddTxnStory(requests);
  } else if (dice <= 9950) {
    requests.emplace_back(RandomCompaction(choices_));
  } else if (dice <= 9980) {
    requests.push_back(SettleCompactions());
    requests.emplace_back(RandomHashKv(choices_));
  } else if (dice <= 9986) {
    AddManyOps(requests);
  } else if (dice <= 9988) {
    AddLargeValue(requests);
  } else if (dice <= 9990) {
    AddLargeKey(requests);
  } else {
    AddTooLarge(requests);
  }
}

void RequestStream::AddTxnStory(std::vector<Request>& requests) {
  if (choices_.Percent(30)) {
    requests.emplace_back(RandomReadTxn(choices_));
  } else {
    requests.emplace_back(RandomTxn(choices_));
  }
}

void RequestStream::AddLeaseStory(std::vector<Request>& requests) {
  const std::int64_t lease = choices_.Lease();
  const std::int64_t dice = choices_.Between(1, 100);
  if (dice <= 45) {
    requests.emplace_back(RandomGrant(choices_));
  } else if (dice <= 60) {
    etcdserverpb::LeaseRevokeRequest revoke;
    revoke.set_id(lease);
    requests.emplace_back(std::move(revoke));
  } else if (dice <= 75) {
    etcdserverpb::LeaseKeepAliveRequest keep_alive;
    keep_alive.set_id(lease);
    requests.emplace_back(std::move(keep_alive));
  } else if (dice <= 95) {
    etcdserverpb::LeaseTimeToLiveRequest times;
    times.set_id(lease);
    times.set_keys(choices_.Percent(70));
    requests.emplace_back(std::move(times));
  } else {
    requests.emplace_back(etcdserverpb::LeaseLeasesRequest());
  }
}

void RequestStream::AddManyOps(std::vector<Request>& requests) {
  const std::int64_t ops =
      choices_.Percent(50) ? kMostOps + choices_.Between(-1, 3) : choices_.Between(1, kMostOps - 1);
  const std::int64_t nested = choices_.Percent(50) ? kMostOps - ops + choices_.Between(-1, 1) : 0;
  etcdserverpb::TxnRequest txn = LongTxn(choices_, ops, nested);
  if (choices_.OneIn(4)) {
    for (auto n = kMostOps + choices_.Between(0, 1); n > 0; --n) {
      *txn.add_compare() = RandomCompare(choices_);
    }
  }
  requests.emplace_back(std::move(txn));
  requests.emplace_back(Range("many/", "many0"));
  if (choices_.Percent(70)) requests.emplace_back(Delete("many/", "many0"));
}

void RequestStream::AddLargeValue(std::vector<Request>& requests) {
  const auto bytes = static_cast<std::size_t>(
      choices_.Between(100 * kKiB, static_cast<std::int64_t>(kRequestLimit - kKiB)));
  requests.emplace_back(Put("large", std::string(bytes, 'l')));
  requests.emplace_back(Range("large"));
  requests.emplace_back(Range("b", "m"));
  etcdserverpb::PutRequest again = Put("large", std::string(bytes, 'm'));
  again.set_prev_kv(true);
  requests.emplace_back(std::move(again));
  etcdserverpb::DeleteRangeRequest del = Delete("large");
  del.set_prev_kv(true);
  requests.emplace_back(std::move(del));
}

void RequestStream::AddLargeKey(std::vector<Request>& requests) {
  const auto bytes = static_cast<std::size_t>(choices_.Between(100 * kKiB, 1024 * kKiB));
  const std::string key(bytes, 'l');
  requests.emplace_back(Put(key, "of a large key"));
  requests.emplace_back(Range(key));
  etcdserverpb::RangeRequest keys_only = Range("l", "m");
  keys_only.set_keys_only(true);
  requests.emplace_back(std::move(keys_only));
  requests.emplace_back(Delete(key));
}

void RequestStream::AddTooLarge(std::vector<Request>& requests) {
  // Not at the limits themselves: a proposal holds an id of the server's own, of any length.
  const std::size_t too_large = kRequestLimit + kKiB;
  const auto beyond_grpc =
      kMessageLimit + static_cast<std::size_t>(choices_.Between(1, 1024 * 1024));
  switch (choices_.Between(0, 6)) {
    case 0:
      requests.emplace_back(Put("too large", std::string(too_large, 'v')));
      break;
    case 1:
      requests.emplace_back(Put("too large", std::string(beyond_grpc, 'v')));
      break;
    case 2:
      requests.emplace_back(Range(std::string(too_large, 'k')));
      break;
    case 3:
      requests.emplace_back(Range(std::string(beyond_grpc, 'k')));
      break;
    case 4:
      requests.emplace_back(Delete(std::string(too_large, 'k')));
      break;
    case 5: {
      etcdserverpb::TxnRequest txn;
      *txn.add_success()->mutable_request_put() = Put("too", std::string(800 * kKiB, 'v'));
      *txn.add_failure()->mutable_request_put() = Put("large", std::string(800 * kKiB, 'v'));
      requests.emplace_back(std::move(txn));
      break;
    }
    default: {
      etcdserverpb::TxnRequest txn;
      txn.add_compare()->set_key("a");
      txn.mutable_compare(0)->set_target(etcdserverpb::Compare::VALUE);
      txn.mutable_compare(0)->set_value(std::string(too_large, 'v'));
      *txn.add_failure()->mutable_request_range() = Range("a");
      requests.emplace_back(std::move(txn));
      break;
    }
  }
}

}  // namespace kvorum::differential
