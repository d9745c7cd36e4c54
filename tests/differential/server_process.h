// A real server, kvorum or etcd, with its own directory below the system's temporary one: on free
// ports of the loopback, ended by its pid, its directory removed with the object. The server also
// ends with the thread that started it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/differential/lane.h"

namespace kvorum::differential {

class ServerProcess {
 public:
  ServerProcess(std::string name, std::filesystem::path binary);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it on its data, if it has some, and waits until it serves.
  Result<void> Start();
  // Sends the signal and waits until it has ended.
  void Stop(int signal);
  // Gives the stopped server's directory to another program: `mover` is kvorumutl, `command` adopt
  // or release.
  Result<void> Move(const std::filesystem::path& mover, const std::string& command,
                    const std::filesystem::path& to_binary);

  // The way to the server; from Start to Stop.
  Lane& lane() { return *lane_; }
  // The last lines of its log.
  std::string LogTail() const;

 private:
  Result<void> Spawn();
  // Starts a program whose output goes to the log.
  Result<void> Fork(std::vector<std::string> words);
  bool HasEnded();
  std::filesystem::path LogFile() const { return folder_ / "log"; }

  const std::string name_;
  std::filesystem::path binary_;
  std::filesystem::path folder_;
  std::unique_ptr<Lane> lane_;
  pid_t pid_ = -1;
};

}  // namespace kvorum::differential
