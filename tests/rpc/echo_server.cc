// A server that answers at once, for measuring the transport alone with kvorum-bench: Range on the
// loop's thread, Put from another thread. Usage: rpc_echo [loops]; prints its address; runs until
// it is killed.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "rpc/server/server.h"

namespace kvorum::rpc {
namespace {

// An apply thread: takes all that one wake-up of a loop has gathered and answers it.
class Answerer {
 public:
  void Add(UnaryReply reply) {
    std::lock_guard lock(mutex_);
    gathered_.push_back(std::move(reply));
  }
  void HandOver() {
    std::vector<UnaryReply> batch;
    {
      std::lock_guard lock(mutex_);
      if (gathered_.empty()) return;
      batch.swap(gathered_);
    }
    thread_.Post([batch = std::move(batch)]() mutable {
      for (UnaryReply& reply : batch) reply.Send(SharedBytes::Copy(kAnswer));
    });
  }

  // The size of a PutResponse: a header of four numbers.
  static constexpr std::string_view kAnswer{"\x0a\x1c 234567890123456789012345678", 30};

 private:
  std::mutex mutex_;
  std::vector<UnaryReply> gathered_;
  ThreadExecutor thread_{"answerer"};
};

int Main(int argc, char** argv) {
  Answerer answerer;
  Router router;
  router.AddUnary("etcdserverpb.KV", "Range",
                  [](const std::shared_ptr<CallContext>&, const SharedBytes&, UnaryReply reply) {
                    reply.Send(SharedBytes::Copy(Answerer::kAnswer));
                  });
  router.AddUnary("etcdserverpb.KV", "Put",
                  [&](const std::shared_ptr<CallContext>&, const SharedBytes&, UnaryReply reply) {
                    answerer.Add(std::move(reply));
                  });
  Options options;
  if (argc > 1) options.loops = static_cast<std::uint32_t>(std::atoi(argv[1]));
  Server server(options, std::move(router), HttpMux::ToHandler({}));
  const auto address = server.Listen("127.0.0.1", 0);
  if (!address) {
    std::fprintf(stderr, "%s\n", address.error().message.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < server.loop_count(); ++i)
    server.loop(i).AddBatchHook([&] { answerer.HandOver(); });
  server.Start();
  std::printf("%s\n", address->c_str());
  std::fflush(stdout);
  while (true) pause();
}

}  // namespace
}  // namespace kvorum::rpc

int main(int argc, char** argv) { return kvorum::rpc::Main(argc, argv); }
