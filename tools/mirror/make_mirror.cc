#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>

#include "base/api_errors.h"
#include "base/key_range.h"
#include "proto/rpc.pb.h"
#include "tools/mirror/mirror_commands.h"
#include "tools/session/kv_requests.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

constexpr std::int64_t kSourcePageKeys = 1'000;
constexpr std::chrono::seconds kReportInterval(30);

// Prints the number of keys written, every half a minute, until it is destroyed.
class CopyReporter {
 public:
  explicit CopyReporter(std::ostream& out) : out_(out), thread_([this] { Run(); }) {}
  ~CopyReporter() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  CopyReporter(const CopyReporter&) = delete;
  CopyReporter& operator=(const CopyReporter&) = delete;

  void Add(std::int64_t keys) {
    const std::lock_guard lock(mutex_);
    total_ += keys;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kReportInterval, [this] { return stopping_; }))
      out_ << total_ << std::endl;
  }

  std::ostream& out_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::int64_t total_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

struct Mirror {
  client::Client& source;
  client::Client& destination;
  CopyReporter& reporter;
  std::string prefix;
  std::string destination_prefix;
  std::size_t max_txn_ops = 0;

  std::string Renamed(const std::string& key) const {
    return destination_prefix + key.substr(prefix.size());
  }
  // Copies all keys at one revision, which is returned.
  Result<std::int64_t> CopyAll();
  // Copies the changes from a revision on, until the watch ends.
  Result<void> Follow(std::int64_t from);
  Result<void> Apply(const etcdserverpb::WatchResponse& response);
  Result<void> Commit(etcdserverpb::TxnRequest& txn);
};

Result<std::int64_t> Mirror::CopyAll() {
  etcdserverpb::RangeRequest page;
  page.set_key(prefix.empty() ? std::string(1, '\0') : prefix);
  page.set_range_end(PrefixEnd(prefix));
  page.set_limit(kSourcePageKeys);
  while (true) {
    KV_TRY(const etcdserverpb::RangeResponse response, source.Range(page));
    if (page.revision() == 0) page.set_revision(response.header().revision());
    for (const mvccpb::KeyValue& kv : response.kvs()) {
      etcdserverpb::PutRequest put;
      put.set_key(Renamed(kv.key()));
      put.set_value(kv.value());
      KV_RETURN_IF_ERROR(destination.Put(put));
      reporter.Add(1);
    }
    if (!response.more()) return page.revision();
    page.set_key(response.kvs(response.kvs_size() - 1).key() + '\0');
  }
}

Result<void> Mirror::Follow(std::int64_t from) {
  etcdserverpb::WatchCreateRequest request;
  request.set_key(prefix);
  request.set_range_end(PrefixEnd(prefix));
  request.set_start_revision(from);
  return source.NewWatch(request)->Run(
      [this](const etcdserverpb::WatchResponse& response) { return Apply(response); });
}

// The changes of one revision are made in one transaction, as far as max_txn_ops allows.
Result<void> Mirror::Apply(const etcdserverpb::WatchResponse& response) {
  if (response.compact_revision() != 0) return kErrCompacted.Fail();
  etcdserverpb::TxnRequest txn;
  std::int64_t revision = 0;
  for (const mvccpb::Event& event : response.events()) {
    const bool is_next = event.kv().mod_revision() != revision;
    if (is_next || static_cast<std::size_t>(txn.success_size()) >= max_txn_ops)
      KV_RETURN_IF_ERROR(Commit(txn));
    revision = event.kv().mod_revision();
    if (event.type() == mvccpb::Event::PUT) {
      auto* put = txn.add_success()->mutable_request_put();
      put->set_key(Renamed(event.kv().key()));
      put->set_value(event.kv().value());
    } else {
      txn.add_success()->mutable_request_delete_range()->set_key(Renamed(event.kv().key()));
    }
  }
  return Commit(txn);
}

Result<void> Mirror::Commit(etcdserverpb::TxnRequest& txn) {
  if (txn.success_size() == 0) return {};
  KV_RETURN_IF_ERROR(destination.Txn(txn));
  reporter.Add(txn.success_size());
  txn.Clear();
  return {};
}

Outcome<void> RunMakeMirror(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() != 1)
    return BadArguments("make-mirror takes one destination argument");
  const bool to_root = flags.Switch("no-dest-prefix");
  if (to_root && !flags.String("dest-prefix").empty())
    return BadArguments(
        "`--dest-prefix` and `--no-dest-prefix` cannot be set at the same time, choose one");
  if (flags.Int("max-txn-ops") < 1) return BadArguments("--max-txn-ops must be at least 1");
  KV_TRY(const auto log_in, DestinationLogIn(invocation));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto destination, Session::ConnectWith(session.DestinationOptions(
                                     invocation, {invocation.args.front()}, log_in)));
  KV_TRY(const auto source, session.Connect());

  CopyReporter reporter(invocation.world.out);
  const std::string& prefix = flags.String("prefix");
  const std::string& renamed = flags.String("dest-prefix");
  Mirror mirror{.source = *source,
                .destination = *destination,
                .reporter = reporter,
                .prefix = prefix,
                .destination_prefix = to_root || !renamed.empty() ? renamed : prefix,
                .max_txn_ops = static_cast<std::size_t>(flags.Int("max-txn-ops"))};
  std::int64_t from = flags.Int("rev");
  if (from <= 1) {
    KV_TRY(const auto copied, mirror.CopyAll());
    from = copied + 1;
  }
  KV_RETURN_IF_ERROR(mirror.Follow(from));
  return Fail(ExitCode::kError, "the watch was canceled");
}

std::vector<Flag> MirrorFlags() {
  std::vector<Flag> flags = {
      {"prefix", FlagType::kString, "", "mirror only keys with this prefix"},
      {"rev", FlagType::kInt, "0",
       "skip the initial copy and mirror every change from this revision on"},
      {"max-txn-ops", FlagType::kInt, "128", "maximum number of changes in one transaction"},
      {"dest-prefix", FlagType::kString, "",
       "prefix that replaces the source's prefix in the destination"},
      {.name = "no-dest-prefix", .help = "drop the prefix in the destination"}};
  for (Flag& flag : DestinationFlags()) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace

Command MakeMirrorCommand() {
  return {
      .use = "make-mirror [options] <destination>",
      .brief = "Makes a mirror at the destination etcd cluster",
      .description = R"(Copies keys and values to another cluster, then every change as it comes.

What one transaction changes here, one transaction changes there. Leases are not copied. The
destination's own revisions are its own. Every 30 seconds the number of keys written is printed.
)",
      .group = kUtilityGroup,
      .flags = MirrorFlags(),
      .run = RunMakeMirror};
}

}  // namespace kvorum::ctl
