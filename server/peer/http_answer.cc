#include "server/peer/http_answer.h"

#include <boost/beast/http/status.hpp>
#include <ctime>
#include <utility>

namespace kvorum::server {
namespace {

std::string DateText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

void AppendHead(std::string& out, unsigned status, const std::vector<rpc::HttpHeader>& headers) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  out.append(reason.data(), reason.size()).append("\r\n");
  for (const rpc::HttpHeader& header : headers)
    out.append(header.name).append(": ").append(header.value).append("\r\n");
  out.append("Date: ").append(DateText()).append("\r\n");
}

}  // namespace

ByteChain EncodeAnswer(rpc::HttpResponse response, bool keep_alive, bool head_only) {
  std::string head;
  AppendHead(head, response.status, response.headers);
  const bool has_body = response.status != 204;
  if (has_body && !response.content_type.empty())
    head.append("Content-Type: ").append(response.content_type).append("\r\n");
  if (has_body)
    head.append("Content-Length: ").append(std::to_string(SizeBytes(response.body))).append("\r\n");
  if (!keep_alive) head.append("Connection: close\r\n");
  head.append("\r\n");
  ByteChain chain = {SharedBytes::Own(std::move(head))};
  if (head_only || !has_body) return chain;
  for (SharedBytes& piece : response.body) chain.push_back(std::move(piece));
  return chain;
}

ByteChain EncodeStreamAnswer(const std::vector<rpc::HttpHeader>& headers) {
  std::string head;
  AppendHead(head, 200, headers);
  head.append("Content-Type: application/octet-stream\r\nConnection: close\r\n\r\n");
  return {SharedBytes::Own(std::move(head))};
}

}  // namespace kvorum::server
