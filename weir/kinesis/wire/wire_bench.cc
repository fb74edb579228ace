// Measures the cost of request and response bodies, in JSON and in CBOR.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "weir/kinesis/wire/wire.h"

namespace {

using weir::kinesis::KinesisRecord;
using weir::kinesis::WireFormat;

std::vector<KinesisRecord> Records(std::size_t count, std::size_t bytes) {
  std::vector<KinesisRecord> records(count);
  unsigned seed = 1;
  for (std::size_t i = 0; i < count; ++i) {
    records[i].partition_key = fmt::format("customer-{:08}", i);
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      seed = seed * 1'103'515'245 + 12'345;
      records[i].data += static_cast<char>(seed >> 24);
    }
  }
  return records;
}

// Encodes values like the service does: texts have their lengths, maps and arrays may have none.
std::string CborText(std::string_view text) {
  const auto size = static_cast<char>(text.size());
  return (text.size() < 24 ? std::string{static_cast<char>(0x60 + size)}
                           : std::string{'\x78', size}) +
         std::string(text);
}

std::string Response(WireFormat format, std::size_t count) {
  const bool is_json = format == WireFormat::kJson;
  std::string body = is_json ? R"({"FailedRecordCount":0,"Records":[)" : "\xbf";
  if (!is_json) body += CborText("FailedRecordCount") + '\0' + CborText("Records") + '\x9f';
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = fmt::format("4954498625690237092803430{:031}", i);
    const std::string shard = fmt::format("shardId-{:012}", i % 8);
    if (is_json) {
      body += fmt::format(R"({}{{"SequenceNumber":"{}","ShardId":"{}"}})", i == 0 ? "" : ",",
                          number, shard);
    } else {
      body += '\xa2' + CborText("SequenceNumber") + CborText(number) + CborText("ShardId") +
              CborText(shard);
    }
  }
  return body + (is_json ? "]}" : "\xff\xff");
}

void Write(benchmark::State& state, WireFormat format, const std::vector<KinesisRecord>& records) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(weir::kinesis::PutRecordsBody(format, {.name = "stream"}, records));
  }
}

void Read(benchmark::State& state, WireFormat format, std::size_t count) {
  const std::string body = Response(format, count);
  for (auto _ : state) {
    const auto entries = weir::kinesis::ReadPutRecords(format, body);
    if (!entries || entries->size() != count) return state.SkipWithError("not read");
    benchmark::DoNotOptimize(entries->data());
  }
}

void wire_write_json_500_records(benchmark::State& state) {
  Write(state, WireFormat::kJson, Records(500, 200));
}
BENCHMARK(wire_write_json_500_records);

void wire_write_cbor_500_records(benchmark::State& state) {
  Write(state, WireFormat::kCbor, Records(500, 200));
  state.SetLabel("vs wire_write_json_500_records");
}
BENCHMARK(wire_write_cbor_500_records);

void wire_write_json_4_aggregates(benchmark::State& state) {
  Write(state, WireFormat::kJson, Records(4, 51'200));
}
BENCHMARK(wire_write_json_4_aggregates);

void wire_write_cbor_4_aggregates(benchmark::State& state) {
  Write(state, WireFormat::kCbor, Records(4, 51'200));
  state.SetLabel("vs wire_write_json_4_aggregates");
}
BENCHMARK(wire_write_cbor_4_aggregates);

void wire_read_json_500_entries(benchmark::State& state) { Read(state, WireFormat::kJson, 500); }
BENCHMARK(wire_read_json_500_entries);

void wire_read_cbor_500_entries(benchmark::State& state) {
  Read(state, WireFormat::kCbor, 500);
  state.SetLabel("vs wire_read_json_500_entries");
}
BENCHMARK(wire_read_cbor_500_entries);

void wire_read_json_4_entries(benchmark::State& state) { Read(state, WireFormat::kJson, 4); }
BENCHMARK(wire_read_json_4_entries);

void wire_read_cbor_4_entries(benchmark::State& state) {
  Read(state, WireFormat::kCbor, 4);
  state.SetLabel("vs wire_read_json_4_entries");
}
BENCHMARK(wire_read_cbor_4_entries);

}  // namespace
