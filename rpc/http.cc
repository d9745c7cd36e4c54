#include "rpc/http.h"

#include <algorithm>

#include "base/check.h"

namespace kvorum::rpc {

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
  return *this;
}

HttpReply::~HttpReply() {
  if (sink_ != nullptr) Send(HttpResponse::Text(500, "Internal Server Error\n"));
}

void HttpReply::Send(HttpResponse response) {
  KV_CHECK(sink_ != nullptr, "an HTTP request was answered twice");
  const std::shared_ptr<HttpSink> sink = std::move(sink_);
  sink->Complete(std::move(response));
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
  const std::string path(request.Path());
  if (const auto found = exact_.find(path); found != exact_.end())
    return found->second(std::move(request), std::move(reply));
  for (const auto& [prefix, handler] : prefixes_) {
    if (path.starts_with(prefix)) return handler(std::move(request), std::move(reply));
  }
  HttpResponse response = HttpResponse::Text(404, "404 page not found\n");
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  reply.Send(std::move(response));
}

HttpHandler HttpMux::ToHandler(HttpMux mux) {
  return [mux = std::move(mux)](HttpRequest request, HttpReply reply) {
    mux.Serve(std::move(request), std::move(reply));
  };
}

}  // namespace kvorum::rpc
