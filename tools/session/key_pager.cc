#include "tools/session/key_pager.h"

#include <algorithm>
#include <utility>

#include "tools/text/prefix_range.h"

namespace kvorum::ctl {
namespace {

constexpr std::int64_t kFirstKeys = 16;
constexpr std::int64_t kMostKeys = 200;
constexpr std::int64_t kMostKeysOnly = 10'000;
constexpr std::int64_t kPageBytes = 4 << 20;

}  // namespace

KeyPager::KeyPager(client::Client& client, const PagedRange& range,
                   std::function<client::CallOptions()> call)
    : client_(client), call_(std::move(call)) {
  SetPrefix(request_, range.prefix);
  request_.set_revision(range.revision);
  request_.set_keys_only(range.keys_only);
  request_.set_limit(range.keys_only ? kMostKeysOnly : kFirstKeys);
}

Result<bool> KeyPager::Next() {
  const bool is_first = at_ < 0;
  if (!is_first && at_ + 1 >= page_.kvs_size()) {
    if (page_.kvs().empty() || !page_.more()) return false;
    request_.set_key(kv().key() + '\0');
  }
  if (is_first || at_ + 1 >= page_.kvs_size()) {
    KV_RETURN_IF_ERROR(Fetch());
    at_ = 0;
    return !page_.kvs().empty();
  }
  ++at_;
  return true;
}

Result<void> KeyPager::Fetch() {
  const bool is_first = at_ < 0;
  page_.Clear();  // not two pages at once
  while (true) {
    auto page = client_.Range(request_, call_());
    if (page) {
      page_ = *std::move(page);
      break;
    }
    if (page.error().code != Code::kResourceExhausted || request_.limit() <= 1)
      return std::unexpected(std::move(page).error());
    request_.set_limit(request_.limit() / 2);
  }
  if (!request_.keys_only()) request_.set_limit(NextLimit());
  if (!is_first) return {};
  // The others follow at the revision that the first one shows.
  if (request_.revision() == 0) request_.set_revision(page_.header().revision());
  count_ = page_.count();
  cluster_ = page_.header().cluster_id();
  return {};
}

// The limit is the number of keys that make a page of a good size, if the next ones are like those
// of this page, and at most twice the present one, in case they are not.
std::int64_t KeyPager::NextLimit() const {
  const auto keys = std::max<std::int64_t>(page_.kvs_size(), 1);
  const auto key_bytes =
      std::max<std::int64_t>(static_cast<std::int64_t>(page_.ByteSizeLong()) / keys, 1);
  const std::int64_t most = std::min(kMostKeys, 2 * request_.limit());
  return std::clamp<std::int64_t>(kPageBytes / key_bytes, 1, most);
}

}  // namespace kvorum::ctl
