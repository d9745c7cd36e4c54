#include "tests/linearizability/history_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace kvorum::linearizability {
namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::array<std::string_view, 4> kTargets = {"value", "version", "create", "mod"};
constexpr std::array<std::string_view, 4> kRelations = {"=", "!=", ">", "<"};

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == ':' || c == '-';
}

std::string Escaped(std::string_view text) {
  if (text.empty()) return "%";
  // Words of the format itself.
  const bool reserved = text == "-" || text == "then" || text == "else";
  std::string out;
  for (const char c : text) {
    if (IsPlain(c) && !(reserved && out.empty())) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 15];
    }
  }
  return out;
}

std::string RequestText(const Request& request, bool serializable) {
  switch (request.kind) {
    case Request::Kind::kPut:
      return "put " + Escaped(request.key) + " " + Escaped(request.value);
    case Request::Kind::kDelete:
    case Request::Kind::kRead:
      break;
  }
  std::string out = request.kind == Request::Kind::kDelete ? "del "
                    : serializable                         ? "sget "
                                                           : "get ";
  out += Escaped(request.key);
  if (!request.range_end.empty()) out += " " + Escaped(request.range_end);
  return out;
}

std::string CompareText(const Compare& compare) {
  std::string out(kTargets[static_cast<std::size_t>(compare.target)]);
  out += "(" + Escaped(compare.key) + ")";
  out += kRelations[static_cast<std::size_t>(compare.relation)];
  out += compare.target == Compare::Target::kValue ? Escaped(compare.value)
                                                   : std::to_string(compare.number);
  return out;
}

void AppendRequests(std::string& out, std::string_view word, const std::vector<Request>& requests) {
  if (requests.empty()) return;
  out += word;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    out += i == 0 ? " " : " ; ";
    out += RequestText(requests[i], false);
  }
}

void AppendKvs(std::string& out, const std::vector<KeyValue>& kvs) {
  for (const KeyValue& kv : kvs) out += " " + ToText(kv);
}

void AppendAnswer(std::string& out, const Operation& operation) {
  out += operation.revision == kNoRevision ? " -" : " " + std::to_string(operation.revision);
  if (operation.is_txn) out += operation.succeeded ? " yes" : " no";
  const std::vector<Request>& requests = operation.Taken();
  for (std::size_t i = 0; i < requests.size() && i < operation.answers.size(); ++i) {
    const Answer& answer = operation.answers[i];
    if (operation.is_txn && i > 0) out += " ;";
    switch (requests[i].kind) {
      case Request::Kind::kPut:
        if (operation.is_txn) out += " put";
        break;
      case Request::Kind::kDelete:
        if (operation.is_txn) out += " del";
        out += " " + std::to_string(answer.deleted);
        break;
      case Request::Kind::kRead:
        if (operation.is_txn) out += " get";
        AppendKvs(out, answer.kvs);
        break;
    }
  }
}

Error Wrong(std::string what) { return Error{Code::kInvalidArgument, std::move(what)}; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> Unescaped(std::string_view text) {
  if (text == "%") return std::string();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!IsPlain(text[i])) return Fail(Wrong("'" + std::string(text) + "' is not escaped"));
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return Fail(Wrong("'" + std::string(text) + "' has a broken escape"));
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

Result<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(Wrong("'" + std::string(text) + "' is not a number"));
  }
  return number;
}

Result<KeyValue> ParseKv(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Fail(Wrong("'" + std::string(text) + "' is not KEY=VALUE"));
  }
  KeyValue kv;
  KV_TRY(kv.key, Unescaped(text.substr(0, equals)));
  const std::size_t at = text.find('@', equals);
  KV_TRY(kv.value, Unescaped(text.substr(equals + 1, at - equals - 1)));
  if (at == std::string_view::npos) return kv;
  const std::size_t first = text.find(',', at);
  const std::size_t second = first == std::string_view::npos ? first : text.find(',', first + 1);
  if (second == std::string_view::npos) {
    return Fail(Wrong("'" + std::string(text) + "' lacks @MOD,CREATE,VERSION"));
  }
  KV_TRY(kv.mod_revision, ParseNumber(text.substr(at + 1, first - at - 1)));
  KV_TRY(kv.create_revision, ParseNumber(text.substr(first + 1, second - first - 1)));
  KV_TRY(kv.version, ParseNumber(text.substr(second + 1)));
  return kv;
}

Result<Compare> ParseCompare(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return Fail(Wrong("'" + std::string(text) + "' is not a compare"));
  }
  Compare compare;
  bool known = false;
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    if (text.substr(0, open) != kTargets[i]) continue;
    compare.target = static_cast<Compare::Target>(i);
    known = true;
  }
  if (!known) return Fail(Wrong("'" + std::string(text) + "' compares nothing known"));
  KV_TRY(compare.key, Unescaped(text.substr(open + 1, close - open - 1)));
  const std::string_view rest = text.substr(close + 1);
  std::string_view operand;
  for (std::size_t i = 0; i < kRelations.size(); ++i) {
    if (!rest.starts_with(kRelations[i])) continue;
    compare.relation = static_cast<Compare::Relation>(i);
    operand = rest.substr(kRelations[i].size());
  }
  if (operand.empty()) return Fail(Wrong("'" + std::string(text) + "' lacks a relation"));
  if (compare.target == Compare::Target::kValue) {
    KV_TRY(compare.value, Unescaped(operand));
  } else {
    KV_TRY(compare.number, ParseNumber(operand));
  }
  return compare;
}

Result<Request> ParseRequest(std::span<const std::string_view> words) {
  if (words.size() < 2 || words.size() > 3) return Fail(Wrong("a request has two or three words"));
  Request request;
  KV_TRY(request.key, Unescaped(words[1]));
  if (words[0] == "put") {
    request.kind = Request::Kind::kPut;
    if (words.size() != 3) return Fail(Wrong("a put has a key and a value"));
    KV_TRY(request.value, Unescaped(words[2]));
    return request;
  }
  if (words[0] == "del") {
    request.kind = Request::Kind::kDelete;
  } else if (words[0] == "get" || words[0] == "sget") {
    request.kind = Request::Kind::kRead;
  } else {
    return Fail(Wrong("'" + std::string(words[0]) + "' is no request"));
  }
  if (words.size() == 3) {
    KV_TRY(request.range_end, Unescaped(words[2]));
  }
  return request;
}

// The words between lone semicolons.
std::vector<std::span<const std::string_view>> Split(std::span<const std::string_view> words) {
  std::vector<std::span<const std::string_view>> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= words.size(); ++i) {
    if (i < words.size() && words[i] != ";") continue;
    if (i > begin) parts.push_back(words.subspan(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

Result<void> ParseTxn(std::span<const std::string_view> words, Operation& operation) {
  operation.is_txn = true;
  std::size_t i = 0;
  const auto until = [&](std::string_view one, std::string_view other) {
    const std::size_t begin = i;
    while (i < words.size() && words[i] != one && words[i] != other) ++i;
    return words.subspan(begin, i - begin);
  };
  if (i < words.size() && words[i] == "if") {
    ++i;
    for (const std::string_view word : until("then", "else")) {
      KV_TRY(Compare compare, ParseCompare(word));
      operation.compares.push_back(std::move(compare));
    }
  }
  while (i < words.size()) {
    const std::string_view branch = words[i++];
    if (branch != "then" && branch != "else") {
      return Fail(Wrong("'" + std::string(branch) + "' where then or else belongs"));
    }
    std::vector<Request>& requests = branch == "then" ? operation.success : operation.failure;
    for (const auto& part : Split(until("then", "else"))) {
      KV_TRY(Request request, ParseRequest(part));
      requests.push_back(std::move(request));
    }
  }
  return {};
}

// `words` without the word that tells the kind.
Result<Answer> ParseAnswer(const Request& request, std::span<const std::string_view> words) {
  Answer answer;
  switch (request.kind) {
    case Request::Kind::kPut:
      if (!words.empty()) return Fail(Wrong("a put's answer has nothing but the revision"));
      return answer;
    case Request::Kind::kDelete: {
      if (words.size() != 1) return Fail(Wrong("a delete's answer has the number of keys"));
      KV_TRY(answer.deleted, ParseNumber(words[0]));
      return answer;
    }
    case Request::Kind::kRead:
      for (const std::string_view word : words) {
        KV_TRY(KeyValue kv, ParseKv(word));
        answer.kvs.push_back(std::move(kv));
      }
      return answer;
  }
  return answer;
}

Result<void> ParseAnswers(std::span<const std::string_view> words, Operation& operation) {
  if (words.empty()) return Fail(Wrong("the answer is missing"));
  if (words[0] == "?") {
    if (words.size() > 1) return Fail(Wrong("nothing follows an answer of ?"));
    operation.returned = kNeverReturned;
    return {};
  }
  if (operation.returned == kNeverReturned) {
    return Fail(Wrong("an answer that was seen has a time"));
  }
  if (operation.returned < operation.call) return Fail(Wrong("it returned before its call"));
  operation.acknowledged = true;
  if (words[0] != "-") {
    KV_TRY(operation.revision, ParseNumber(words[0]));
  }
  words = words.subspan(1);
  if (!operation.is_txn) {
    KV_TRY(Answer answer, ParseAnswer(operation.success.front(), words));
    operation.answers.push_back(std::move(answer));
    return {};
  }
  if (words.empty() || (words[0] != "yes" && words[0] != "no")) {
    return Fail(Wrong("a transaction's answer says yes or no"));
  }
  operation.succeeded = words[0] == "yes";
  const auto parts = Split(words.subspan(1));
  const std::vector<Request>& requests = operation.Taken();
  if (parts.size() != requests.size()) {
    return Fail(Wrong("a transaction answers each request of the branch it took"));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    KV_TRY(Answer answer, ParseAnswer(requests[i], parts[i].subspan(1)));
    operation.answers.push_back(std::move(answer));
  }
  return {};
}

Result<Operation> ParseOperation(std::span<const std::string_view> words) {
  std::size_t arrow = 0;
  while (arrow < words.size() && words[arrow] != "->") ++arrow;
  if (arrow == words.size() || arrow < 4) {
    return Fail(Wrong("a line is CLIENT CALL RETURNED OPERATION -> ANSWER"));
  }
  Operation operation;
  KV_TRY(operation.client, Unescaped(words[0]));
  KV_TRY(operation.call, ParseNumber(words[1]));
  if (words[2] != "-") {
    KV_TRY(operation.returned, ParseNumber(words[2]));
  }
  const auto request = words.subspan(3, arrow - 3);
  if (request[0] == "txn") {
    KV_RETURN_IF_ERROR(ParseTxn(request.subspan(1), operation));
  } else {
    KV_TRY(Request single, ParseRequest(request));
    operation.success.push_back(std::move(single));
    operation.serializable = request[0] == "sget";
  }
  KV_RETURN_IF_ERROR(ParseAnswers(words.subspan(arrow + 1), operation));
  return operation;
}

Result<void> ParseLine(const Words& words, History& history) {
  if (words[0] != "start") {
    KV_TRY(Operation operation, ParseOperation(words));
    history.operations.push_back(std::move(operation));
    return {};
  }
  if (words.size() < 2) return Fail(Wrong("start has a revision"));
  KV_TRY(history.start_revision, ParseNumber(words[1]));
  for (std::size_t i = 2; i < words.size(); ++i) {
    KV_TRY(KeyValue kv, ParseKv(words[i]));
    history.start.push_back(std::move(kv));
  }
  return {};
}

}  // namespace

std::string ToText(const KeyValue& kv) {
  std::string out = Escaped(kv.key) + "=" + Escaped(kv.value);
  if (kv.mod_revision != 0 || kv.create_revision != 0 || kv.version != 0) {
    out += "@" + std::to_string(kv.mod_revision) + "," + std::to_string(kv.create_revision) + "," +
           std::to_string(kv.version);
  }
  return out;
}

std::string ToText(const Operation& operation) {
  std::string out = Escaped(operation.client) + " " + std::to_string(operation.call) + " ";
  out += operation.acknowledged ? std::to_string(operation.returned) : "-";
  out += " ";
  if (operation.is_txn) {
    out += "txn";
    if (!operation.compares.empty()) out += " if";
    for (const Compare& compare : operation.compares) out += " " + CompareText(compare);
    AppendRequests(out, " then", operation.success);
    AppendRequests(out, " else", operation.failure);
  } else {
    out += RequestText(operation.success.front(), operation.serializable);
  }
  out += " ->";
  if (operation.acknowledged) {
    AppendAnswer(out, operation);
  } else {
    out += " ?";
  }
  return out;
}

std::string ToText(const History& history) {
  std::string out = "start " + std::to_string(history.start_revision);
  AppendKvs(out, history.start);
  out += "\n";
  for (const Operation& operation : history.operations) out += ToText(operation) + "\n";
  return out;
}

Result<History> ParseHistory(std::string_view text) {
  History history;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    Words words;
    while (!line.empty()) {
      const std::size_t space = line.find(' ');
      if (space != 0) words.push_back(line.substr(0, space));
      line = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    }
    if (words.empty() || words[0].starts_with('#')) continue;
    if (Result<void> parsed = ParseLine(words, history); !parsed.has_value()) {
      return Fail(Code::kInvalidArgument,
                  "line " + std::to_string(number) + ": " + parsed.error().message);
    }
  }
  return history;
}

}  // namespace kvorum::linearizability
