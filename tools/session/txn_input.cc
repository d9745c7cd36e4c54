#include "tools/session/txn_input.h"

#include <fmt/format.h>

#include <array>
#include <istream>

#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "tools/session/kv_requests.h"
#include "tools/shell/command.h"

namespace kvorum::ctl {
namespace {

using etcdserverpb::Compare;

// The parts of a compare after its target, as far as the line has them.
struct CompareParts {
  std::string key;
  std::string op;
  std::string value;
  int found = 0;
};

// Removes a quoted string from the front.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  const auto length = GoQuotedLength(text);
  if (!length) return std::nullopt;
  auto value = GoUnquote(text.substr(0, *length));
  text.remove_prefix(*length);
  return value;
}

// Removes spaces from the front; there must be some, unless the text ends.
bool TakeSpace(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of(kBlanks), text.size());
  const bool found = end > 0 || text.empty();
  text.remove_prefix(end);
  return found;
}

CompareParts SplitCompare(std::string_view text) {
  CompareParts parts;
  text = text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
  auto key = TakeQuoted(text);
  if (!key) return parts;
  parts.key = *std::move(key);
  parts.found = 1;
  if (!text.starts_with(')')) return parts;
  text.remove_prefix(1);
  if (!TakeSpace(text) || text.empty()) return parts;
  parts.op = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(parts.op.size());
  parts.found = 2;
  if (!TakeSpace(text)) return parts;
  auto value = TakeQuoted(text);
  if (!value) return parts;
  parts.value = *std::move(value);
  parts.found = 3;
  return parts;
}

struct NamedTarget {
  std::string_view name;
  std::string_view short_name;
  Compare::CompareTarget target;
  int base;  // of the number; 0: not a number
};
constexpr auto kTargets = std::to_array<NamedTarget>({
    {"version", "ver", Compare::VERSION, 10},
    {"create", "c", Compare::CREATE, 10},
    {"mod", "m", Compare::MOD, 10},
    {"value", "val", Compare::VALUE, 0},
    {"lease", "lease", Compare::LEASE, 16},
});

struct Operator {
  std::string_view text;
  Compare::CompareResult result;
};
constexpr auto kOperators = std::to_array<Operator>({{"=", Compare::EQUAL},
                                                     {"!=", Compare::NOT_EQUAL},
                                                     {">", Compare::GREATER},
                                                     {"<", Compare::LESS}});

void SetNumber(Compare& compare, std::int64_t number) {
  switch (compare.target()) {
    case Compare::VERSION:
      return compare.set_version(number);
    case Compare::CREATE:
      return compare.set_create_revision(number);
    case Compare::MOD:
      return compare.set_mod_revision(number);
    case Compare::LEASE:
      return compare.set_lease(number);
    default:  // VALUE is not a number, and no other value is ever set here
      return;
  }
}

// Reads one block: the lines up to an empty one. The end of the input within a block is an error:
// half a transaction must not run.
template <class Parse, class Add>
Outcome<void> ReadBlock(std::istream& in, const Parse& parse, const Add& add) {
  std::string line;
  while (true) {
    if (!std::getline(in, line) || in.eof()) return Fail(ExitCode::kInvalidInput, "EOF");
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty()) return {};
    KV_TRY(auto parsed, parse(trimmed));
    *add() = std::move(parsed);
  }
}

}  // namespace

Outcome<Compare> ParseCompare(std::string_view line) {
  const std::size_t paren = line.find('(');
  if (paren == std::string_view::npos)
    return Fail(ExitCode::kInvalidInput, fmt::format("malformed comparison: {}", line));
  const std::string_view name = line.substr(0, paren);
  const CompareParts parts = SplitCompare(line.substr(paren + 1));
  if (parts.found != 3)
    return Fail(ExitCode::kInvalidInput,
                fmt::format("malformed comparison: {}; got {}({}) {} {}", line, name,
                            GoQuote(parts.key), parts.op, GoQuote(parts.value)));
  const auto target = std::ranges::find_if(
      kTargets, [&](const NamedTarget& t) { return t.name == name || t.short_name == name; });
  if (target == kTargets.end())
    return Fail(ExitCode::kInvalidInput,
                fmt::format("malformed comparison: {} (unknown target {})", line, name));
  const auto op = std::ranges::find(kOperators, parts.op, &Operator::text);
  if (op == kOperators.end())
    return Fail(ExitCode::kInvalidInput,
                fmt::format("malformed comparison: {} (unknown operator {})", line, parts.op));

  Compare compare;
  compare.set_key(parts.key);
  compare.set_target(target->target);
  compare.set_result(op->result);
  if (target->base == 0) {
    compare.set_value(parts.value);
    return compare;
  }
  const auto number = ParseInt(parts.value, target->base);
  if (!number)
    return Fail(ExitCode::kInvalidInput, fmt::format("invalid txn compare request: {}", line));
  SetNumber(compare, *number);
  return compare;
}

Outcome<std::vector<std::string>> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    if (kBlanks.contains(line.front())) {
      line.remove_prefix(1);
      continue;
    }
    const char quote = line.front();
    if (quote == '"') {
      if (const auto length = GoQuotedLength(line)) {
        auto word = GoUnquote(line.substr(0, *length));
        if (!word) return Fail(ExitCode::kInvalidInput, "invalid syntax");
        words.push_back(*std::move(word));
        line.remove_prefix(*length);
        continue;
      }
    } else if (quote == '\'') {
      if (const std::size_t end = line.find('\'', 1); end != std::string_view::npos) {
        words.emplace_back(line.substr(1, end - 1));
        line.remove_prefix(end + 1);
        continue;
      }
    } else {
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      words.emplace_back(word);
      line.remove_prefix(word.size());
      continue;
    }
    line.remove_prefix(1);  // an unclosed quote is skipped
  }
  return words;
}

Outcome<etcdserverpb::RequestOp> ParseOp(std::string_view line) {
  KV_TRY(auto words, SplitWords(line));
  if (words.size() < 2)
    return Fail(ExitCode::kInvalidInput, fmt::format("invalid txn compare request: {}", line));

  etcdserverpb::RequestOp op;
  const auto run = [&op](auto make, auto set) {
    return [&op, make, set](Invocation& invocation) -> Outcome<void> {
      KV_TRY(auto request, make(invocation.flags, invocation.args));
      set(op, std::move(request));
      return {};
    };
  };
  const auto make_put = [](const FlagSet& flags, const std::vector<std::string>& args) {
    return MakePut(flags, args, [] { return std::string(); });
  };
  const Command grammar{
      .use = "txn",
      .children = {
          {.use = "put",
           .flags = PutFlags(),
           .run = run(make_put, [](auto& out, auto&& r) { *out.mutable_request_put() = r; })},
          {.use = "get",
           .flags = GetFlags(),
           .run = run(MakeRange, [](auto& out, auto&& r) { *out.mutable_request_range() = r; })},
          {.use = "del",
           .flags = DeleteFlags(),
           .run = run(MakeDelete,
                      [](auto& out, auto&& r) { *out.mutable_request_delete_range() = r; })},
      }};

  const auto invalid = [&] {
    return Fail(ExitCode::kInvalidInput, fmt::format("invalid txn request: {}", line));
  };
  auto found = FindCommand(grammar, words);
  if (!found || !found->path.back()->run) return invalid();
  FlagSet flags = KnownFlags(found->path);
  auto args = flags.Parse(found->rest);
  if (!args || flags.Switch("help")) return invalid();
  std::istream no_input(nullptr);
  std::ostream no_output(nullptr);
  World world{no_input, no_output, no_output, {}};
  Invocation invocation{grammar, found->path, flags, *std::move(args), world};
  KV_RETURN_IF_ERROR(found->path.back()->run(invocation));
  return op;
}

Outcome<etcdserverpb::TxnRequest> ReadTxn(std::istream& in,
                                          const std::function<void(std::string_view)>& prompt) {
  etcdserverpb::TxnRequest txn;
  prompt("compares:");
  KV_RETURN_IF_ERROR(ReadBlock(in, ParseCompare, [&] { return txn.add_compare(); }));
  prompt("success requests (get, put, del):");
  KV_RETURN_IF_ERROR(ReadBlock(in, ParseOp, [&] { return txn.add_success(); }));
  prompt("failure requests (get, put, del):");
  KV_RETURN_IF_ERROR(ReadBlock(in, ParseOp, [&] { return txn.add_failure(); }));
  return txn;
}

}  // namespace kvorum::ctl
