#include "server/replica/drive/bounded_source.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/background/aside.h"

namespace kvorum::server {

BoundedSource::Limits BoundedSource::Limits::HeldTo(std::uint64_t most_bytes_per_second) const {
  Limits limits = *this;
  if (most_bytes_per_second == 0) return limits;
  const std::uint64_t half = std::max<std::uint64_t>(1, most_bytes_per_second / 2);
  limits.bytes_per_second = std::min(limits.bytes_per_second, half);
  return limits;
}

BoundedSource::BoundedSource(std::unique_ptr<mvcc::SnapshotSource> source, Database database,
                             const Clock& clock, Limits limits)
    : source_(std::move(source)),
      database_(std::move(database)),
      clock_(clock),
      deadline_(clock.Now() + limits.grace +
                std::chrono::seconds(database_.in_use_bytes / limits.bytes_per_second)),
      most_file_bytes_(database_.file_bytes() +
                       std::max(limits.growth_bytes, database_.in_use_bytes / 2)) {}

std::optional<Error> BoundedSource::PassedLimit() const {
  std::string why;
  if (clock_.Now() > deadline_) why = "it has taken too long";
  if (database_.file_bytes() > most_file_bytes_) why = "too much was written meanwhile";
  if (!database_.has_space()) why = "this member's disk is nearly full";
  if (why.empty()) return std::nullopt;
  return Error{
      Code::kUnavailable,
      "the snapshot was given up, because it keeps the database from reusing its pages: " + why};
}

Result<void> BoundedSource::CheckLimits() {
  if (source_ != nullptr) passed_ = PassedLimit();
  if (!passed_.has_value()) return {};
  source_.reset();
  return Fail(*passed_);
}

Result<bool> BoundedSource::Prepare() {
  KV_RETURN_IF_ERROR(CheckLimits());
  Result<bool> is_prepared;
  RunAside([&] { is_prepared = source_->Prepare(); });
  return is_prepared;
}

Result<SharedBytes> BoundedSource::Next() {
  KV_RETURN_IF_ERROR(CheckLimits());
  Result<SharedBytes> chunk;
  RunAside([&] { chunk = source_->Next(); });
  return chunk;
}

Result<void> BoundedSource::Look() {
  KV_RETURN_IF_ERROR(CheckLimits());
  return source_->Look();
}

}  // namespace kvorum::server
