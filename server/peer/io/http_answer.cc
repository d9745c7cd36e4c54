#include "server/peer/io/http_answer.h"

#include <utility>

#include "rpc/http/http1_parser.h"
#include "rpc/http/http_date.h"

namespace kvorum::server {
namespace {

void AppendHead(std::string& out, unsigned status, const std::vector<rpc::HttpHeader>& headers) {
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  out.append(rpc::ReasonOf(status)).append("\r\n");
  for (const rpc::HttpHeader& header : headers)
    out.append(header.name).append(": ").append(header.value).append("\r\n");
  out.append("Date: ").append(rpc::HttpDate()).append("\r\n");
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
