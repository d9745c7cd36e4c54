#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace kvorum {
namespace {

void ReportToStderr(const char* file, int line, const char* condition, std::string_view what) {
  std::fprintf(stderr, "%s:%d: %.*s (%s)\n", file, line, static_cast<int>(what.size()), what.data(),
               condition);
}

constinit std::atomic<CheckReport> check_report = &ReportToStderr;

}  // namespace

void SetCheckReport(CheckReport report) { check_report.store(report); }

void CheckFailed(const char* file, int line, const char* condition, std::string_view what) {
  check_report.load()(file, line, condition, what);
  std::abort();
}

}  // namespace kvorum
