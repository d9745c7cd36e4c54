#include "rpc/call/service.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "rpc/call/grpc_protocol.h"

namespace kvorum::rpc {
namespace {

// Collects an answer made in pieces, for callers that need the whole message.
class Gatherer final : public std::enable_shared_from_this<Gatherer> {
 public:
  Gatherer(LargeAnswer answer, std::move_only_function<void(Result<ByteChain>)> done)
      : answer_(std::move(answer)), done_(std::move(done)) {}

  void GoOn() {
    if (answer_.rest_bytes == 0) return done_(std::move(answer_.begun.bytes));
    answer_.rest->MakeNext([self = shared_from_this()](Result<AnswerPiece> piece) {
      if (!piece.has_value()) return self->done_(Fail(std::move(piece).error()));
      self->Take(std::move(piece->bytes));
    });
  }

 private:
  void Take(ByteChain bytes) {
    answer_.rest_bytes -= std::min(answer_.rest_bytes, SizeBytes(bytes));
    std::ranges::move(bytes, std::back_inserter(answer_.begun.bytes));
    GoOn();
  }

  LargeAnswer answer_;
  std::move_only_function<void(Result<ByteChain>)> done_;
};

class FunctionSink final : public UnarySink {
 public:
  explicit FunctionSink(std::move_only_function<void(Result<ByteChain>)> function)
      : function_(std::move(function)) {}
  void Complete(Error status, SharedBytes first, ByteChain rest) override {
    if (status.code != Code::kOk) return function_(Fail(std::move(status)));
    if (!first.empty()) rest.insert(rest.begin(), std::move(first));
    function_(std::move(rest));
  }
  void CompleteLarge(LargeAnswer answer) override {
    std::make_shared<Gatherer>(std::move(answer), std::move(function_))->GoOn();
  }

 private:
  std::move_only_function<void(Result<ByteChain>)> function_;
};

}  // namespace

UnaryReply UnaryReply::ToFunction(std::move_only_function<void(Result<ByteChain>)> function) {
  return UnaryReply(std::make_shared<FunctionSink>(std::move(function)));
}

UnaryReply& UnaryReply::operator=(UnaryReply&& other) noexcept {
  std::swap(sink_, other.sink_);
  return *this;
}

UnaryReply::~UnaryReply() {
  if (sink_ != nullptr) Fail(NoAnswerError());
}

void UnaryReply::Send(SharedBytes message) {
  KV_CHECK(sink_ != nullptr, "a call was answered twice");
  const std::shared_ptr<UnarySink> sink = std::move(sink_);
  sink->Complete(Error{Code::kOk, {}}, std::move(message), {});
}

void UnaryReply::Send(ByteChain message) {
  KV_CHECK(sink_ != nullptr, "a call was answered twice");
  const std::shared_ptr<UnarySink> sink = std::move(sink_);
  sink->Complete(Error{Code::kOk, {}}, {}, std::move(message));
}

void UnaryReply::Send(LargeAnswer answer) {
  KV_CHECK(sink_ != nullptr, "a call was answered twice");
  const std::shared_ptr<UnarySink> sink = std::move(sink_);
  sink->CompleteLarge(std::move(answer));
}

void UnaryReply::Fail(Error error) {
  KV_CHECK(sink_ != nullptr, "a call was answered twice");
  const std::shared_ptr<UnarySink> sink = std::move(sink_);
  sink->Complete(std::move(error), {}, {});
}

void UnaryReply::operator()(Result<ByteChain> answer) {
  if (answer.has_value()) {
    Send(std::move(*answer));
  } else {
    Fail(std::move(answer).error());
  }
}

Router::Method& Router::Add(std::string_view service, std::string_view name, MethodKind kind) {
  auto method = std::make_unique<Method>();
  MethodInfo& info = method->info;
  info.service = service;
  info.name = name;
  info.path = "/" + info.service + "/" + info.name;
  info.kind = kind;
  info.index = static_cast<std::uint32_t>(methods_.size());
  const bool added = by_path_.emplace(info.path, method.get()).second;
  KV_CHECK(added, "a method is registered twice");
  services_.insert(info.service);
  return *methods_.emplace_back(std::move(method));
}

std::uint32_t Router::AddUnary(std::string_view service, std::string_view name,
                               UnaryMethod method) {
  Method& added = Add(service, name, MethodKind::kUnary);
  added.unary = std::move(method);
  return added.info.index;
}

std::uint32_t Router::AddStream(std::string_view service, std::string_view name, MethodKind kind,
                                StreamMethod method) {
  KV_CHECK(kind != MethodKind::kUnary, "a unary method is registered as a stream");
  Method& added = Add(service, name, kind);
  added.stream = std::move(method);
  return added.info.index;
}

const Router::Method* Router::Find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

Error Router::MissingMethod(std::string_view path) const {
  if (!path.starts_with('/') || path.rfind('/') == 0) return MalformedMethodError(path);
  const std::size_t slash = path.rfind('/');
  const std::string_view service = path.substr(1, slash - 1);
  if (!services_.contains(service)) return UnknownServiceError(service);
  return UnknownMethodError(path.substr(slash + 1), service);
}

}  // namespace kvorum::rpc
