// A member of a cluster, made of grpc++ in this process, that answers as a test wants.
//
// Thread-safe. Calls of all services but Auth take their answers from one script: its next status,
// OK when there is none left. If tokens are required, a call without the valid one is refused
// before it takes an answer.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/client.h"
#include "proto/rpc.grpc.pb.h"

namespace kvorum::client {

class FakeMember final : public etcdserverpb::KV::Service,
                         public etcdserverpb::Auth::Service,
                         public etcdserverpb::Lease::Service,
                         public etcdserverpb::Cluster::Service,
                         public etcdserverpb::Watch::Service {
 public:
  explicit FakeMember(const std::shared_ptr<grpc::ServerCredentials>& credentials =
                          grpc::InsecureServerCredentials());
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;
  ~FakeMember() override;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // Ends as a process does that is asked to: takes no calls, finishes those it has.
  void Stop();

  void Answer(std::vector<grpc::Status> statuses);
  // Sets the answer of all log-ins, or a function that answers them, which may wait.
  void AnswerLogins(grpc::Status status);
  void OnLogin(std::function<grpc::Status()> on_login);
  // From now on the token of the last log-in is asked for; none is valid until the next one.
  void RequireToken(grpc::Status refusal = {grpc::UNAUTHENTICATED,
                                            "etcdserver: invalid auth token"});
  void SetMembers(etcdserverpb::MemberListResponse members);
  // Sets the reaction of each watch stream to its creation, in turn; the last one for all that
  // follow.
  using OnWatch = std::function<grpc::Status(
      const etcdserverpb::WatchCreateRequest& create,
      grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>* stream)>;
  void OnWatches(std::vector<OnWatch> on_watches);

  int calls() const;    // that took an answer
  int refused() const;  // for their token
  int logins() const;
  int puts() const;
  // The last call's metadata of that name.
  std::string Metadata(const std::string& name) const;

  grpc::Status Range(grpc::ServerContext* context, const etcdserverpb::RangeRequest* request,
                     etcdserverpb::RangeResponse* response) override;
  grpc::Status RangeStream(grpc::ServerContext* context, const etcdserverpb::RangeRequest* request,
                           grpc::ServerWriter<etcdserverpb::RangeStreamResponse>* writer) override;
  grpc::Status Put(grpc::ServerContext* context, const etcdserverpb::PutRequest* request,
                   etcdserverpb::PutResponse* response) override;
  grpc::Status Authenticate(grpc::ServerContext* context,
                            const etcdserverpb::AuthenticateRequest* request,
                            etcdserverpb::AuthenticateResponse* response) override;
  grpc::Status UserAdd(grpc::ServerContext* context,
                       const etcdserverpb::AuthUserAddRequest* request,
                       etcdserverpb::AuthUserAddResponse* response) override;
  grpc::Status LeaseKeepAlive(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<etcdserverpb::LeaseKeepAliveResponse,
                               etcdserverpb::LeaseKeepAliveRequest>* stream) override;
  grpc::Status MemberList(grpc::ServerContext* context,
                          const etcdserverpb::MemberListRequest* request,
                          etcdserverpb::MemberListResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<etcdserverpb::WatchResponse,
                                              etcdserverpb::WatchRequest>* stream) override;

 private:
  grpc::Status Next(const grpc::ServerContext& context);

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::vector<grpc::Status> statuses_;
  std::function<grpc::Status()> on_login_ = [] { return grpc::Status::OK; };
  bool requires_token_ = false;
  grpc::Status refusal_;
  std::string valid_token_;
  std::map<std::string, std::string> metadata_;
  etcdserverpb::MemberListResponse members_;
  std::vector<OnWatch> on_watches_;
  int calls_ = 0;
  int refused_ = 0;
  int logins_ = 0;
  int puts_ = 0;
};

// A client of these endpoints; the test ends if there can be none.
std::unique_ptr<Client> ConnectTo(std::vector<std::string> endpoints);

inline CallOptions Soon() { return CallOptions::Within(std::chrono::seconds(20)); }

}  // namespace kvorum::client
