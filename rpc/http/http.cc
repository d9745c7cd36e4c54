#include "rpc/http/http.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/text/escape_markup.h"
#include "base/text/percent.h"

namespace kvorum::rpc {
namespace {

// Removes empty segments, "." and ".."; keeps a slash at the end.
std::string CleanPath(std::string_view path) {
  std::string cleaned;
  bool is_folder = true;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = path.substr(at, end - at);
    at = end + 1;
    if (segment == "..") {
      cleaned.resize(std::min(cleaned.rfind('/'), cleaned.size()));
    } else if (!segment.empty() && segment != ".") {
      cleaned.append("/").append(segment);
    }
    is_folder = segment.empty();
  }
  if (is_folder || cleaned.empty()) cleaned += '/';
  return cleaned;
}

// Escapes of slashes stay: they must not become separators.
std::string DecodeSegments(std::string_view path) { return PercentDecode(path, "/"); }

HttpResponse RedirectTo(std::string path, const HttpRequest& request) {
  std::string location = std::move(path);
  if (const std::string_view query = request.Query(); !query.empty())
    location.append("?").append(query);
  const bool shows_link = request.method == "GET" || request.method == "HEAD";
  HttpResponse response = HttpResponse::Text(
      307,
      shows_link ? "<a href=\"" + EscapeMarkup(location) + "\">Temporary Redirect</a>.\n\n" : "");
  response.content_type = shows_link ? "text/html; charset=utf-8" : "";
  response.headers.push_back({"Location", std::move(location)});
  return response;
}

}  // namespace

std::string_view HttpRequest::Path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view HttpRequest::Query() const {
  const std::size_t mark = target.find('?');
  return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
}

std::optional<std::string_view> HttpRequest::Header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return std::nullopt;
}

HttpResponse HttpResponse::Text(unsigned status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body.push_back(SharedBytes::Own(std::move(body)));
  return response;
}

HttpResponse HttpResponse::Json(unsigned status, std::string body) {
  HttpResponse response = Text(status, std::move(body));
  response.content_type = "application/json";
  return response;
}

HttpReply& HttpReply::operator=(HttpReply&& other) noexcept {
  std::swap(sink_, other.sink_);
  std::swap(headers_, other.headers_);
  return *this;
}

HttpReply::~HttpReply() {
  if (sink_ != nullptr) Send(HttpResponse::Text(500, "Internal Server Error\n"));
}

void HttpReply::AddHeaders(std::vector<HttpHeader> headers) {
  std::ranges::move(headers, std::back_inserter(headers_));
}

void HttpReply::Send(HttpResponse response) {
  KV_CHECK(sink_ != nullptr, "an HTTP request was answered twice");
  const std::shared_ptr<HttpSink> sink = std::move(sink_);
  std::ranges::move(headers_, std::back_inserter(response.headers));
  sink->Complete(std::move(response));
}

std::shared_ptr<HttpBody> HttpReply::Begin(HttpResponse head) {
  KV_CHECK(sink_ != nullptr, "an HTTP request was answered twice");
  const std::shared_ptr<HttpSink> sink = std::move(sink_);
  std::ranges::move(headers_, std::back_inserter(head.headers));
  return sink->Begin(std::move(head));
}

std::optional<HttpUpgrade> HttpSink::Upgrade(HttpResponse /*head*/) { return std::nullopt; }

// The answer's own headers say all: those of AddHeaders belong to answers over HTTP.
std::optional<HttpUpgrade> HttpReply::Upgrade(HttpResponse head) {
  KV_CHECK(sink_ != nullptr, "an HTTP request was answered twice");
  const std::shared_ptr<HttpSink> sink = std::move(sink_);
  return sink->Upgrade(std::move(head));
}

void HttpMux::Handle(std::string path, HttpHandler handler) {
  exact_.insert_or_assign(std::move(path), std::move(handler));
}

void HttpMux::HandlePrefix(std::string prefix, HttpHandler handler) {
  const auto shorter = std::ranges::find_if(
      prefixes_, [&](const auto& entry) { return entry.first.size() < prefix.size(); });
  prefixes_.emplace(shorter, std::move(prefix), std::move(handler));
}

void HttpMux::Serve(HttpRequest request, HttpReply reply) const {
  const std::string_view path = request.Path();
  if (!path.starts_with('/')) return reply.Send(HttpResponse::Text(400, "400 Bad Request"));
  if (std::string cleaned = CleanPath(path); cleaned != path && request.method != "CONNECT")
    return reply.Send(RedirectTo(std::move(cleaned), request));
  const std::string decoded = DecodeSegments(path);
  if (const auto found = exact_.find(decoded); found != exact_.end())
    return found->second(std::move(request), std::move(reply));
  for (const auto& [prefix, handler] : prefixes_) {
    if (decoded.starts_with(prefix)) return handler(std::move(request), std::move(reply));
    if (decoded.size() + 1 == prefix.size() && prefix.starts_with(decoded))
      return reply.Send(RedirectTo(std::string(path) + '/', request));
  }
  HttpResponse response = HttpResponse::Text(404, "404 page not found\n");
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  reply.Send(std::move(response));
}

std::vector<std::string> HttpMux::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, handler] : exact_) paths.push_back(path);
  for (const auto& [prefix, handler] : prefixes_) paths.push_back(prefix + "*");
  std::ranges::sort(paths);
  return paths;
}

HttpHandler HttpMux::ToHandler(HttpMux mux) {
  return [mux = std::move(mux)](HttpRequest request, HttpReply reply) {
    mux.Serve(std::move(request), std::move(reply));
  };
}

}  // namespace kvorum::rpc
