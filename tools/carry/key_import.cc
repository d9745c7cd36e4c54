#include "tools/carry/key_import.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/text/go_quote.h"
#include "proto/rpc.pb.h"

namespace kvorum::ctl {
namespace {

// Losing an election takes some seconds; a cluster that answers nothing for longer needs somebody.
constexpr int kMostAttempts = 10;
constexpr std::chrono::milliseconds kPause(500);
constexpr std::size_t kMostGranted = 100'000;

bool MayPass(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
}

}  // namespace

// A transaction, and what it would count. Empty if nothing is to be written.
struct KeyImport::Step {
  etcdserverpb::TxnRequest txn = {};
  ImportCounts counts = {};
  std::string refused = {};  // the first key that has another value, and must not

  void Write(const ExportedKey& key, std::int64_t mod_revision, std::int64_t lease) {
    etcdserverpb::Compare& unchanged = *txn.add_compare();
    unchanged.set_key(key.key);
    unchanged.set_target(etcdserverpb::Compare::MOD);
    unchanged.set_result(etcdserverpb::Compare::EQUAL);
    unchanged.set_mod_revision(mod_revision);
    auto& put = *txn.add_success()->mutable_request_put();
    put.set_key(key.key);
    put.set_value(key.value);
    put.set_lease(lease);
  }
};

KeyImport::KeyImport(client::Client& client, const ImportRules& rules,
                     std::function<client::CallOptions()> call)
    : client_(client), rules_(rules), call_(std::move(call)) {}

Outcome<void> KeyImport::Put(std::span<const ExportedKey> batch) {
  if (rules_.leased != ImportRules::Leased::kSkip) return PutAttached(batch);
  std::vector<ExportedKey> plain;
  for (const ExportedKey& key : batch) {
    if (key.lease == 0)
      plain.push_back(key);
    else
      ++counts_.skipped;
  }
  return PutAttached(plain);
}

Outcome<void> KeyImport::PutAttached(std::span<const ExportedKey> batch) {
  if (batch.empty()) return {};
  for (int attempt = 1;; ++attempt) {
    const bool is_last = attempt >= kMostAttempts;
    const auto step = Plan(batch);
    if (!step && step.error().code == Code::kResourceExhausted && batch.size() > 1) {
      // The values that are there may be larger than those that come.
      const std::size_t half = batch.size() / 2;
      KV_RETURN_IF_ERROR(PutAttached(batch.first(half)));
      return PutAttached(batch.subspan(half));
    }
    if (!step) {
      if (is_last || !MayPass(step.error())) return std::unexpected(Failure(step.error()));
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (!step->refused.empty())
      return Fail(ExitCode::kError, "key " + GoQuote(step->refused) +
                                        " has another value (--existing=overwrite replaces such "
                                        "values, --existing=keep leaves them)");
    bool written = step->txn.success().empty() || rules_.dry_run;
    if (!written) {
      KV_RETURN_IF_ERROR(GrantLeases(batch));
      const auto done = client_.Txn(step->txn, call_());
      if (!done && (is_last || !MayPass(done.error())))
        return std::unexpected(Failure(done.error()));
      // The keys, read again, show if the batch of a lost answer was written.
      if (!done) std::this_thread::sleep_for(kPause);
      written = done && done->succeeded();
    }
    if (written) {
      counts_.created += step->counts.created;
      counts_.changed += step->counts.changed;
      counts_.equal += step->counts.equal;
      counts_.kept += step->counts.kept;
      return {};
    }
    if (is_last)
      return Fail(ExitCode::kError, "keys are being changed by others faster than they are put");
  }
}

Result<KeyImport::Step> KeyImport::Plan(std::span<const ExportedKey> batch) {
  etcdserverpb::TxnRequest reads;
  for (const ExportedKey& key : batch)
    reads.add_success()->mutable_request_range()->set_key(key.key);
  KV_TRY(const auto found, client_.Txn(reads, call_()));
  if (static_cast<std::size_t>(found.responses_size()) != batch.size())
    return kvorum::Fail(Code::kInternal, "an answer does not fit its question");
  Step step;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ExportedKey& key = batch[i];
    const auto& rows = found.responses(static_cast<int>(i)).response_range().kvs();
    const std::int64_t lease = rules_.leased == ImportRules::Leased::kGrant ? key.lease : 0;
    if (rows.empty()) {
      ++step.counts.created;
      step.Write(key, 0, lease);
    } else if (rows[0].value() == key.value && (lease == 0 || rows[0].lease() == lease)) {
      // Without a requested lease, the key's lease does not matter.
      ++step.counts.equal;
    } else if (rules_.existing == ImportRules::Existing::kKeep) {
      ++step.counts.kept;
    } else {
      const bool refuses = rules_.existing == ImportRules::Existing::kRefuse;
      if (refuses && !rules_.dry_run && step.refused.empty()) step.refused = key.key;
      ++step.counts.changed;
      step.Write(key, rows[0].mod_revision(), lease);
    }
  }
  return step;
}

// A lease that exists already is one that an earlier run has granted, or another key's.
Outcome<void> KeyImport::GrantLeases(std::span<const ExportedKey> batch) {
  if (rules_.leased != ImportRules::Leased::kGrant) return {};
  for (const ExportedKey& key : batch) {
    if (key.lease == 0 || granted_.contains(key.lease)) continue;
    if (key.ttl_s <= 0)
      return Fail(ExitCode::kError, "the lease of key " + GoQuote(key.key) +
                                        " was gone when it was exported (--leased=plain puts such "
                                        "keys without a lease)");
    etcdserverpb::LeaseGrantRequest request;
    request.set_id(key.lease);
    request.set_ttl(key.ttl_s);
    const auto granted = client_.LeaseGrant(request, call_());
    if (!granted && granted.error().message != kErrLeaseExist.message)
      return std::unexpected(Failure(granted.error()));
    if (granted_.size() >= kMostGranted) granted_.clear();
    granted_.insert(key.lease);
  }
  return {};
}

}  // namespace kvorum::ctl
