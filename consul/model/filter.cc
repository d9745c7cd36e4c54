#include "consul/model/filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/go_quote.h"
#include "base/text/parse_number.h"
#include "consul/model/filter_fields.h"

namespace kvorum::consul {

struct Filter::Expression {
  enum class Kind : std::uint8_t { kAnd, kOr, kNot, kEquals, kHolds, kMatches, kIsEmpty };
  Kind kind = Kind::kAnd;
  std::vector<std::unique_ptr<const Expression>> parts = {};  // of and, or, not
  // The rest has these; `is_negated` turns what each value of the selector says.
  std::vector<std::string> path = {};
  FieldType type = {};
  std::string value = {};
  std::unique_ptr<const re2::RE2> pattern = {};  // of kMatches
  double number = 0;
  bool is_negated = false;
};

namespace {

using Expression = Filter::Expression;
using Part = std::unique_ptr<const Expression>;
using Kind = Expression::Kind;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./-:+").contains(c);
}

// A piece of the text: a word, a quoted value, or a sign.
struct Token {
  enum class Kind : std::uint8_t { kEnd, kWord, kValue, kSign };
  Kind kind = Kind::kEnd;
  std::string text = {};  // of a value without its quotes
  bool Is(std::string_view what) const {
    return text == what && (kind == Kind::kWord || kind == Kind::kSign);
  }
};

std::unexpected<Error> BadFilter(const std::string& why) {
  return Fail(Code::kInvalidArgument, "Failed to create boolean expression evaluator: " + why);
}

Result<std::vector<Token>> Tokenize(std::string_view text) {
  std::vector<Token> tokens;
  while (!text.empty()) {
    const char c = text.front();
    if (std::string_view(" \t\r\n").contains(c)) {
      text.remove_prefix(1);
      continue;
    }
    std::size_t size = 1;
    if (c == '"' || c == '`') {
      const auto length = GoQuotedLength(text);
      const auto value = length ? GoUnquote(text.substr(0, *length)) : std::nullopt;
      if (!value) return BadFilter("a quoted value does not end");
      tokens.push_back({.kind = Token::Kind::kValue, .text = *value});
      size = *length;
    } else if (text.starts_with("==") || text.starts_with("!=")) {
      size = 2;
      tokens.push_back({.kind = Token::Kind::kSign, .text = std::string(text.substr(0, size))});
    } else if (std::string_view("()[]").contains(c)) {
      tokens.push_back({.kind = Token::Kind::kSign, .text = std::string(1, c)});
    } else if (IsWordCharacter(c)) {
      size =
          static_cast<std::size_t>(std::ranges::find_if_not(text, IsWordCharacter) - text.begin());
      tokens.push_back({.kind = Token::Kind::kWord, .text = std::string(text.substr(0, size))});
    } else {
      return BadFilter("unexpected " + GoQuote(text.substr(0, 1)));
    }
    text.remove_prefix(size);
  }
  return tokens;
}

std::vector<std::string> SplitAtDots(std::string_view word) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = word.find('.');
    parts.emplace_back(word.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    word.remove_prefix(dot + 1);
  }
}

// Recursive descent; each level of parentheses and of `not` is one of depth.
class Parser {
 public:
  Parser(std::vector<Token> tokens, FilterRows rows) : tokens_(std::move(tokens)), rows_(rows) {}

  Result<Part> ParseAll() {
    KV_TRY(Part part, ParseList(Kind::kOr));
    if (Peek().kind != Token::Kind::kEnd) return BadFilter("unexpected " + GoQuote(Peek().text));
    return part;
  }

 private:
  const Token& Peek(std::size_t ahead = 0) const {
    static const Token kEnd;
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : kEnd;
  }
  bool Take(std::string_view word) {
    if (!Peek().Is(word)) return false;
    ++at_;
    return true;
  }

  // The parts that `or` joins are lists that `and` joins.
  Result<Part> ParseList(Kind kind) {
    const auto next = [&] { return kind == Kind::kOr ? ParseList(Kind::kAnd) : ParseOne(); };
    KV_TRY(Part first, next());
    const std::string_view joint = kind == Kind::kOr ? "or" : "and";
    if (!Peek().Is(joint)) return first;
    auto list = std::make_unique<Expression>(Expression{.kind = kind});
    list->parts.push_back(std::move(first));
    while (Take(joint)) {
      KV_TRY(Part part, next());
      list->parts.push_back(std::move(part));
    }
    return Part(std::move(list));
  }

  Result<Part> ParseOne() {
    if (depth_ == kMaxFilterDepth) return BadFilter("it is nested too deeply");
    ++depth_;
    auto part = ParseNested();
    --depth_;
    return part;
  }

  Result<Part> ParseNested() {
    if (Take("not")) {
      KV_TRY(Part part, ParseOne());
      auto negation = std::make_unique<Expression>(Expression{.kind = Kind::kNot});
      negation->parts.push_back(std::move(part));
      return Part(std::move(negation));
    }
    if (Take("(")) {
      KV_TRY(Part part, ParseList(Kind::kOr));
      if (!Take(")")) return BadFilter("a parenthesis is not closed");
      return part;
    }
    return ParseMatch();
  }

  Result<Part> ParseMatch() {
    const bool begins_with_value = Peek().kind == Token::Kind::kValue || Peek(1).Is("in") ||
                                   (Peek(1).Is("not") && Peek(2).Is("in"));
    auto match = std::make_unique<Expression>();
    if (begins_with_value) {
      KV_TRY(match->value, ParseValue());
      match->is_negated = Take("not");
      if (!Take("in")) return BadFilter("\"in\" is expected behind a value");
      match->kind = Kind::kHolds;
      KV_RETURN_IF_ERROR(ParseSelector(*match));
    } else {
      KV_RETURN_IF_ERROR(ParseSelector(*match));
      KV_RETURN_IF_ERROR(ParseOperator(*match));
    }
    KV_RETURN_IF_ERROR(CheckTypes(*match));
    return Part(std::move(match));
  }

  Result<void> ParseOperator(Expression& match) {
    if (Take("is")) {
      match.is_negated = Take("not");
      match.kind = Kind::kIsEmpty;
      if (!Take("empty")) return BadFilter("\"empty\" is expected behind \"is\"");
      return {};
    }
    const bool is_equality = Peek().Is("==") || Peek().Is("!=");
    match.is_negated = Peek().Is("!=") || Peek().Is("not");
    match.kind = is_equality ? Kind::kEquals : Kind::kHolds;
    if (is_equality || Peek().Is("not")) ++at_;
    const bool is_pattern = !is_equality && Take("matches");
    if (!is_equality && !is_pattern && !Take("contains"))
      return BadFilter("an operator is expected");
    KV_TRY(match.value, ParseValue());
    return is_pattern ? CompilePattern(match) : Result<void>();
  }

  Result<void> CompilePattern(Expression& match) {
    if (++patterns_ > kMaxPatterns) return BadFilter("it has more than 16 patterns");
    if (match.value.size() > kMaxPatternBytes)
      return BadFilter("a pattern is longer than 1024 bytes");
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<std::int64_t>(kMaxPatternMemoryBytes));
    match.kind = Kind::kMatches;
    match.pattern = std::make_unique<const re2::RE2>(match.value, options);
    if (match.pattern->ok()) return {};
    return BadFilter("error parsing regexp: " + match.pattern->error());
  }

  Result<std::string> ParseValue() {
    const Token& token = Peek();
    if (token.kind != Token::Kind::kWord && token.kind != Token::Kind::kValue)
      return BadFilter("a value is expected");
    ++at_;
    return token.text;
  }

  Result<void> ParseSelector(Expression& match) {
    if (Peek().kind != Token::Kind::kWord) return BadFilter("a selector is expected");
    match.path = SplitAtDots(Peek().text);
    ++at_;
    while (Take("[")) {
      if (Peek().kind != Token::Kind::kValue) return BadFilter("a quoted key is expected in []");
      match.path.push_back(Peek().text);
      ++at_;
      if (!Take("]")) return BadFilter("a bracket is not closed");
      if (Peek().kind == Token::Kind::kWord && Peek().text.starts_with('.')) {
        for (std::string& part : SplitAtDots(Peek().text.substr(1)))
          match.path.push_back(std::move(part));
        ++at_;
      }
    }
    const auto type = FieldTypeOf(rows_, match.path);
    if (!type.has_value()) {
      std::string name;
      for (const std::string& part : match.path) name += (name.empty() ? "" : ".") + part;
      return BadFilter("Selector " + GoQuote(name) + " is not valid");
    }
    match.type = *type;
    return {};
  }

  // Each kind of field has its operators, and values that it can have.
  static Result<void> CheckTypes(Expression& match) {
    const auto refuse = [] { return BadFilter("the operator does not fit the selector's type"); };
    if (match.kind == Kind::kMatches && match.type.kind != FieldKind::kText) return refuse();
    switch (match.type.kind) {
      case FieldKind::kText:
        return {};
      case FieldKind::kList:
      case FieldKind::kMap:
        if (match.kind == Kind::kEquals) return refuse();
        return {};
      case FieldKind::kRows:
        if (match.kind != Kind::kIsEmpty) return refuse();
        return {};
      case FieldKind::kBool: {
        if (match.kind != Kind::kEquals) return refuse();
        static constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
        static constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
        match.number = std::ranges::find(kTrue, match.value) != std::end(kTrue) ? 1 : 0;
        if (match.number == 0 && std::ranges::find(kFalse, match.value) == std::end(kFalse))
          return BadFilter(GoQuote(match.value) + " is not a bool");
        return {};
      }
      case FieldKind::kNumber: {
        if (match.kind != Kind::kEquals) return refuse();
        const auto number = ParseNumber<double>(match.value);
        if (!number.has_value() || !std::isfinite(*number))
          return BadFilter(GoQuote(match.value) + " is not a number");
        match.number = *number;
        return {};
      }
    }
    return {};
  }

  const std::vector<Token> tokens_;
  const FilterRows rows_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t patterns_ = 0;
};

// The claim of one value of the selector; null: it is missing.
bool Says(const Expression& match, const Json* value) {
  const bool is_missing = value == nullptr || value->is_null();
  if (is_missing && match.type.is_of_map) return match.kind == Kind::kIsEmpty;
  const std::string text =
      !is_missing && value->is_string() ? value->get<std::string>() : std::string();
  switch (match.kind) {
    case Kind::kEquals:
      if (match.type.kind == FieldKind::kText) return text == match.value;
      if (is_missing) return match.number == 0;
      if (value->is_boolean()) return value->get<bool>() == (match.number == 1);
      return value->is_number() && value->get<double>() == match.number;
    case Kind::kHolds:
      if (match.type.kind == FieldKind::kText) return text.contains(match.value);
      if (is_missing) return false;
      if (value->is_object()) return value->contains(match.value);
      return std::ranges::any_of(*value, [&](const Json& each) { return each == match.value; });
    case Kind::kMatches:
      return re2::RE2::PartialMatch(text, *match.pattern);
    case Kind::kIsEmpty:
      if (match.type.kind == FieldKind::kText) return text.empty();
      return is_missing || value->empty();
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot:
      break;
  }
  return false;
}

// One element is enough if the selector leads through a list.
bool MatchesAt(const Expression& match, const Json* json, std::span<const std::string> path) {
  if (path.empty()) return Says(match, json) != match.is_negated;
  if (json != nullptr && json->is_array()) {
    return std::ranges::any_of(*json,
                               [&](const Json& each) { return MatchesAt(match, &each, path); });
  }
  const Json* next = nullptr;
  if (json != nullptr && json->is_object()) {
    if (const auto found = json->find(path.front()); found != json->end()) next = &*found;
  }
  return MatchesAt(match, next, path.subspan(1));
}

bool Holds(const Expression& expression, const Json& row) {
  const auto holds = [&](const Part& part) { return Holds(*part, row); };
  switch (expression.kind) {
    case Kind::kAnd:
      return std::ranges::all_of(expression.parts, holds);
    case Kind::kOr:
      return std::ranges::any_of(expression.parts, holds);
    case Kind::kNot:
      return !holds(expression.parts.front());
    case Kind::kEquals:
    case Kind::kHolds:
    case Kind::kMatches:
    case Kind::kIsEmpty:
      return MatchesAt(expression, &row, expression.path);
  }
  return false;
}

}  // namespace

Filter::Filter(std::unique_ptr<const Expression> root) : root_(std::move(root)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

Result<Filter> Filter::Parse(std::string_view text, FilterRows rows) {
  if (text.size() > kMaxFilterBytes) return BadFilter("it is longer than 8192 bytes");
  KV_TRY(std::vector<Token> tokens, Tokenize(text));
  if (tokens.empty()) return Filter(nullptr);
  KV_TRY(Part root, Parser(std::move(tokens), rows).ParseAll());
  return Filter(std::move(root));
}

bool Filter::Takes(const Json& row) const { return root_ == nullptr || Holds(*root_, row); }

}  // namespace kvorum::consul
