// Passwords in the simulation: bcrypt at its least cost, on a lane of the process. Whether one fits
// a hash is found out once a run, since nothing else takes as long.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "auth/password_work.h"
#include "base/task.h"

namespace kvorum::sim {

class Passwords {
 public:
  bool Fit(const std::string& password, const std::string& hash);

 private:
  std::map<std::pair<std::string, std::string>, bool> known_;
};

// Belongs to one process; the lane drops its pending jobs when the process ends.
class LanePasswordWork final : public auth::PasswordWork {
 public:
  LanePasswordWork(Executor& lane, Passwords& passwords) : lane_(lane), passwords_(passwords) {}
  void Submit(auth::PasswordJob job, auth::PasswordDone done) override;

 private:
  static constexpr std::size_t kMostWaiting = 4;

  Executor& lane_;
  Passwords& passwords_;
  std::size_t waiting_ = 0;
};

}  // namespace kvorum::sim
