#include "consul/http/exchange.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/gzip.h"
#include "base/text/percent.h"
#include "base/utf8.h"
#include "consul/model/fields.h"
#include "rpc/io/loop.h"

namespace kvorum::consul {
namespace {

// A smaller body is not worth its packing.
constexpr std::size_t kGzipFromBytes = 1400;
constexpr int kPrettyIndent = 4;

bool IsPrintable(std::string_view text) {
  return IsValidUtf8(text) && std::ranges::none_of(text, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < 0x20 || byte == 0x7f;
         });
}

// Nothing if an escape is malformed.
std::optional<std::string> Unescape(std::string_view text, bool has_plus) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    if (text.front() == '%') {
      const std::optional<char> byte = PercentEscapeAt(text);
      if (!byte) return std::nullopt;
      decoded += *byte;
      text.remove_prefix(kPercentEscapeBytes);
      continue;
    }
    decoded += has_plus && text.front() == '+' ? ' ' : text.front();
    text.remove_prefix(1);
  }
  return decoded;
}

struct Query {
  std::vector<std::pair<std::string, std::string>> parameters;
  bool is_sound = true;
};

Query ParseQuery(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t sign = std::min(part.find('='), part.size());
    auto name = Unescape(part.substr(0, sign), true);
    auto value = Unescape(part.substr(std::min(sign + 1, part.size())), true);
    if (!name || !value || part.contains(';')) {
      query.is_sound = false;
      continue;
    }
    query.parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

bool TakesGzip(const rpc::HttpRequest& request) {
  const auto accepted = request.Header("accept-encoding");
  if (!accepted) return false;
  const std::size_t at = accepted->find("gzip");
  return at != std::string_view::npos && !accepted->substr(at).starts_with("gzip;q=0");
}

}  // namespace

struct Exchange::State {
  State(rpc::HttpRequest its_request, rpc::HttpReply its_reply)
      : request(std::move(its_request)), reply(std::move(its_reply)) {
    const std::string_view target_path = request.Path();
    std::optional<std::string> decoded = Unescape(target_path, false);
    has_sound_path = decoded.has_value() && decoded->starts_with('/') && IsPrintable(*decoded);
    path = decoded ? *std::move(decoded) : std::string(target_path);
    query = ParseQuery(request.Query());
    token = FindToken();
  }

  const std::string* Find(std::string_view name) const {
    const auto found =
        std::ranges::find(query.parameters, name, &std::pair<std::string, std::string>::first);
    return found == query.parameters.end() ? nullptr : &found->second;
  }

  std::string FindToken() const {
    if (const std::string* given = Find("token"); given != nullptr && !given->empty())
      return *given;
    if (const auto given = request.Header("x-consul-token"); given && !given->empty())
      return std::string(*given);
    constexpr std::string_view kScheme = "Bearer ";
    const auto given = request.Header("authorization");
    if (!given || !given->starts_with(kScheme)) return {};
    const std::string_view words = given->substr(kScheme.size());
    const std::size_t begin = std::min(words.find_first_not_of(' '), words.size());
    return std::string(words.substr(begin, words.find(' ', begin) - begin));
  }

  rpc::HttpRequest request;
  std::optional<rpc::HttpReply> reply;  // nothing: it has been answered
  Executor* loop = nullptr;
  std::string path;
  std::string rest;
  Query query;
  std::string token;
  std::vector<rpc::HttpHeader> headers;
  bool has_sound_path = false;
};

Exchange::Exchange(rpc::HttpRequest request, rpc::HttpReply reply, Executor* loop) {
  if (loop == nullptr) loop = request.loop;
  state_ = std::make_unique<State>(std::move(request), std::move(reply));
  state_->loop = loop;
}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
Exchange::~Exchange() = default;

std::string_view Exchange::method() const { return state_->request.method; }
const std::string& Exchange::path() const { return state_->path; }
bool Exchange::has_sound_path() const { return state_->has_sound_path; }
bool Exchange::has_sound_query() const { return state_->query.is_sound; }
const std::string& Exchange::rest() const { return state_->rest; }
void Exchange::SetRest(std::string rest) { state_->rest = std::move(rest); }

bool Exchange::Has(std::string_view parameter) const { return state_->Find(parameter) != nullptr; }

std::optional<std::string> Exchange::Parameter(std::string_view name) const {
  const std::string* found = state_->Find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<std::string> Exchange::Parameters(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [known, value] : state_->query.parameters) {
    if (known == name) values.push_back(value);
  }
  return values;
}

std::optional<std::string_view> Exchange::Header(std::string_view lower_name) const {
  return state_->request.Header(lower_name);
}

std::string_view Exchange::body() const { return state_->request.body.view(); }
const std::string& Exchange::token() const { return state_->token; }
Executor& Exchange::loop() const { return *state_->loop; }

void Exchange::OnGone(std::move_only_function<void()> callback) {
  if (state_->reply) state_->reply->OnGone(std::move(callback));
}

void Exchange::SetHeader(std::string name, std::string value) {
  const auto found = std::ranges::find(state_->headers, name, &rpc::HttpHeader::name);
  if (found != state_->headers.end()) {
    found->value = std::move(value);
  } else {
    state_->headers.push_back({std::move(name), std::move(value)});
  }
}

void Exchange::SetIndex(std::uint64_t index) {
  SetHeader("X-Consul-Index", std::to_string(std::max<std::uint64_t>(index, 1)));
}

void Exchange::Ok() {
  rpc::HttpResponse response;
  response.content_type.clear();
  Send(std::move(response));
}

void Exchange::OkJson(const Json& value) { JsonAnswer(200, value); }

void Exchange::JsonAnswer(unsigned status, const Json& value) {
  constexpr auto kReplace = Json::error_handler_t::replace;
  std::string text = Has("pretty") ? value.dump(kPrettyIndent, ' ', false, kReplace) + "\n"
                                   : value.dump(-1, ' ', false, kReplace);
  Send(rpc::HttpResponse::Json(status, std::move(text)));
}

void Exchange::OkText(std::string text, std::string content_type) {
  rpc::HttpResponse response = rpc::HttpResponse::Text(200, std::move(text));
  response.content_type = std::move(content_type);
  Send(std::move(response));
}

void Exchange::Text(unsigned status, std::string text) {
  Send(rpc::HttpResponse::Text(status, std::move(text)));
}

void Exchange::Send(rpc::HttpResponse response) {
  if (!state_->reply) return;
  std::ranges::move(state_->headers, std::back_inserter(response.headers));
  response.headers.push_back({"Vary", "Accept-Encoding"});
  if (SizeBytes(response.body) >= kGzipFromBytes && TakesGzip(state_->request)) {
    GzipWriter packer;
    std::string packed;
    for (const SharedBytes& part : response.body) packed += packer.Add(part.view());
    packed += packer.Finish();
    response.body = {SharedBytes::Own(std::move(packed))};
    response.headers.push_back({"Content-Encoding", "gzip"});
  }
  rpc::HttpReply reply = *std::exchange(state_->reply, std::nullopt);
  reply.Send(std::move(response));
}

void Exchange::StoreError(const Error& error) {
  switch (error.code) {
    case Code::kPermissionDenied:
      return Text(403, "Permission denied: " + error.message);
    case Code::kUnauthenticated:
      return Text(403, "ACL not found");
    case Code::kCanceled:
    case Code::kDeadlineExceeded:
    case Code::kUnavailable:
      return Text(500, "No cluster leader");
    case Code::kOk:
    case Code::kUnknown:
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kAborted:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kDataLoss:
      break;
  }
  Text(500, error.message);
}

std::string TooLargeText(std::uint64_t body_bytes, std::size_t max_bytes) {
  std::string text = "Request body";
  if (body_bytes != 0) text += "(" + std::to_string(body_bytes) + " bytes)";
  return text + " too large, max size: " + std::to_string(max_bytes) +
         " bytes. See docs/consul.md.";
}

std::optional<Json> JsonBody(Exchange& exchange, std::string_view error_prefix) {
  auto body = ParseBody(FirstValue(exchange.body()));
  if (body) return *std::move(body);
  exchange.Text(400, std::string(error_prefix) + body.error().message);
  return std::nullopt;
}

}  // namespace kvorum::consul
