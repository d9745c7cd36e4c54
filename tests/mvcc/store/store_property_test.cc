// The store compared with its model under random operations: entries in batches, reads,
// compactions, tasks of the executors in any order, restarts that lose data that was not durable. A
// history that fails is shrunk before it is shown. KVORUM_SEED=n runs others.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <list>
#include <sstream>

#include "base/log/logging.h"
#include "mvcc/records/validate.h"
#include "tests/mvcc/store_fixture.h"
#include "tests/mvcc/store_model.h"
#include "tests/mvcc/store_random.h"
#include "tests/shrink.h"

namespace kvorum::mvcc {
namespace {

struct Operation {
  enum Kind {
    kPut,
    kDelete,
    kTxn,
    kRange,
    kReadTxn,
    kCompact,
    kPublish,
    kRunTasks,
    kSettle,
    kHash,
    kHoldView,
    kReadHeld,
    kReopen,
  };
  Kind kind;
  std::uint64_t seed;
};
using Operations = std::vector<Operation>;

class Replay {
 public:
  explicit Replay(StoreHarness::Kind kind) : harness_(kind), model_(harness_.leases.leases) {
    harness_.leases.leases = {1, 2, 3};
    harness_.options.compaction = {
        .batch_limit = 3, .pause = std::chrono::milliseconds(1), .index_step = 4};
    harness_.options.restore_threads = 3;
    if (kind == StoreHarness::Kind::kMemory)
      harness_.options.index_file = {.files = &harness_.files,
                                     .database_path = harness_.DatabasePath(),
                                     .seed = 1,
                                     .saving = {.least_records = 1,
                                                .share = 3,
                                                .pause = std::chrono::milliseconds(20),
                                                .piece_bytes = 10,
                                                .free_bytes = 0}};
    harness_.Reopen();
    Remember();
  }

  // The failure, or nothing.
  std::string Run(const Operations& operations) {
    for (const Operation& operation : operations) {
      const std::string wrong = Do(operation);
      if (!wrong.empty()) return wrong;
      harness_.store->CheckInvariants();
    }
    return Do({.kind = Operation::kSettle, .seed = 0});
  }

 private:
  struct Held {
    ReadView view;
    StoreModel model;
  };

  static std::string Differs(const std::string& real, const std::string& model) {
    return real == model ? "" : "real:  " + real + "\nmodel: " + model;
  }

  std::string Do(const Operation& operation) {
    RandomRequests random(operation.seed, model_.revision());
    Rng rng(operation.seed);
    switch (operation.kind) {
      case Operation::kPut: {
        const PutRequest request = random.Put();
        WriteTxn txn = harness_.store->Begin();
        return Differs(ShowAnswer(txn.Put(request)), model_.Put(request));
      }
      case Operation::kDelete: {
        const DeleteRangeRequest request = random.Delete();
        WriteTxn txn = harness_.store->Begin();
        return Differs(ShowAnswer(txn.DeleteRange(request)), model_.Delete(request));
      }
      case Operation::kTxn: {
        const TxnRequest request = random.Txn();
        if (!CheckTxn(request, 128)) return "";
        if (rng.OneIn(4)) return TxnWithLittleRoom(request, rng);
        WriteTxn txn = harness_.store->Begin();
        return Differs(ShowAnswer(txn.ExecuteTxn(request)), model_.Txn(request));
      }
      case Operation::kRange: {
        const RangeRequest request = random.Range();
        return Differs(ShowAnswer(Ok(harness_.store->Read()).Range(request)),
                       published_.Range(request));
      }
      case Operation::kReadTxn: {
        const TxnRequest request = random.Txn(/*read_only=*/true);
        StoreModel model = published_;
        return Differs(ShowAnswer(Ok(harness_.store->Read()).Txn(request)), model.Txn(request));
      }
      case Operation::kCompact:
        return Compact(random.Revision());
      case Operation::kPublish:
        Publish();
        return "";
      case Operation::kRunTasks:
        for (std::uint64_t n = rng.Below(12); n > 0; --n) {
          harness_.executors->RunOneOf(rng);
          if (rng.OneIn(4)) harness_.executors->clock.Advance(std::chrono::milliseconds(1));
        }
        return "";
      case Operation::kSettle:
        return Settle();
      case Operation::kHash:
        return Hash(rng.OneIn(3) ? 0 : random.Revision());
      case Operation::kHoldView:
        if (held_.size() < 3) held_.push_back({Ok(harness_.store->Read()), published_});
        return "";
      case Operation::kReadHeld:
        return ReadHeld(random.Range(), rng);
      case Operation::kReopen:
        return Reopen();
    }
    return "an operation of unknown kind";
  }

  // Refusals and writes are the same if the answer has no waiter, or if not all of it is admitted.
  std::string TxnWithLittleRoom(const TxnRequest& request, Rng& rng) {
    const bool is_wanted = rng.OneIn(2);
    AnswerRoom room(static_cast<std::size_t>(rng.Below(200)),
                    {.is_wanted = [=] { return is_wanted; }, .reserve = nullptr});
    std::string real;
    {
      WriteTxn txn = harness_.store->Begin(room);
      real = ShowAnswer(txn.ExecuteTxn(request));
    }
    const std::string model = model_.Txn(request);
    const auto outcome = [](const std::string& answer) {
      return answer.starts_with("error") ? answer : answer.substr(0, answer.find('{'));
    };
    return Differs(outcome(real), outcome(model));
  }

  std::string Compact(std::int64_t revision) {
    const bool future = revision > model_.revision();
    ++compactions_;
    const Result<void> real =
        harness_.store->Compact(revision, [this] { ++harness_.compactions_finished; });
    if (future) --compactions_;  // no callback comes
    return Differs(real ? "compacted" : "error " + real.error().message, model_.Compact(revision));
  }

  void Publish() {
    harness_.Publish();
    published_ = model_;
    Remember();
  }

  void Remember() { by_index_.insert_or_assign(harness_.index, model_); }

  // Everything durable, compactions done: the backend holds exactly what it must.
  std::string Settle() {
    Publish();
    held_.clear();
    harness_.Settle();
    if (harness_.durable_index != harness_.index) return "a settled store is not durable";
    if (harness_.compactions_finished != compactions_) return "a compaction's end was not told";
    const Reader reader = Ok(harness_.backend->NewReader());
    std::vector<std::string> records;
    Ok(reader->ScanRevisions({}, {.main = INT64_MAX, .sub = 0}, [&](const RevisionRecord& record) {
      records.push_back(std::to_string(record.revision.main) + "." +
                        std::to_string(record.revision.sub) + (record.tombstone ? "t" : ""));
      return true;
    }));
    return Differs(testing::PrintToString(records), testing::PrintToString(model_.Records()));
  }

  std::string Hash(std::int64_t revision) {
    const Result<KvHash> real = harness_.store->HashKv(revision);
    const std::int64_t asked = revision == 0 ? published_.revision() : revision;
    if (!real) {
      if (asked > published_.revision() && real.error() == kErrFutureRev) return "";
      if (asked > 0 && asked < published_.compact_revision() && real.error() == kErrCompacted) {
        return "";
      }
      return "hash: " + real.error().message;
    }
    // With the compaction before the last one it is what the compaction at this revision has left.
    const std::uint32_t expected = real->compact_revision == published_.compact_revision()
                                       ? published_.Hash(real->compact_revision, asked)
                                       : published_.HashOfCompaction(real->compact_revision, asked);
    if (real->revision != asked || real->hash != expected) {
      return "hash of " + std::to_string(asked) + " compacted at " +
             std::to_string(real->compact_revision) + " is " + std::to_string(real->hash) +
             ", not " + std::to_string(expected);
    }
    return "";
  }

  std::string ReadHeld(const RangeRequest& request, Rng& rng) {
    if (held_.empty()) return "";
    const auto held =
        std::next(held_.begin(), static_cast<std::ptrdiff_t>(rng.Below(held_.size())));
    const std::string wrong =
        Differs(ShowAnswer(held->view.Range(request)), held->model.Range(request));
    if (rng.OneIn(3)) held_.erase(held);
    return wrong;
  }

  std::string Reopen() {
    held_.clear();
    const std::uint64_t durable = harness_.durable_index;
    harness_.Reopen();
    if (harness_.index < durable) return "what was told to be durable is gone";
    const auto found = by_index_.find(harness_.index);
    if (found == by_index_.end()) return "the consistent index is none that was published";
    model_ = published_ = StoreModel(found->second);
    compactions_ = harness_.compactions_finished = 0;
    if (harness_.revision() != model_.revision()) {
      return "restored revision " + std::to_string(harness_.revision()) + ", not " +
             std::to_string(model_.revision());
    }
    return Differs(ShowAnswer(Ok(harness_.store->Read()).Range(GetAll())), model_.Range(GetAll()));
  }

  StoreHarness harness_;
  StoreModel model_;
  StoreModel published_{harness_.leases.leases};
  std::map<std::uint64_t, StoreModel> by_index_;
  std::list<Held> held_;
  int compactions_ = 0;
};

Operations RandomOperations(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  static constexpr Operation::Kind kKinds[] = {
      Operation::kPut,     Operation::kPut,      Operation::kPut,     Operation::kPut,
      Operation::kDelete,  Operation::kTxn,      Operation::kTxn,     Operation::kTxn,
      Operation::kRange,   Operation::kRange,    Operation::kRange,   Operation::kRange,
      Operation::kReadTxn, Operation::kCompact,  Operation::kPublish, Operation::kPublish,
      Operation::kPublish, Operation::kRunTasks, Operation::kHash,    Operation::kHoldView,
      Operation::kReadHeld};
  Operations operations;
  for (std::size_t i = 0; i < count; ++i) {
    Operation operation{.kind = kKinds[rng.Below(std::size(kKinds))], .seed = rng()};
    if (rng.OneIn(60)) operation.kind = Operation::kReopen;
    if (rng.OneIn(40)) operation.kind = Operation::kSettle;
    operations.push_back(operation);
  }
  return operations;
}

// In a child process: a broken invariant aborts. The parent stays without threads, the log's too: a
// child forked while a thread holds a lock would wait for it for ever.
bool GoesWell(StoreHarness::Kind kind, const Operations& operations, bool quiet) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    SetLogLevel(LogLevel::kError);
    if (quiet && std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
    std::string wrong;
    {
      Replay replay(kind);
      wrong = replay.Run(operations);
    }
    if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
    std::fflush(nullptr);
    ::_exit(wrong.empty() && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string Print(const Operations& operations) {
  static constexpr const char* kNames[] = {"Put",      "Delete",   "Txn",      "Range",  "ReadTxn",
                                           "Compact",  "Publish",  "RunTasks", "Settle", "Hash",
                                           "HoldView", "ReadHeld", "Reopen"};
  std::ostringstream out;
  for (const Operation& operation : operations) {
    out << "  " << kNames[operation.kind] << " " << operation.seed << "\n";
  }
  return out.str();
}

void RunSeeds(StoreHarness::Kind kind, std::uint64_t group, std::uint64_t count,
              std::size_t operations_each) {
  const char* seed_text = std::getenv("KVORUM_SEED");
  const std::uint64_t base = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = base * 1'000'000 + group * 1000 + i;
    const Operations operations = RandomOperations(seed, operations_each);
    if (GoesWell(kind, operations, /*quiet=*/true)) continue;
    const Operations shrunk = Shrink(operations, [kind](const Operations& fewer) {
      return GoesWell(kind, fewer, /*quiet=*/true);
    });
    GoesWell(kind, shrunk, /*quiet=*/false);
    FAIL() << "seed " << seed << " goes wrong; what is left of it after shrinking:\n"
           << Print(shrunk);
  }
}

class StoreProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StoreProperty, AnswersLikeTheModelOverTheMemoryBackend) {
  RunSeeds(StoreHarness::Kind::kMemory, GetParam(), 8, 400);
}
TEST_P(StoreProperty, AnswersLikeTheModelOverLmdb) {
  RunSeeds(StoreHarness::Kind::kLmdb, 100 + GetParam(), 3, 300);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreProperty, testing::Range<std::uint64_t>(0, 6));

}  // namespace
}  // namespace kvorum::mvcc
