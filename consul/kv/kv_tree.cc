#include "consul/kv/kv_tree.h"

#include <algorithm>
#include <utility>

#include "base/key_range.h"

namespace kvorum::consul {
namespace {

constexpr std::int64_t kFirstPageKeys = 64;
constexpr std::int64_t kMaxPageKeys = 4096;
constexpr std::size_t kPageBytes = std::size_t{4} << 20U;
// The names, numbers and signs of a pair in JSON.
constexpr std::size_t kPairBytes = 130;

// Reads the values, then the metas at their revision.
class TreeRead : public std::enable_shared_from_this<TreeRead> {
 public:
  TreeRead(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
           TreeRequest request, OnTree on_tree)
      : store_(std::move(store)),
        keys_(keys),
        work_(work),
        request_(std::move(request)),
        on_tree_(std::move(on_tree)) {
    tree_.revision = request_.revision;
  }

  void Begin() {
    SetRange(keys_.Value(request_.prefix));
    ReadPage();
  }

 private:
  void SetRange(const std::string& key) {
    next_ = key;
    end_ = request_.is_key ? std::string() : PrefixEnd(key);
  }

  void ReadPage() {
    store_->Range({.key = next_,
                   .end = end_,
                   .revision = tree_.revision,
                   .limit = page_keys_,
                   .keys_only = request_.keys_only,
                   .is_serializable = request_.is_serializable},
                  work_.OnInTime<sync::RangeAnswer>(
                      [self = shared_from_this()](Result<sync::RangeAnswer> answer) {
                        self->TakePage(std::move(answer));
                      }));
  }

  void TakePage(Result<sync::RangeAnswer> answer) {
    if (!answer) {
      if (answer.error().code != Code::kResourceExhausted || page_keys_ == 1)
        return on_tree_(Fail(answer.error()));
      most_page_keys_ = std::max<std::int64_t>(page_keys_ / 2, 1);
      page_keys_ = std::max<std::int64_t>(page_keys_ / 4, 1);
      return ReadPage();
    }
    if (tree_.revision == 0) tree_.revision = answer->revision;
    std::size_t bytes = 0;
    const bool has_more = answer->has_more && !answer->kvs.empty();
    if (has_more) next_ = answer->kvs.back().key + '\0';
    for (sync::KeyValue& kv : answer->kvs) {
      bytes += kv.key.size() + kv.value.size();
      if (auto taken = is_at_metas_ ? TakeMeta(kv) : TakeValue(std::move(kv)); !taken)
        return on_tree_(Fail(taken.error()));
    }
    page_keys_ = bytes < kPageBytes / 2 ? std::min(page_keys_ * 2, most_page_keys_)
                 : bytes > kPageBytes   ? std::max<std::int64_t>(page_keys_ / 2, 1)
                                        : page_keys_;
    if (has_more) return ReadPage();
    if (is_at_metas_ || request_.keys_only || tree_.pairs.empty())
      return on_tree_(std::move(tree_));
    is_at_metas_ = true;
    SetRange(keys_.Meta(request_.prefix));
    ReadPage();
  }

  Result<void> TakeValue(sync::KeyValue kv) {
    std::string key = kv.key.substr(keys_.values().size());
    KvPair& pair = tree_.pairs.emplace_back(PairOf(std::move(key), std::move(kv), nullptr));
    bytes_ += request_.keys_only ? pair.key.size() + 4 : AnswerBytes(pair);
    if (bytes_ <= request_.max_bytes) return {};
    return Fail(Code::kResourceExhausted, "the answer is larger than " +
                                              std::to_string(request_.max_bytes) +
                                              " bytes: ask for a longer prefix");
  }

  // Both lists are in order of keys, so that each is walked once.
  Result<void> TakeMeta(const sync::KeyValue& kv) {
    const std::string_view key = std::string_view(kv.key).substr(keys_.metas().size());
    while (at_ < tree_.pairs.size() && tree_.pairs[at_].key < key) ++at_;
    if (at_ == tree_.pairs.size() || tree_.pairs[at_].key != key) return {};
    KvPair& pair = tree_.pairs[at_];
    sync::KeyValue value{.value = std::move(pair.value),
                         .create_revision = pair.create_revision,
                         .mod_revision = pair.mod_revision};
    pair = PairOf(std::move(pair.key), std::move(value), &kv);
    return {};
  }

  const std::shared_ptr<sync::Store> store_;
  const KvKeys& keys_;
  const Work& work_;
  const TreeRequest request_;
  OnTree on_tree_;
  Tree tree_;
  std::string next_;
  std::string end_;
  std::int64_t page_keys_ = kFirstPageKeys;
  std::int64_t most_page_keys_ = kMaxPageKeys;
  std::size_t bytes_ = 0;
  std::size_t at_ = 0;
  bool is_at_metas_ = false;
};

}  // namespace

std::size_t AnswerBytes(const KvPair& pair) {
  return kPairBytes + pair.key.size() + pair.value.size() / 3 * 4;
}

void ReadTree(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
              TreeRequest request, OnTree on_tree) {
  std::make_shared<TreeRead>(std::move(store), keys, work, std::move(request), std::move(on_tree))
      ->Begin();
}

}  // namespace kvorum::consul
