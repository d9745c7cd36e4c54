#include "tests/sim/clients/sim_store.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "proto/rpc.pb.h"
#include "sync/store/messages.h"
#include "tests/sim/clients/client_stream.h"
#include "tests/sim/clients/sim_watch.h"
#include "tests/sim/clients/unary_call.h"
#include "tests/sim/world/sim_connection.h"

namespace kvorum::sim {
namespace {

using std::chrono::seconds;

// A call on its way; answered once, and not at all when its program has ended.
template <class T>
class Pending {
 public:
  Pending(std::shared_ptr<SimStore::Connection> connection,
          std::move_only_function<void(Result<T>)> on_answer)
      : connection_(std::move(connection)), on_answer_(std::move(on_answer)) {}

  std::string token = {};  // that it shows

  SimStore::Connection& connection() { return *connection_; }
  bool is_over() const { return !on_answer_ || connection_->is_closed; }
  void Answer(Result<T> answer) {
    if (is_over()) return;
    if (!answer.has_value()) connection_->Failed(token, answer.error());
    std::exchange(on_answer_, nullptr)(std::move(answer));
  }

 private:
  const std::shared_ptr<SimStore::Connection> connection_;
  std::move_only_function<void(Result<T>)> on_answer_;
};

template <class T>
std::shared_ptr<Pending<T>> Begin(const std::shared_ptr<SimStore::Connection>& connection,
                                  std::move_only_function<void(Result<T>)> on_answer) {
  auto call = std::make_shared<Pending<T>>(connection, std::move(on_answer));
  connection->world.scheduler.After(connection->options.call_timeout, [call] {
    call->Answer(Fail(Code::kDeadlineExceeded, "context deadline exceeded"));
  });
  return call;
}

template <class Message>
Message Parsed(const std::string& bytes) {
  Message message;
  KV_CHECK(message.ParseFromString(bytes), "a service gave out what is no answer");
  return message;
}

// `read` makes the answer of the response's bytes.
template <class T, class Read>
void CallUnary(const std::shared_ptr<SimStore::Connection>& connection, std::string path,
               std::string request, std::move_only_function<void(Result<T>)> on_answer, Read read) {
  const auto call = Begin<T>(connection, std::move(on_answer));
  const auto use = [call, read](const Result<std::string>& bytes) {
    if (!bytes.has_value()) return call->Answer(std::unexpected(bytes.error()));
    call->Answer(read(*bytes));
  };
  connection->user.Ready([call, path = std::move(path), request = std::move(request), use] {
    if (call->is_over()) return;
    SimStore::Connection& at = call->connection();
    call->token = at.user.token();
    sim::Call(at.world, *at.machine,
              {.path = path, .request = request, .token = call->token, .done = use});
  });
}

sync::LeaseAnswer ReadGrant(const std::string& bytes) {
  const auto response = Parsed<etcdserverpb::LeaseGrantResponse>(bytes);
  return {.id = response.id(), .ttl_s = response.ttl()};
}

// One renewal over its own stream.
void Renew(std::int64_t lease, const std::shared_ptr<Pending<sync::LeaseAnswer>>& call) {
  struct Stream {
    std::shared_ptr<ClientStream> stream;
    void Leave() {
      if (stream != nullptr) std::exchange(stream, nullptr)->Leave();
    }
  };
  const auto renewal = std::make_shared<Stream>();
  SimStore::Connection& at = call->connection();
  call->token = at.user.token();
  renewal->stream = std::make_shared<ClientStream>(
      at.world, *at.machine,
      ClientStream::Receiver{
          .on_message =
              [call, renewal](std::string_view message) {
                const auto response =
                    Parsed<etcdserverpb::LeaseKeepAliveResponse>(std::string(message));
                renewal->Leave();
                call->Answer(sync::LeaseAnswer{.id = response.id(), .ttl_s = response.ttl()});
              },
          .on_end =
              [call, renewal](const Error& status) {
                renewal->stream = nullptr;
                call->Answer(std::unexpected(status));
              }});
  renewal->stream->Open("/etcdserverpb.Lease/LeaseKeepAlive", false, call->token);
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  renewal->stream->Say(request.SerializeAsString());
  at.world.scheduler.After(at.options.call_timeout, [renewal] { renewal->Leave(); });
}

}  // namespace

SimStore::SimStore(World& world, std::vector<std::unique_ptr<Machine>>& machines, ProgramUser& user,
                   Options options)
    : connection_(std::make_shared<Connection>(world, machines, user, std::move(options))) {}
SimStore::~SimStore() { connection_->is_closed = true; }

void SimStore::Range(sync::RangeRequest request, OnAnswer<sync::RangeAnswer> on_answer) {
  CallUnary<sync::RangeAnswer>(
      connection_, "/etcdserverpb.KV/Range", sync::ToMessage(request).SerializeAsString(),
      std::move(on_answer), [](const std::string& bytes) {
        return sync::FromMessage(Parsed<etcdserverpb::RangeResponse>(bytes));
      });
}

void SimStore::Txn(sync::TxnRequest request, OnAnswer<sync::TxnAnswer> on_answer) {
  std::string body = sync::ToMessage(sync::TxnRequest(request)).SerializeAsString();
  CallUnary<sync::TxnAnswer>(
      connection_, "/etcdserverpb.KV/Txn", std::move(body), std::move(on_answer),
      [connection = connection_, request = std::move(request)](const std::string& bytes) {
        auto answer = sync::FromMessage(Parsed<etcdserverpb::TxnResponse>(bytes));
        if (answer.succeeded && connection->options.on_done)
          connection->options.on_done(request, answer.revision);
        return answer;
      });
}

std::unique_ptr<sync::StoreWatch> SimStore::Watch(sync::WatchRequest request,
                                                  sync::WatchSink sink) {
  return BeginWatch(connection_, request, std::move(sink));
}

void SimStore::LeaseGrant(std::int64_t ttl_s, OnAnswer<sync::LeaseAnswer> on_answer) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl_s);
  CallUnary<sync::LeaseAnswer>(connection_, "/etcdserverpb.Lease/LeaseGrant",
                               request.SerializeAsString(), std::move(on_answer), ReadGrant);
}

void SimStore::LeaseKeepAlive(std::int64_t lease, OnAnswer<sync::LeaseAnswer> on_answer) {
  const auto call = Begin<sync::LeaseAnswer>(connection_, std::move(on_answer));
  connection_->user.Ready([call, lease] {
    if (!call->is_over()) Renew(lease, call);
  });
}

void SimStore::LeaseRevoke(std::int64_t lease, OnAnswer<sync::LeaseAnswer> on_answer) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  CallUnary<sync::LeaseAnswer>(
      connection_, "/etcdserverpb.Lease/LeaseRevoke", request.SerializeAsString(),
      std::move(on_answer), [lease](const std::string&) { return sync::LeaseAnswer{.id = lease}; });
}

}  // namespace kvorum::sim
