#include "server/metrics/pprof_format.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/gzip.h"
#include "proto/wire.h"
#include "server/metrics/symbols.h"

namespace kvorum::server {
namespace {

// Fields of perftools.profiles.Profile.
enum ProfileField : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
};

class Encoder {
 public:
  Encoder() { Text(""); }  // the first string is the empty one

  std::string Encode(const CpuProfile& profile, const ProfileTimes& times) {
    wire::AppendBytesAlways(out_, kSampleType, Type("samples", "count"));
    wire::AppendBytesAlways(out_, kSampleType, Type("cpu", "nanoseconds"));
    const auto period = static_cast<std::uint64_t>(profile.period.count());
    for (const auto& [stack, count] : profile.samples) AddSample(stack, count, period);
    AddMappings();
    wire::AppendInt(out_, kTimeNanos, times.begin_unix_ns);
    wire::AppendInt(out_, kDurationNanos, times.duration.count());
    wire::AppendBytesAlways(out_, kPeriodType, Type("cpu", "nanoseconds"));
    wire::AppendUint(out_, kPeriod, period);
    if (profile.lost != 0)
      wire::AppendUint(out_, kComment, Text(std::to_string(profile.lost) + " samples were lost"));
    for (const std::string& text : texts_) wire::AppendBytesAlways(out_, kStringTable, text);
    return std::move(out_);
  }

 private:
  std::uint64_t Text(const std::string& text) {
    const auto [place, is_new] = text_ids_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return place->second;
  }

  std::string Type(const std::string& type, const std::string& unit) {
    std::string bytes;
    wire::AppendUint(bytes, 1, Text(type));
    wire::AppendUint(bytes, 2, Text(unit));
    return bytes;
  }

  void AddSample(const CpuProfile::Stack& stack, std::uint64_t count, std::uint64_t period) {
    std::string locations;
    for (std::size_t i = 0; i < stack.size(); ++i) {
      // A return address may already be another function's: the call is before it.
      wire::AppendVarint(locations, Location(i == 0 ? stack[i] : stack[i] - 1));
    }
    std::string values;
    wire::AppendVarint(values, count);
    wire::AppendVarint(values, count * period);
    std::string sample;
    wire::AppendBytesAlways(sample, 1, locations);
    wire::AppendBytesAlways(sample, 2, values);
    wire::AppendBytesAlways(out_, kSample, sample);
  }

  std::uint64_t Location(std::uintptr_t address) {
    const auto [place, is_new] = locations_.try_emplace(address, locations_.size() + 1);
    if (!is_new) return place->second;
    std::string location;
    wire::AppendUint(location, 1, place->second);
    if (const Symbols::Module* module = symbols_.ModuleAt(address); module != nullptr) {
      wire::AppendUint(location, 2,
                       static_cast<std::uint64_t>(module - symbols_.modules().data()) + 1);
    }
    wire::AppendUint(location, 3, address);
    if (const std::string name = symbols_.NameAt(address); !name.empty()) {
      std::string line;
      wire::AppendUint(line, 1, Function(name));
      wire::AppendBytesAlways(location, 4, line);
    }
    wire::AppendBytesAlways(out_, kLocation, location);
    return place->second;
  }

  std::uint64_t Function(const std::string& name) {
    const auto [place, is_new] = functions_.try_emplace(name, functions_.size() + 1);
    if (!is_new) return place->second;
    std::string function;
    wire::AppendUint(function, 1, place->second);
    wire::AppendUint(function, 2, Text(name));
    wire::AppendUint(function, 3, Text(name));
    wire::AppendBytesAlways(out_, kFunction, function);
    return place->second;
  }

  void AddMappings() {
    std::uint64_t id = 0;
    for (const Symbols::Module& module : symbols_.modules()) {
      std::string mapping;
      wire::AppendUint(mapping, 1, ++id);
      wire::AppendUint(mapping, 2, module.begin);
      wire::AppendUint(mapping, 3, module.end);
      wire::AppendUint(mapping, 5, Text(module.path));
      wire::AppendBool(mapping, 7, true);  // has functions: tools need not look for the file
      wire::AppendBytesAlways(out_, kMapping, mapping);
    }
  }

  Symbols symbols_;
  std::string out_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> text_ids_;
  std::unordered_map<std::uintptr_t, std::uint64_t> locations_;
  std::unordered_map<std::string, std::uint64_t> functions_;
};

}  // namespace

std::string EncodePprof(const CpuProfile& profile, const ProfileTimes& times) {
  return GzipWriter().Finish(Encoder().Encode(profile, times));
}

}  // namespace kvorum::server
