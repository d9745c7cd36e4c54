#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <istream>
#include <ostream>
#include <thread>
#include <vector>

#include "tools/carry/carry_commands.h"
#include "tools/carry/export_format.h"
#include "tools/carry/key_import.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/progress_bar.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

// Base64 makes 4 of 3 bytes, and no server takes a request of this size.
constexpr std::size_t kMostLineBytes = 256 << 20;
// Below the servers' limit of 1.5 MiB a request.
constexpr std::size_t kBatchBytes = 1 << 20;

// The lines of an export, checked for completeness.
class ExportReader {
 public:
  explicit ExportReader(std::istream& in) : in_(in) {}

  Outcome<ExportHead> ReadHead() {
    KV_TRY(const ExportLine line, ReadLine());
    if (const auto* head = std::get_if<ExportHead>(&line)) return *head;
    return Bad("the export does not begin with its first line");
  }
  // False at the end.
  Outcome<bool> ReadKey(ExportedKey& key) {
    KV_TRY(ExportLine line, ReadLine());
    if (auto* found = std::get_if<ExportedKey>(&line)) {
      key = std::move(*found);
      ++keys_;
      return true;
    }
    const auto* end = std::get_if<ExportEnd>(&line);
    if (end == nullptr) return Bad("a second first line");
    if (end->keys != keys_) return Bad(fmt::format("{} keys are missing", end->keys - keys_));
    return false;
  }

 private:
  std::unexpected<Failure> Bad(std::string_view why) const {
    return Fail(ExitCode::kInvalidInput, fmt::format("line {}: {}", number_, why));
  }

  Outcome<ExportLine> ReadLine() {
    ++number_;
    text_.clear();
    int c = 0;
    std::streambuf& bytes = *in_.rdbuf();
    while ((c = bytes.sbumpc()) != std::istream::traits_type::eof() && c != '\n') {
      if (text_.size() >= kMostLineBytes) return Bad("the line is too long");
      text_ += static_cast<char>(c);
    }
    // Each line of a complete export ends with a newline.
    if (c != '\n') return Bad("the export is cut off here");
    auto line = ReadExportLine(text_);
    if (!line) return Bad(line.error().message);
    return *std::move(line);
  }

  std::istream& in_;
  std::string text_;
  std::int64_t number_ = 0;
  std::int64_t keys_ = 0;
};

Outcome<ImportRules> RulesFrom(const FlagSet& flags) {
  ImportRules rules{.dry_run = flags.Switch("dry-run")};
  const std::string& existing = flags.String("existing");
  if (existing == "overwrite")
    rules.existing = ImportRules::Existing::kOverwrite;
  else if (existing == "keep")
    rules.existing = ImportRules::Existing::kKeep;
  else if (existing != "refuse")
    return Fail(ExitCode::kBadFeature, "unknown --existing: refuse, overwrite or keep");
  const std::string& leased = flags.String("leased");
  if (leased == "plain")
    rules.leased = ImportRules::Leased::kPlain;
  else if (leased == "grant")
    rules.leased = ImportRules::Leased::kGrant;
  else if (leased != "skip")
    return Fail(ExitCode::kBadFeature, "unknown --leased: skip, plain or grant");
  return rules;
}

// Waits until so many keys are due.
class ImportRate {
 public:
  explicit ImportRate(std::int64_t keys_per_second) : keys_per_second_(keys_per_second) {}

  void Wait(std::uint64_t keys) const {
    if (keys_per_second_ <= 0) return;
    const double due_s = static_cast<double>(keys) / static_cast<double>(keys_per_second_);
    std::this_thread::sleep_until(start_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                               std::chrono::duration<double>(due_s)));
  }

 private:
  const std::int64_t keys_per_second_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Outcome<void> ImportAll(Invocation& invocation, ExportReader& reader, const ExportHead& head,
                        KeyImport& import) {
  const auto most = static_cast<std::size_t>(invocation.flags.Int("batch"));
  const ImportRate rate(invocation.flags.Int("rate"));
  std::atomic<std::uint64_t> done{0};
  const ProgressBar bar(invocation.world, [&] {
    const auto whole = static_cast<double>(std::max<std::int64_t>(head.keys, 1));
    return ProgressBar::State{static_cast<double>(done) / whole,
                              fmt::format("{} of {} keys", done.load(), head.keys)};
  });
  std::vector<ExportedKey> batch;
  std::size_t bytes = 0;
  const auto flush = [&]() -> Outcome<void> {
    rate.Wait(done);
    KV_RETURN_IF_ERROR(import.Put(batch));
    done += batch.size();
    batch.clear();
    bytes = 0;
    return {};
  };
  while (true) {
    ExportedKey key;
    KV_TRY(const bool found, reader.ReadKey(key));
    if (!found) return flush();
    // The key stands in the comparison too.
    const std::size_t more = 2 * key.key.size() + key.value.size();
    // An export has each key once; another program's lines may not.
    const bool repeated = std::ranges::find(batch, key.key, &ExportedKey::key) != batch.end();
    if (batch.size() >= most || bytes + more > kBatchBytes || repeated) KV_RETURN_IF_ERROR(flush());
    batch.push_back(std::move(key));
    bytes += more;
  }
}

void ShowImported(const ImportCounts& counts, bool dry_run, std::string_view format,
                  std::ostream& out) {
  if (format == "json") {
    out << JsonObject()
               .Add("dry_run", dry_run ? "true" : "false")
               .Add("created", std::to_string(counts.created))
               .Add("changed", std::to_string(counts.changed))
               .Add("equal", std::to_string(counts.equal))
               .Add("kept", std::to_string(counts.kept))
               .Add("skipped", std::to_string(counts.skipped))
               .Finish()
        << '\n';
    return;
  }
  out << fmt::format("{} {} keys: {} new, {} with another value before\n",
                     dry_run ? "would put" : "put", counts.created + counts.changed, counts.created,
                     counts.changed)
      << fmt::format("left alone {} keys: {} were there already, {} have another value\n",
                     counts.equal + counts.kept, counts.equal, counts.kept);
  if (counts.skipped > 0)
    out << fmt::format(
        "left out {} keys with leases (--leased=plain puts them without, --leased=grant with)\n",
        counts.skipped);
}

Outcome<void> RunImport(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  if (invocation.args.size() > 1) return BadArguments("import takes at most one file");
  if (flags.Int("batch") < 1 || flags.Int("batch") > 10'000)
    return BadArguments("--batch must be from 1 to 10000");
  if (flags.Int("rate") < 0) return BadArguments("--rate must not be negative");
  KV_TRY(const ImportRules rules, RulesFrom(flags));
  std::ifstream file;
  if (!invocation.args.empty()) {
    file.open(invocation.args.front(), std::ios::binary);
    if (!file) return BadArguments("can't open " + invocation.args.front());
  }
  ExportReader reader(invocation.args.empty() ? invocation.world.in : file);
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json"}));
  KV_TRY(const ExportHead head, reader.ReadHead());
  KV_TRY(const auto client, session.Connect());
  KeyImport import(*client, rules, [&] { return session.Call(); });
  const auto done = ImportAll(invocation, reader, head, import);
  // An error does not keep back the counts of what was put before it.
  ShowImported(import.counts(), rules.dry_run, format, invocation.world.out);
  return done;
}

}  // namespace

Command ImportCommand() {
  return {
      .use = "import [options] [file]",
      .brief = "Puts the keys and values of an export",
      .description = R"(Reads an export from the file, or from standard input, and puts its keys.

Keys whose value is there already are left alone, so an import that was interrupted is finished by
running it again. A key that exists with another value ends the import, unless --existing says what
to do with it. Each batch is one transaction, and no change that somebody else makes meanwhile is
overwritten unseen. --dry-run reads and compares everything and puts nothing.
)",
      .group = kUtilityGroup,
      .flags = {{"existing",
                 FlagType::kString,
                 "refuse",
                 "what to do with keys that have another value: refuse, overwrite or keep",
                 {"refuse", "overwrite", "keep"}},
                {"leased",
                 FlagType::kString,
                 "skip",
                 "what to do with keys that had a lease: skip them, put them plain, or "
                 "grant the lease anew",
                 {"skip", "plain", "grant"}},
                {"batch", FlagType::kInt, "100",
                 "keys per transaction (at most the server's --max-txn-ops, 128 by default)"},
                {"rate", FlagType::kInt, "0", "maximum number of keys per second (0: unlimited)"},
                {.name = "dry-run", .help = "report what would be put without putting it"}},
      .run = RunImport};
}

}  // namespace kvorum::ctl
