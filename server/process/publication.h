// A member publishes itself: it proposes its name and client URLs, again and again until they are
// applied, and then waits for the cluster's version, which the leader decides as soon as it leads.
// From then on it is part of the cluster, and may serve.
//
// Works on the control executor. The context and the executor outlive it.
#pragma once

#include <functional>

#include "base/task.h"

namespace kvorum::server {

struct Options;
struct ServiceContext;

class Publication {
 public:
  // `done` runs on the executor, once.
  Publication(const Options& options, ServiceContext& context, Executor& control,
              std::function<void()> done);

  void Start();

 private:
  void Publish();
  void WaitForClusterVersion();

  const Options& options_;
  ServiceContext& context_;
  Executor& control_;
  const std::function<void()> done_;
};

}  // namespace kvorum::server
