#include "datadir/watched_database.h"

#include <algorithm>
#include <utility>

namespace kvorum::datadir {
namespace {

class WatchedDatabase final : public DatabaseFile {
 public:
  WatchedDatabase(std::unique_ptr<DatabaseFile> database, OnProgress on_progress)
      : database_(std::move(database)),
        size_bytes_(database_->SizeBytes()),
        on_progress_(std::move(on_progress)) {}

  DatabaseKind kind() const override { return database_->kind(); }
  std::uint64_t SizeBytes() const override { return size_bytes_; }
  Result<std::optional<std::string>> GetMeta(std::string_view key) override {
    return database_->GetMeta(key);
  }

  Result<void> Check(const OnBytes&) override {
    return database_->Check([this](std::uint64_t checked) { TellOf(kChecking, checked); });
  }

  Result<void> Visit(const Visitor& visitor) override {
    std::uint64_t read = 0;
    return database_->Visit(
        {.bucket = visitor.bucket,
         .record = [&](std::string_view key, std::string_view value) -> Result<void> {
           TellOf(kReading, read += key.size() + value.size());
           return visitor.record(key, value);
         },
         .nested = visitor.nested});
  }

  Result<void> VisitRevisions(const VisitRevision& visit) override {
    std::uint64_t read = 0;
    return database_->VisitRevisions([&](const mvcc::RevisionRecord& record) -> Result<void> {
      TellOf(kReading, read += record.value.size());
      return visit(record);
    });
  }

 private:
  void TellOf(std::string_view step, std::uint64_t done) const {
    Tell(on_progress_, step, std::min(done, size_bytes_), size_bytes_);
  }

  const std::unique_ptr<DatabaseFile> database_;
  const std::uint64_t size_bytes_;
  const OnProgress on_progress_;
};

}  // namespace

std::unique_ptr<DatabaseFile> Watch(std::unique_ptr<DatabaseFile> database,
                                    OnProgress on_progress) {
  return std::make_unique<WatchedDatabase>(std::move(database), std::move(on_progress));
}

}  // namespace kvorum::datadir
