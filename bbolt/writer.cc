#include "bbolt/writer.h"

#include <optional>
#include <utility>

#include "bbolt/meta.h"
#include "bbolt/page_stream.h"
#include "bbolt/tree_writer.h"

namespace kvorum::bbolt {
namespace {

constexpr PageId kFreelistPage = 2;

}  // namespace

std::string MetaPages(const Plan& plan) {
  std::string pages;
  for (const std::uint64_t txid : {std::uint64_t{0}, std::uint64_t{1}})
    pages += EncodeMetaPage({.page_size = plan.page_size,
                             .root = plan.root,
                             .sequence = 0,
                             .freelist = kFreelistPage,
                             .high_water = plan.page_count,
                             .txid = txid});
  return pages;
}

// The tree of the bucket that is being put, and the root's.
class ImageTrees {
 public:
  ImageTrees(std::uint32_t page_size, bool keeps_bytes, std::optional<Plan> plan)
      : plan_(plan), pages_(page_size, keeps_bytes), root_(pages_) {
    pages_.AppendPages(plan.has_value() ? MetaPages(*plan)
                                        : std::string(2 * std::size_t{page_size}, '\0'));
    pages_.Begin(kFreelistFlag, 0, kHeaderBytes);
    pages_.End();
  }

  Result<void> BeginBucket(std::string_view name) {
    KV_RETURN_IF_ERROR(EndBucket());
    name_.assign(name);
    bucket_.emplace(pages_);
    return {};
  }
  Result<void> Put(std::string_view key, std::string_view value) {
    KV_RETURN_IF_ERROR(CheckBucket());
    return bucket_->Put(0, key, value);
  }
  Result<void> PutSize(std::string_view key, std::uint64_t value_bytes) {
    KV_RETURN_IF_ERROR(CheckBucket());
    return bucket_->PutSize(key, value_bytes);
  }
  Result<Plan> Finish() {
    KV_RETURN_IF_ERROR(EndBucket());
    const PageId root = root_.Finish();
    const Plan made{
        .page_size = pages_.page_size(), .root = root, .page_count = pages_.page_count()};
    if (plan_.has_value() && made != *plan_)
      return Fail(Code::kInternal, "bbolt: the content is not the one that was planned");
    return made;
  }
  PageStream& pages() { return pages_; }

 private:
  Result<void> CheckBucket() const {
    if (!bucket_.has_value()) return Fail(Code::kInvalidArgument, "bbolt: a key needs a bucket");
    return {};
  }
  Result<void> EndBucket() {
    if (!bucket_.has_value()) return {};
    std::string element;
    const bool is_inline = bucket_->CanBeInline();
    Append(element, is_inline ? PageId{0} : bucket_->Finish());
    Append(element, std::uint64_t{0});  // sequence
    if (is_inline) element += bucket_->InlinePage();
    bucket_.reset();
    return root_.Put(kBucketElementFlag, name_, element);
  }

  const std::optional<Plan> plan_;
  PageStream pages_;
  TreeWriter root_;
  std::string name_;
  std::optional<TreeWriter> bucket_;
};

Writer::Writer(std::unique_ptr<ImageTrees> trees) : trees_(std::move(trees)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Writer Writer::Sizing(std::uint32_t page_size) {
  return Writer(std::make_unique<ImageTrees>(page_size, false, std::nullopt));
}
Writer Writer::Writing(const Plan& plan) {
  return Writer(std::make_unique<ImageTrees>(plan.page_size, true, plan));
}
Writer Writer::WritingWithoutPlan(std::uint32_t page_size) {
  return Writer(std::make_unique<ImageTrees>(page_size, true, std::nullopt));
}

Result<void> Writer::BeginBucket(std::string_view name) { return trees_->BeginBucket(name); }
Result<void> Writer::Put(std::string_view key, std::string_view value) {
  return trees_->Put(key, value);
}
Result<void> Writer::PutSize(std::string_view key, std::uint64_t value_bytes) {
  return trees_->PutSize(key, value_bytes);
}
Result<Plan> Writer::Finish() { return trees_->Finish(); }
std::size_t Writer::ReadyBytes() const { return trees_->pages().ready_bytes(); }
std::string Writer::Take(std::size_t unit_bytes) { return trees_->pages().Take(unit_bytes); }

}  // namespace kvorum::bbolt
