// The cost of decisions in the process, without a network: refusals from a cached image, and takes
// on a table that responds at once. For comparison, a batch that reads one item of that table.
#include <benchmark/benchmark.h>

#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/zae_layout.h"

namespace {

using namespace weir;  // NOLINT(google-build-using-namespace)
using namespace weir::dynamo;

constexpr UnixMillis kBenchStart{1'767'225'600'000};

/// Completes each call with the same item, before the call returns.
class OneItemClient final : public JsonClient {
 public:
  explicit OneItemClient(std::string item) : item_(std::move(item)) {}

  void Call(JsonCall call, Deadline, JsonDone done) override {
    const bool reads = call.operation == "BatchGetItem";
    done(JsonReply{.body = reads ? R"({"Responses":{"t":[)" + item_ + "]}}"
                                 : R"({"Attributes":)" + item_ + "}"});
  }
  std::optional<UnixMillis> ServerNow() const override { return kBenchStart; }
  JsonClientStats stats() const override { return {}; }
  HistogramSnapshot RequestTime() const override { return {}; }

 private:
  const std::string item_;
};

/// Runs no tasks: no timer is due in a benchmark.
class IdleScheduler final : public Scheduler {
 public:
  const Clock& clock() const override { return clock_; }
  void Post(Task) override {}
  TimerId At(Instant, Task) override { return TimerId{1}; }
  bool Cancel(TimerId) override { return true; }

 private:
  SystemClock clock_;
};

std::string ItemWith(const std::string& tokens) {
  return R"({"PK":{"S":"ns/BUCKET#acme#llm#0"},"SK":{"S":"#STATE"},"rf":{"N":"1767225600000"},)"
         R"("shard_count":{"N":"1"},"b_rpm_tk":{"N":")" +
         tokens +
         R"("},"b_rpm_cp":{"N":"1000000"},"b_rpm_ra":{"N":"1000"},"b_rpm_rp":{"N":"1000"},)"
         R"("b_rpm_tc":{"N":"0"}})";
}

void Ask(benchmark::State& state, const std::string& tokens, bool is_admitted) {
  OneItemClient client(ItemWith(tokens));
  IdleScheduler scheduler;
  Table table(client, scheduler, "t", 1, ZaeLayout());
  DynamoBucketStore store(table, Keys("ns"), scheduler,
                          {.seed = 1, .refusal_age = milliseconds(5'000)});
  const std::vector<Charge> charges{
      {MakeTarget({"acme", "llm", 0}, {{"rpm", {1'000'000, 1'000, 1'000}}}), {1'000}}};
  std::int64_t unexpected = 0;
  for (auto _ : state) {
    store.Acquire(charges, kBenchStart, Deadline::Never(), [&](const Result<Decision>& decision) {
      if (!decision || decision->admitted != is_admitted) ++unexpected;
    });
  }
  if (unexpected > 0) state.SkipWithError("not every decision was as expected");
}

void DynamoRefusal(benchmark::State& state) { Ask(state, "0", false); }
void DynamoTake(benchmark::State& state) { Ask(state, "500000", true); }

void DynamoBatchGet(benchmark::State& state) {
  OneItemClient client(ItemWith("500000"));
  IdleScheduler scheduler;
  Table table(client, scheduler, "t", 1, ZaeLayout());
  for (auto _ : state) {
    table.BatchGet({{"ns/BUCKET#acme#llm#0", "#STATE"}}, Deadline::Never(),
                   [](auto items) { benchmark::DoNotOptimize(items); });
  }
}

BENCHMARK(DynamoRefusal)->Name("dynamo_refusal");
BENCHMARK(DynamoTake)->Name("dynamo_take");
BENCHMARK(DynamoBatchGet)->Name("dynamo_batch_get");

}  // namespace
