#include "server/tracing/collector_connection.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "rpc/client/grpc_connection.h"

namespace kvorum::server::tracing {
namespace {

// The caller's limit is what counts.
constexpr rpc::GrpcConnection::Options kOptions{.dial_timeout = std::chrono::minutes(1),
                                                .max_message_bytes = 64 * 1024};

}  // namespace

CollectorConnection::CollectorConnection(rpc::DialTarget target, Metadata metadata)
    : target_(std::move(target)), metadata_(std::move(metadata)) {}

CollectorConnection::~CollectorConnection() = default;

Result<std::string> CollectorConnection::Call(std::string_view path, std::string_view message,
                                              const rpc::WaitLimit& limit) {
  const bool is_new = connection_ == nullptr;
  KV_RETURN_IF_ERROR(Open(limit));
  Result<std::string> answer = Exchange(path, message, limit);
  // The collector may have closed an old connection while this call was on its way.
  if (connection_ == nullptr && !is_new && SystemClock().Now() < limit.Now()) {
    KV_RETURN_IF_ERROR(Open(limit));
    answer = Exchange(path, message, limit);
  }
  return answer;
}

Result<void> CollectorConnection::Open(const rpc::WaitLimit& limit) {
  if (connection_ != nullptr) return {};
  KV_TRY(connection_, rpc::GrpcConnection::Dial(target_, nullptr, kOptions, limit));
  return {};
}

Result<std::string> CollectorConnection::Exchange(std::string_view path, std::string_view message,
                                                  const rpc::WaitLimit& limit) {
  auto answer = connection_->Call({.path = path, .message = message, .metadata = metadata_}, limit);
  // A collector that says nothing for a whole call may be gone without a word.
  const bool is_silent = !answer.has_value() && answer.error().code == Code::kDeadlineExceeded &&
                         SystemClock().Now() >= limit.Now();
  if (!connection_->is_usable() || is_silent) connection_.reset();
  return answer;
}

int CollectorConnection::fd() const { return connection_ == nullptr ? -1 : connection_->fd(); }

void CollectorConnection::Idle() {
  if (connection_ == nullptr) return;
  connection_->Idle();
  if (!connection_->is_usable()) connection_.reset();
}

}  // namespace kvorum::server::tracing
