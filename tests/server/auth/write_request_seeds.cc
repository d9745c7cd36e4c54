// Writes the seeds that come from the table of calls into a folder. ApiRequestsTest tells when that
// is needed.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/server/auth/request_seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_request_seeds FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [name, seed] : kvorum::server::RequestSeeds()) {
    std::ofstream file(std::string(argv[1]) + "/" + name, std::ios::binary);
    file << seed;
    file.close();
    if (!file.good()) {
      std::fprintf(stderr, "cannot write %s\n", name.c_str());
      return 1;
    }
  }
  return 0;
}
