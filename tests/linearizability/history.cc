#include "tests/linearizability/history.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvorum::linearizability {
namespace {

Operation Single(std::string client, std::int64_t call, Request request) {
  Operation operation;
  operation.client = std::move(client);
  operation.call = call;
  operation.success.push_back(std::move(request));
  return operation;
}

bool IsWrite(const Request& request) { return request.kind != Request::Kind::kRead; }

}  // namespace

bool InRange(const std::string& key, const std::string& from, const std::string& range_end) {
  if (range_end.empty()) return key == from;
  if (range_end.size() == 1 && range_end.front() == '\0') return key >= from;
  return key >= from && key < range_end;
}

bool MayWrite(const Operation& operation) {
  return std::ranges::any_of(operation.success, IsWrite) ||
         std::ranges::any_of(operation.failure, IsWrite);
}

bool Wrote(const Operation& operation) {
  const std::vector<Request>& requests = operation.Taken();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind == Request::Kind::kPut) return true;
    if (requests[i].kind == Request::Kind::kDelete && i < operation.answers.size() &&
        operation.answers[i].deleted > 0) {
      return true;
    }
  }
  return false;
}

Operation Put(std::string client, std::int64_t call, std::string key, std::string value) {
  return Single(std::move(client), call,
                {.kind = Request::Kind::kPut, .key = std::move(key), .value = std::move(value)});
}

Operation Delete(std::string client, std::int64_t call, std::string key, std::string range_end) {
  return Single(
      std::move(client), call,
      {.kind = Request::Kind::kDelete, .key = std::move(key), .range_end = std::move(range_end)});
}

Operation Read(std::string client, std::int64_t call, std::string key, std::string range_end) {
  return Single(
      std::move(client), call,
      {.kind = Request::Kind::kRead, .key = std::move(key), .range_end = std::move(range_end)});
}

}  // namespace kvorum::linearizability
