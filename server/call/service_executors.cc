#include "server/call/service_executors.h"

#include "rpc/io/loop.h"

namespace kvorum::server {

Executor& ServiceExecutors::PagesOf(const rpc::Loop* loop) const {
  if (pages.empty()) return *readers;
  return *pages[loop == nullptr ? 0 : loop->index() % pages.size()];
}

}  // namespace kvorum::server
