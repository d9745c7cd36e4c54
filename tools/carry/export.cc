#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ostream>
#include <unordered_map>

#include "proto/rpc.pb.h"
#include "tools/carry/carry_commands.h"
#include "tools/carry/export_format.h"
#include "tools/session/key_pager.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/progress_bar.h"

namespace kvorum::ctl {
namespace {

// The times that leases were granted for. Asked for once each, as far as memory is bounded.
class LeaseTimes {
 public:
  LeaseTimes(client::Client& client, const Session& session) : client_(client), session_(session) {}

  // 0 if the lease is gone.
  Outcome<std::int64_t> GrantedSeconds(std::int64_t lease) {
    if (const auto it = known_.find(lease); it != known_.end()) return it->second;
    if (known_.size() >= kMostKnown) known_.clear();
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(lease);
    KV_TRY(const auto answer, client_.LeaseTimeToLive(request, session_.Call()));
    return known_[lease] = std::max<std::int64_t>(answer.grantedttl(), 0);
  }

 private:
  static constexpr std::size_t kMostKnown = 100'000;

  client::Client& client_;
  const Session& session_;
  std::unordered_map<std::int64_t, std::int64_t> known_;
};

Outcome<ExportedKey> Exported(const mvccpb::KeyValue& kv, LeaseTimes& leases) {
  ExportedKey key{.key = kv.key(),
                  .value = kv.value(),
                  .create_revision = kv.create_revision(),
                  .mod_revision = kv.mod_revision(),
                  .version = kv.version(),
                  .lease = kv.lease()};
  if (key.lease != 0) {
    KV_TRY(key.ttl_s, leases.GrantedSeconds(key.lease));
  }
  return key;
}

Outcome<void> RunExport(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() > 1) return BadArguments("export takes at most one prefix");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  const std::string prefix = invocation.args.empty() ? "" : invocation.args.front();
  KeyPager pager(*client, {.prefix = prefix, .revision = flags.Int("rev")},
                 [&] { return session.Call(); });
  std::ostream& out = invocation.world.out;
  LeaseTimes leases(*client, session);

  std::atomic<std::int64_t> done{0};
  KV_TRY(bool found, pager.Next());
  out << WriteExportLine(ExportHead{.cluster = pager.cluster(),
                                    .revision = pager.revision(),
                                    .prefix = prefix,
                                    .keys = pager.count()})
      << '\n';
  {
    const ProgressBar bar(invocation.world, [&, count = pager.count()] {
      const auto whole = static_cast<double>(std::max<std::int64_t>(count, 1));
      return ProgressBar::State{static_cast<double>(done) / whole,
                                fmt::format("{} of {} keys", done.load(), count)};
    });
    while (found) {
      KV_TRY(const ExportedKey key, Exported(pager.kv(), leases));
      out << WriteExportLine(key) << '\n';
      if (!out.good()) return Fail(ExitCode::kError, "the output can't be written");
      ++done;
      KV_TRY(found, pager.Next());
    }
  }
  out << WriteExportLine(ExportEnd{.keys = done}) << '\n' << std::flush;
  if (!out.good()) return Fail(ExitCode::kError, "the output can't be written");
  return {};
}

}  // namespace

Command ExportCommand() {
  return {
      .use = "export [options] [prefix]",
      .brief = "Writes keys and values as lines of JSON",
      .description =
          R"(Writes all keys, or those with the prefix, to standard output, for `kvorumctl import` or another program.

All of them are of one revision, read in pages: neither this command nor a member holds them all. A
compaction of that revision meanwhile ends the export with an error; an export that is complete ends
with a line that says so. Each line is a JSON object with key and value in base64. Keys with a lease
have its id and the seconds that it was granted for.
)",
      .group = kUtilityGroup,
      .flags = {{"rev", FlagType::kInt, "0",
                 "write the keys of this revision (0: the current one)"}},
      .run = RunExport};
}

}  // namespace kvorum::ctl
