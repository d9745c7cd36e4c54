#include "tests/client/fake_member.h"

#include <gtest/gtest.h>

#include <utility>

namespace kvorum::client {

FakeMember::FakeMember(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
  builder.RegisterService(static_cast<etcdserverpb::KV::Service*>(this));
  builder.RegisterService(static_cast<etcdserverpb::Auth::Service*>(this));
  builder.RegisterService(static_cast<etcdserverpb::Lease::Service*>(this));
  builder.RegisterService(static_cast<etcdserverpb::Cluster::Service*>(this));
  builder.RegisterService(static_cast<etcdserverpb::Watch::Service*>(this));
  server_ = builder.BuildAndStart();
}

FakeMember::~FakeMember() {
  Stop();
  // The thread sanitizer does not see how grpc++ waits for its handlers.
  const std::lock_guard lock(mutex_);
}

void FakeMember::Stop() {
  server_->Shutdown();
  server_->Wait();
}

void FakeMember::Answer(std::vector<grpc::Status> statuses) {
  const std::lock_guard lock(mutex_);
  statuses_ = std::move(statuses);
}

void FakeMember::AnswerLogins(grpc::Status status) {
  OnLogin([status = std::move(status)] { return status; });
}

void FakeMember::OnLogin(std::function<grpc::Status()> on_login) {
  const std::lock_guard lock(mutex_);
  on_login_ = std::move(on_login);
}

void FakeMember::RequireToken(grpc::Status refusal) {
  const std::lock_guard lock(mutex_);
  requires_token_ = true;
  valid_token_.clear();
  refusal_ = std::move(refusal);
}

void FakeMember::SetMembers(etcdserverpb::MemberListResponse members) {
  const std::lock_guard lock(mutex_);
  members_ = std::move(members);
}

void FakeMember::OnWatches(std::vector<OnWatch> on_watches) {
  const std::lock_guard lock(mutex_);
  on_watches_ = std::move(on_watches);
}

int FakeMember::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int FakeMember::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

int FakeMember::logins() const {
  const std::lock_guard lock(mutex_);
  return logins_;
}

int FakeMember::puts() const {
  const std::lock_guard lock(mutex_);
  return puts_;
}

std::string FakeMember::Metadata(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = metadata_.find(name);
  return it == metadata_.end() ? "" : it->second;
}

grpc::Status FakeMember::Next(const grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  metadata_.clear();
  for (const auto& [name, value] : context.client_metadata())
    metadata_.emplace(std::string(name.data(), name.size()),
                      std::string(value.data(), value.size()));
  const auto token = metadata_.find("token");
  if (requires_token_ &&
      (valid_token_.empty() || token == metadata_.end() || token->second != valid_token_)) {
    ++refused_;
    return refusal_;
  }
  ++calls_;
  if (statuses_.empty()) return grpc::Status::OK;
  grpc::Status status = statuses_.front();
  statuses_.erase(statuses_.begin());
  return status;
}

grpc::Status FakeMember::Range(grpc::ServerContext* context, const etcdserverpb::RangeRequest*,
                               etcdserverpb::RangeResponse* response) {
  response->set_count(1);
  return Next(*context);
}

grpc::Status FakeMember::Put(grpc::ServerContext* context, const etcdserverpb::PutRequest*,
                             etcdserverpb::PutResponse*) {
  grpc::Status status = Next(*context);
  const std::lock_guard lock(mutex_);
  ++puts_;
  return status;
}

// Three chunks if the answer is OK, two before another one whose text begins with "late", else
// none.
grpc::Status FakeMember::RangeStream(
    grpc::ServerContext* context, const etcdserverpb::RangeRequest*,
    grpc::ServerWriter<etcdserverpb::RangeStreamResponse>* writer) {
  grpc::Status status = Next(*context);
  const bool is_late = status.error_message().starts_with("late");
  const int chunks = status.ok() ? 3 : is_late ? 2 : 0;
  etcdserverpb::RangeStreamResponse chunk;
  for (int i = 1; i <= chunks; ++i) {
    chunk.mutable_range_response()->set_count(i);
    writer->Write(chunk);
  }
  return status;
}

grpc::Status FakeMember::Authenticate(grpc::ServerContext*,
                                      const etcdserverpb::AuthenticateRequest* request,
                                      etcdserverpb::AuthenticateResponse* response) {
  std::function<grpc::Status()> on_login;
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    on_login = on_login_;
    token = "token-of-" + request->name() + "-" + std::to_string(++logins_);
  }
  const grpc::Status status = on_login();
  const std::lock_guard lock(mutex_);
  if (status.ok()) valid_token_ = token;
  response->set_token(token);
  return status;
}

grpc::Status FakeMember::UserAdd(grpc::ServerContext* context,
                                 const etcdserverpb::AuthUserAddRequest* request,
                                 etcdserverpb::AuthUserAddResponse*) {
  grpc::Status status = Next(*context);
  if (status.ok() && request->name().empty())
    return {grpc::INVALID_ARGUMENT, "etcdserver: user name is empty"};
  return status;
}

grpc::Status FakeMember::LeaseKeepAlive(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<etcdserverpb::LeaseKeepAliveResponse,
                             etcdserverpb::LeaseKeepAliveRequest>* stream) {
  if (const grpc::Status status = Next(*context); !status.ok()) return status;
  etcdserverpb::LeaseKeepAliveRequest request;
  etcdserverpb::LeaseKeepAliveResponse response;
  while (stream->Read(&request)) {
    response.set_id(request.id());
    response.set_ttl(5);
    stream->Write(response);
  }
  return grpc::Status::OK;
}

grpc::Status FakeMember::MemberList(grpc::ServerContext* context,
                                    const etcdserverpb::MemberListRequest*,
                                    etcdserverpb::MemberListResponse* response) {
  grpc::Status status = Next(*context);
  const std::lock_guard lock(mutex_);
  *response = members_;
  return status;
}

grpc::Status FakeMember::Watch(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>* stream) {
  if (const grpc::Status status = Next(*context); !status.ok()) return status;
  etcdserverpb::WatchRequest request;
  if (!stream->Read(&request)) return grpc::Status::OK;
  OnWatch on_watch;
  {
    const std::lock_guard lock(mutex_);
    on_watch = on_watches_.front();
    if (on_watches_.size() > 1) on_watches_.erase(on_watches_.begin());
  }
  return on_watch(request.create_request(), stream);
}

std::unique_ptr<Client> ConnectTo(std::vector<std::string> endpoints) {
  auto client = Client::Connect({.endpoints = std::move(endpoints)});
  EXPECT_TRUE(client);
  return *std::move(client);
}

}  // namespace kvorum::client
