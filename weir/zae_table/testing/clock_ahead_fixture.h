// Processes whose wall clocks are wrong, and clients that write wrong times, on one table.
#pragma once

#include <fmt/chrono.h>
#include <gtest/gtest.h>

#include <ctime>

#include "weir/aws/retrying_client.h"
#include "weir/sim/sim_network.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/testing/sharding_fixture.h"
#include "weir/zae_table/testing/sim_process_fixture.h"
#include "weir/zae_table/testing/zae_sim_table.h"
#include "weir/zae_table/testing/zae_writes_fixture.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

inline constexpr const char* kClockTable = "limits";

/// Adds a Date header to each response, as AWS does, from a clock that is ahead by `ahead`.
class DatingServer final : public sim::SimServer {
 public:
  DatingServer(sim::SimServer& inner, const Clock& clock, milliseconds ahead = milliseconds(0))
      : inner_(inner), clock_(clock), ahead_(ahead) {}
  HttpResponse Handle(const HttpRequest& request) override {
    HttpResponse response = inner_.Handle(request);
    const std::time_t at = (clock_.WallNow() + ahead_).value / 1000;
    response.headers.push_back(
        {"date", fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(at))});
    return response;
  }

 private:
  sim::SimServer& inner_;
  const Clock& clock_;
  const milliseconds ahead_;
};

/// The scheduler of a machine whose wall clock is ahead of the other machines'.
class AheadScheduler final : public Scheduler, private Clock {
 public:
  AheadScheduler(Scheduler& inner, milliseconds ahead) : inner_(inner), ahead_(ahead) {}
  const Clock& clock() const override { return *this; }
  void Post(Task task) override { inner_.Post(std::move(task)); }
  TimerId At(Instant when, Task task) override { return inner_.At(when, std::move(task)); }
  bool Cancel(TimerId id) override { return inner_.Cancel(id); }

 private:
  Instant Now() const override { return inner_.clock().Now(); }
  UnixMillis WallNow() const override { return inner_.clock().WallNow() + ahead_; }
  nanoseconds BootNow() const override { return inner_.clock().BootNow(); }

  Scheduler& inner_;
  const milliseconds ahead_;
};

class ClockAheadTest : public testing::Test {
 protected:
  struct Process {
    /// Uses the table of `server`; null: that of `dating_`.
    Process(ClockAheadTest& test, std::uint64_t seed, milliseconds ahead = milliseconds(0),
            sim::SimServer* server = nullptr)
        : scheduler(test.scheduler_, ahead),
          transport(test.scheduler_, server == nullptr ? test.dating_ : *server, seed),
          client(MakeJsonClient({transport, signer, credentials, scheduler},
                                {.target_prefix = "DynamoDB_20120810", .host = "d.test"})),
          table(*client, scheduler, kClockTable, seed, ZaeLayout()),
          store(table, kShardKeys, scheduler, {.seed = seed}) {
      // Opening a table reads its version and its namespace. Their responses give the service's
      // time.
      for (int i = 0; i < 2; ++i) {
        table.Get({"version", "version"}, Deadline::Never(), [](const auto&) {});
        test.scheduler_.RunAll();
      }
    }

    AheadScheduler scheduler;
    sim::SimTransport transport;
    NoSigner signer;
    Anybody credentials;
    std::unique_ptr<JsonClient> client;
    Table table;
    DynamoBucketStore store;
  };

  ClockAheadTest() { CreateTableIn(server_, kClockTable, ZaeLayout()); }
  void Pass(milliseconds time) { scheduler_.Advance(time); }

  bool Takes(Process& process, std::int64_t tokens) {
    const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {tokens * kMillitokens}};
    std::optional<bool> admitted;
    process.store.Acquire(
        {&charge, 1}, process.store.Now(), Deadline::Never(),
        [&](const Result<Decision>& decision) { admitted = decision && decision->admitted; });
    while (!admitted && scheduler_.RunNext()) {
    }
    return admitted.value_or(false);
  }

  milliseconds WaitOf(Process& process, std::int64_t tokens) {
    const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {tokens * kMillitokens}};
    const auto decision = Run<Decision>([&](auto done) {
      process.store.Acquire({&charge, 1}, process.store.Now(), Deadline::Never(), std::move(done));
    });
    EXPECT_FALSE(decision->admitted);
    return decision->retry_after;
  }

  Item ReadBucket() {
    const auto item = Run<std::optional<Item>>(
        [&](auto done) { client_.table.Get(Key(), Deadline::Never(), std::move(done)); });
    return item->value();
  }
  UnixMillis StoredTime() { return {GetNumber(ReadBucket(), "rf").value()}; }

  /// Refills the bucket as another client does whose clock is ahead.
  void RefillAhead(milliseconds ahead) {
    const Item item = ReadBucket();
    const UnixMillis now = scheduler_.clock().WallNow() + ahead;
    const milliseconds elapsed = now - UnixMillis{GetNumber(item, "rf").value()};
    const std::string tokens = LimitAttribute(kRpm.name, "tk");
    Meter meter = FullMeter(kRpm.quota);
    meter.tokens = GetNumber(item, tokens).value();
    Refill(meter, elapsed.count());
    Write write{.key = Key(), .item = {}, .expression = {}};
    write.expression.Set("rf", Of(now.value)).Set(tokens, Of(meter.tokens));
    ASSERT_TRUE(IsApplied(write));
  }

  /// Sets `rf` ahead by `ahead`, and nothing else, as a write of another client.
  void MoveAhead(milliseconds ahead) {
    Write write{.key = Key(), .item = {}, .expression = {}};
    write.expression.Set("rf", Of((scheduler_.clock().WallNow() + ahead).value));
    ASSERT_TRUE(IsApplied(write));
  }

  /// Takes tokens as a client of zae-limiter does whose clock is ahead. Returns true if admitted.
  bool TakesAsZae(std::int64_t tokens, milliseconds ahead) {
    const Charge charge{MakeTarget({entity_, "llm", 0}, {limit_}), {tokens * kMillitokens}};
    const ZaePass pass{.keys = kShardKeys, .now = scheduler_.clock().WallNow() + ahead};
    if (IsApplied(ZaeSpeculative(pass, charge))) return true;
    const std::optional<Write> normal = ZaeNormal(pass, charge, ReadBucket());
    return normal && IsApplied(*normal);
  }

  bool IsApplied(const Write& write) {
    return *Run<bool>([&](auto done) {
      client_.table.Apply(write, false, Deadline::Never(),
                          [done = std::move(done)](const auto& result) mutable {
                            done(Result<bool>(result.has_value()));
                          });
    });
  }

  /// Repeats the take, after the wait in each refusal, until it is admitted. Returns the number of
  /// refusals, at most 100.
  int RefusalsUntil(Process& process, std::int64_t tokens) {
    int refusals = 0;
    while (!Takes(process, tokens) && refusals < 100) {
      ++refusals;
      Pass(WaitOf(process, tokens));
    }
    return refusals;
  }

  /// Runs the scheduler until the call has completed, and returns its result.
  template <class T, class Start>
  Result<T> Run(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> received) { result = std::move(received); });
    while (!result && scheduler_.RunNext()) {
    }
    return *std::move(result);
  }

  TableKey Key() const { return kShardKeys.Bucket({entity_, "llm", 0}); }

  std::string entity_ = "acme";
  Limit limit_ = kRpm;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_{scheduler_.clock(), 1};
  DatingServer dating_{server_, scheduler_.clock()};
  Process client_{*this, 99};
};

}  // namespace weir::dynamo
