// Decoding and encoding a put's messages, unrolled and by hand, and by tables of fields
// (docs/decisions/0020).
#include <benchmark/benchmark.h>

#include <string>

#include "api/kv_decode.h"
#include "api/kv_encode.h"
#include "api/tables.h"

namespace kvorum::server {
namespace {

struct PutAnswer {
  ResponseHeader header;
  SharedBytes prev_kv;
};
constexpr auto kPutAnswer =
    wire::Describe<PutAnswer, wire::Nested<1, &PutAnswer::header, kResponseHeader>,
                   wire::Encoded<2, &PutAnswer::prev_kv>>("etcdserverpb.PutResponse");

constexpr ResponseHeader kHeader = {.cluster_id = 0xcdf8181e3b7e1f1c,
                                    .member_id = raft::MemberId{0x8e9e05c52164694d},
                                    .revision = 1'000'000,
                                    .raft_term = 3};

std::string PutBytes() {
  const std::string value(256, 'v');
  return wire::Encode(kPutRequest, {.key = "/registry/pods/default/pod-00001", .value = value});
}

void BM_PutDecode(benchmark::State& state) {
  const std::string bytes = PutBytes();
  for (auto _ : state) benchmark::DoNotOptimize(DecodePut(bytes));
}
BENCHMARK(BM_PutDecode);

void BM_PutDecodeByTable(benchmark::State& state) {
  const std::string bytes = PutBytes();
  for (auto _ : state) benchmark::DoNotOptimize(wire::DecodeRequest(kPutRequest, bytes));
}
BENCHMARK(BM_PutDecodeByTable);

void BM_PutAnswerEncode(benchmark::State& state) {
  const mvcc::PutResult result{.revision = kHeader.revision, .prev_kv = {}};
  for (auto _ : state) benchmark::DoNotOptimize(EncodePutResponse(kHeader, result));
}
BENCHMARK(BM_PutAnswerEncode);

void BM_PutAnswerEncodeByTable(benchmark::State& state) {
  const PutAnswer answer{.header = kHeader, .prev_kv = {}};
  for (auto _ : state) benchmark::DoNotOptimize(wire::EncodeShared(kPutAnswer, answer));
}
BENCHMARK(BM_PutAnswerEncodeByTable);

}  // namespace
}  // namespace kvorum::server
