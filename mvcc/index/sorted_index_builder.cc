#include "mvcc/index/sorted_index_builder.h"

#include <utility>

namespace kvorum::mvcc {

SortedIndexBuilder::SortedIndexBuilder()
    : result_(std::make_unique<KeyIndex>()), loader_(*result_->tree_) {}

SortedIndexBuilder::~SortedIndexBuilder() = default;

void SortedIndexBuilder::AddKey(const index::RestoredRecord& record) {
  if (entry_ != nullptr) loader_.Add(entry_);
  entry_ = result_->tree_->Restore(nullptr, record);
}

void SortedIndexBuilder::AddToKey(const index::RestoredRecord& record) {
  entry_ = result_->tree_->Restore(entry_, record);
}

std::unique_ptr<KeyIndex> SortedIndexBuilder::Finish(Revision newest) {
  if (entry_ != nullptr) loader_.Add(std::exchange(entry_, nullptr));
  loader_.Finish(newest);
  return std::move(result_);
}

std::unique_ptr<KeyIndex> SortedIndexBuilder::Build(Revision newest, IndexMark mark) {
  std::unique_ptr<KeyIndex> index = Finish(newest);
  index->Publish(mark);
  return index;
}

}  // namespace kvorum::mvcc
