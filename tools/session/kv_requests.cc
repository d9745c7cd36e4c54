#include "tools/session/kv_requests.h"

#include <fmt/format.h>

#include <array>

#include "base/key_range.h"
#include "base/letter_case.h"
#include "base/text/go_number.h"

namespace kvorum::ctl {
namespace {

using etcdserverpb::RangeRequest;

// The end of a range without an end, and the first of all keys.
const std::string kZeroByte(1, '\0');

Outcome<void> RefuseBoth(const FlagSet& flags, std::string_view a, std::string_view b) {
  if (!flags.Switch(a) || !flags.Switch(b)) return {};
  return BadArguments(
      fmt::format("`--{}` and `--{}` cannot be set at the same time, choose one", a, b));
}

// Sets the key and range_end of a get or del from its arguments, --prefix and --from-key.
template <class Request>
Outcome<void> SetRange(const FlagSet& flags, const std::vector<std::string>& args,
                       Request& request) {
  const bool prefix = flags.Switch("prefix");
  const bool from_key = flags.Switch("from-key");
  if (args.size() > 1 && (prefix || from_key))
    return BadArguments(
        "too many arguments, only accept one argument when `--prefix` or `--from-key` is "
        "set");
  const std::string& key = args.front();
  request.set_key(key.empty() && (prefix || from_key) ? kZeroByte : key);
  if (from_key)
    request.set_range_end(kZeroByte);
  else if (prefix)
    request.set_range_end(PrefixEnd(key));
  else if (args.size() > 1)
    request.set_range_end(args[1]);
  return {};
}

template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

constexpr auto kSortOrders = std::to_array<NamedValue<RangeRequest::SortOrder>>({
    {"", RangeRequest::NONE},
    {"ASCEND", RangeRequest::ASCEND},
    {"DESCEND", RangeRequest::DESCEND},
});

constexpr auto kSortTargets = std::to_array<NamedValue<RangeRequest::SortTarget>>({
    {"", RangeRequest::KEY},
    {"CREATE", RangeRequest::CREATE},
    {"KEY", RangeRequest::KEY},
    {"MODIFY", RangeRequest::MOD},
    {"VALUE", RangeRequest::VALUE},
    {"VERSION", RangeRequest::VERSION},
});

Outcome<void> SetSort(const FlagSet& flags, RangeRequest& request) {
  const auto find = [&](const auto& table, std::string_view flag, auto& out) -> Outcome<void> {
    const std::string wanted = UpperCase(flags.String(flag));
    for (const auto& [name, value] : table) {
      if (name != wanted) continue;
      out = value;
      return {};
    }
    return Fail(
        ExitCode::kBadFeature,
        fmt::format("bad sort {} {}", flag == "order" ? "order" : "target", flags.String(flag)));
  };
  auto order = RangeRequest::NONE;
  auto target = RangeRequest::KEY;
  KV_RETURN_IF_ERROR(find(kSortOrders, "order", order));
  KV_RETURN_IF_ERROR(find(kSortTargets, "sort-by", target));
  // Keys come in ascending order anyway; requesting it would make the server read the whole range
  // before it applies the limit.
  if (target == RangeRequest::KEY && order == RangeRequest::ASCEND) order = RangeRequest::NONE;
  request.set_sort_order(order);
  request.set_sort_target(target);
  return {};
}

// A pair of bounds, each off unless positive.
struct RevisionBounds {
  std::string_view min_flag, max_flag;
  std::string_view min_label, max_label;
  void (RangeRequest::*set_min)(std::int64_t);
  void (RangeRequest::*set_max)(std::int64_t);
};

Outcome<void> SetBounds(const FlagSet& flags, const RevisionBounds& bounds, RangeRequest& request) {
  const std::int64_t min = flags.Int(bounds.min_flag);
  const std::int64_t max = flags.Int(bounds.max_flag);
  if (min > 0) (request.*bounds.set_min)(min);
  if (max <= 0) return {};
  if (min > max)
    return Fail(ExitCode::kBadFeature,
                fmt::format("{}(={}) > {}(={})", bounds.min_label, min, bounds.max_label, max));
  (request.*bounds.set_max)(max);
  return {};
}

}  // namespace

std::vector<Flag> PutFlags() {
  return {
      {"lease", FlagType::kString, "0", "attach the key to this lease (its id in hexadecimal)"},
      {.name = "prev-kv", .help = "print the previous key-value pair"},
      {.name = "ignore-value", .help = "keep the key's current value"},
      {.name = "ignore-lease", .help = "keep the key's current lease"},
  };
}

std::vector<Flag> GetFlags() {
  const auto revision = [](std::string name, std::string help) {
    return Flag{std::move(name), FlagType::kInt, "0", std::move(help)};
  };
  return {
      {"consistency",
       FlagType::kString,
       "l",
       "l: linearizable; s: serializable, from this member alone",
       {"l", "s"}},
      {"order",
       FlagType::kString,
       "",
       "ASCEND or DESCEND (ASCEND by default)",
       {"ASCEND", "DESCEND"}},
      {"sort-by",
       FlagType::kString,
       "",
       "CREATE, KEY, MODIFY, VALUE or VERSION (KEY by default)",
       {"CREATE", "KEY", "MODIFY", "VALUE", "VERSION"}},
      revision("limit", "maximum number of pairs (0: all)"),
      {.name = "prefix", .help = "use every key with the given prefix"},
      {.name = "from-key", .help = "use every key from the given one on, in byte order"},
      revision("rev", "as of this revision (0: the newest)"),
      {.name = "keys-only", .help = "leave out the values"},
      {.name = "count-only", .help = "print only the number of keys"},
      {.name = "print-value-only", .help = "print values without keys (simple format only)"},
      revision("min-create-rev", "only keys created at this revision or later"),
      revision("max-create-rev", "only keys created at this revision or before"),
      revision("min-mod-rev", "only keys last written at this revision or later"),
      revision("max-mod-rev", "only keys last written at this revision or before"),
      {.name = "stream", .help = "stream the answer in chunks, for very many keys"},
  };
}

std::vector<Flag> DeleteFlags() {
  return {
      {.name = "prefix", .help = "use every key with the given prefix"},
      {.name = "prev-kv", .help = "print the pairs that were deleted"},
      {.name = "from-key", .help = "use every key from the given one on, in byte order"},
      {.name = "range", .help = "don't wait before deleting a range given by its two ends"},
  };
}

Outcome<bool> IsSerializable(const std::string& consistency) {
  if (consistency == "l") return false;
  if (consistency == "s") return true;
  return Fail(ExitCode::kBadFeature, fmt::format("unknown consistency flag \"{}\"", consistency));
}

Outcome<etcdserverpb::PutRequest> MakePut(const FlagSet& flags,
                                          const std::vector<std::string>& args,
                                          const ValueSource& value_source) {
  constexpr std::string_view kNeedsValue =
      "put command needs 1 argument and input from stdin or 2 arguments";
  if (args.empty()) return BadArguments(std::string(kNeedsValue));
  const bool ignore_value = flags.Switch("ignore-value");
  if (ignore_value && args.size() > 1)
    return BadArguments("put command needs only 1 argument when 'ignore-value' is set");
  etcdserverpb::PutRequest request;
  request.set_key(args.front());
  if (args.size() > 1) {
    request.set_value(args[1]);
  } else if (!ignore_value) {
    request.set_value(value_source());
    if (request.value().empty()) return BadArguments(std::string(kNeedsValue));
  }
  const auto lease = ParseInt(flags.String("lease"), 16);
  if (!lease)
    return BadArguments(
        fmt::format("bad lease ID ({}), expecting ID in Hex", lease.error().message));
  request.set_lease(*lease);
  request.set_prev_kv(flags.Switch("prev-kv"));
  request.set_ignore_value(ignore_value);
  request.set_ignore_lease(flags.Switch("ignore-lease"));
  return request;
}

Outcome<RangeRequest> MakeRange(const FlagSet& flags, const std::vector<std::string>& args) {
  if (args.empty())
    return BadArguments(
        "get command needs one argument as key and an optional argument as range_end");
  KV_RETURN_IF_ERROR(RefuseBoth(flags, "prefix", "from-key"));
  KV_RETURN_IF_ERROR(RefuseBoth(flags, "keys-only", "count-only"));
  KV_TRY(const auto serializable, IsSerializable(flags.String("consistency")));

  RangeRequest request;
  request.set_serializable(serializable);
  KV_RETURN_IF_ERROR(SetRange(flags, args, request));
  request.set_limit(flags.Int("limit"));
  if (flags.Int("rev") > 0) request.set_revision(flags.Int("rev"));
  KV_RETURN_IF_ERROR(SetSort(flags, request));
  request.set_keys_only(flags.Switch("keys-only"));
  request.set_count_only(flags.Switch("count-only"));
  const RevisionBounds create = {"min-create-rev",
                                 "max-create-rev",
                                 "getMinCreateRev",
                                 "getMaxCreateRev",
                                 &RangeRequest::set_min_create_revision,
                                 &RangeRequest::set_max_create_revision};
  const RevisionBounds mod = {"min-mod-rev",
                              "max-mod-rev",
                              "getMinModRev",
                              "getMaxModRev",
                              &RangeRequest::set_min_mod_revision,
                              &RangeRequest::set_max_mod_revision};
  for (const RevisionBounds& bounds : {create, mod})
    KV_RETURN_IF_ERROR(SetBounds(flags, bounds, request));
  return request;
}

Outcome<etcdserverpb::DeleteRangeRequest> MakeDelete(const FlagSet& flags,
                                                     const std::vector<std::string>& args) {
  if (args.empty() || args.size() > 2)
    return BadArguments(
        "del command needs one argument as key and an optional argument as range_end");
  KV_RETURN_IF_ERROR(RefuseBoth(flags, "prefix", "from-key"));
  etcdserverpb::DeleteRangeRequest request;
  KV_RETURN_IF_ERROR(SetRange(flags, args, request));
  request.set_prev_kv(flags.Switch("prev-kv"));
  return request;
}

}  // namespace kvorum::ctl
