#include "weir/dynamo/fleet_clock_fixture.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "weir/dynamo/dynamo_fixture.h"

namespace weir::dynamo {
namespace {

using std::chrono::seconds;

const BucketKey kClockBucket{"acme", "llm", 0};
const char* const kClockLimit = "rpm";
constexpr milliseconds kClockPatience{3'000};
constexpr milliseconds kSoonAnswered{1'000};
constexpr nanoseconds kForeignRest = seconds(260);

std::string HttpDateOf(UnixMillis at) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(at.value / 1000));
}

/// One host.
struct ClockHost {
  ClockHost(sim::SimScheduler& truth, sim::SimServer& server, milliseconds error,
            BucketStoreOptions options)
      : scheduler(truth, error), process(scheduler, server, options, milliseconds(0)) {}
  WrongClockScheduler scheduler;
  FleetProcess process;
};

/// A client of zae-limiter 0.17 that takes by turns by its fast path and by its slow path: the
/// writes of its data model, sections 3.2 and 3.3. Its clock is the scheduler's.
class ForeignWriter {
 public:
  ForeignWriter(Scheduler& scheduler, sim::SimServer& server, std::uint64_t seed)
      : scheduler_(scheduler),
        rng_(seed),
        process_(scheduler, server, seed + 1, milliseconds(0)),
        table_(process_.client(), scheduler, std::string(kFleetTable), seed + 2) {}

  void LiveUntil(Instant end) {
    if (scheduler_.clock().Now() >= end) return;
    const std::int64_t tokens = rng_.Between(1, 3) * kMillitokens;
    is_fast_ = !is_fast_;
    if (is_fast_) {
      TakeStored(tokens);
    } else {
      TakeSlowly(tokens);
    }
    scheduler_.At(scheduler_.clock().Now() + milliseconds(rng_.Between(1'000, 9'000)),
                  [this, end] { LiveUntil(end); });
  }

 private:
  Write WriteOn() const {
    return {.kind = Write::Kind::kUpdate,
            .key = keys_.Bucket(kClockBucket),
            .item = {},
            .expression = {}};
  }
  static std::string Field(std::string_view field) { return LimitAttribute(kClockLimit, field); }

  void TakeStored(std::int64_t tokens) {
    Write write = WriteOn();
    write.expression.RequireExists("PK").Require(Field("tk"), ">=", tokens);
    write.expression.Add(Field("tk"), -tokens).Add(Field("tc"), tokens);
    table_.Apply(write, false, kNever, [](const auto&) {});
  }

  void TakeSlowly(std::int64_t tokens) {
    table_.Get(keys_.Bucket(kClockBucket), kNever, [this, tokens](const auto& item) {
      if (item && *item) Refill(**item, tokens);
    });
  }

  void Refill(const Item& item, std::int64_t tokens) {
    const auto read = [&](const char* field) { return GetNumber(item, Field(field)).value_or(0); };
    const std::int64_t rf = GetNumber(item, "rf").value_or(0);
    const std::int64_t now = scheduler_.clock().WallNow().value;
    const std::int64_t gain = std::max<std::int64_t>(now - rf, 0) * read("ra") / read("rp");
    const std::int64_t refill = std::min(read("cp"), read("tk") + gain) - read("tk");
    if (read("tk") + refill < tokens) return;
    Write write = WriteOn();
    Expression& e = write.expression;
    e.Require("rf", "=", rf).Set("rf", Of(std::max(now, rf)));
    if (refill > 0) e.Require(Field("tk"), "<=", read("tk"));
    if (tokens > refill) e.Require(Field("tk"), ">=", tokens - refill);
    if (refill != tokens) e.Add(Field("tk"), refill - tokens);
    e.Add(Field("tc"), tokens);
    table_.Apply(write, false, kNever, [this, tokens](const auto& outcome) {
      if (!outcome) TakeStored(tokens);
    });
  }

  Scheduler& scheduler_;
  Rng rng_;
  SimProcess process_;
  Table table_;
  const Keys keys_{std::string(kFleetNamespace)};
  bool is_fast_ = false;
};

class ClockFleet {
 public:
  ClockFleet(std::uint64_t seed, const ClockFleetTerms& terms)
      : rng_(seed),
        scheduler_(rng_.Next()),
        server_(scheduler_.clock(), rng_.Next()),
        dated_(server_, scheduler_.clock(), terms.bug),
        foreign_clock_(scheduler_, terms.foreign),
        foreign_(foreign_clock_, server_, rng_.Next() | 1) {
    CreateTableIn(server_, kFleetTable);
    for (const milliseconds error : terms.hosts) {
      const BucketStoreOptions options{.seed = rng_.Next() | 1, .log = &log_};
      hosts_.push_back(std::make_unique<ClockHost>(scheduler_, dated_, error, options));
      Open(hosts_.back()->process);
      hosts_.back()->process.network().faults = terms.faults;
    }
  }

  ClockFleetRecord Run() {
    Instant at = Now() + seconds(rng_.Between(5, 15));
    for (std::int64_t lives = rng_.Between(1, 2); lives > 0; --lives) {
      const Instant end = at + seconds(rng_.Between(100, 200));
      record_.alive.push_back({TruthAt(at), TruthAt(end)});
      scheduler_.At(at, [this, end] { foreign_.LiveUntil(end); });
      at = end + kForeignRest;
    }
    end_ = at;
    for (std::size_t host = 0; host < hosts_.size(); ++host) Ask(host);
    scheduler_.RunAll();
    record_.unanswered = asked_ - answered_;
    for (const auto& host : hosts_) record_.met += host->process.network().counts();
    for (const sim::StreamRecord& record : server_.Table(kFleetTable)->stream()) {
      if (record.after && record.after->contains("rf")) record_.stream.push_back(record);
    }
    record_.reported =
        static_cast<std::size_t>(std::ranges::count_if(log_.lines(), [](const std::string& line) {
          return line.starts_with("warning clock.stored_time_ahead ");
        }));
    return std::move(record_);
  }

 private:
  Instant Now() const { return scheduler_.clock().Now(); }
  UnixMillis Truth() const { return scheduler_.clock().WallNow(); }
  UnixMillis TruthAt(Instant at) const {
    return Truth() + std::chrono::duration_cast<milliseconds>(at - Now());
  }

  // As a backend is opened: its reads give it the service's time before it writes.
  void Open(FleetProcess& process) {
    for (int i = 0; i < 2; ++i) {
      process.buckets().Read({&kClockBucket, 1}, kNever, [](const auto&) {});
      scheduler_.RunAll();
    }
  }

  void Ask(std::size_t host) {
    if (Now() >= end_) return;
    FleetProcess& process = hosts_[host]->process;
    const Charge charge{target_, {rng_.Between(1, 6) * kMillitokens}};
    NoteTime(process.buckets().Now());
    ++asked_;
    process.buckets().Acquire({&charge, 1}, process.buckets().Now(),
                              Deadline::After(scheduler_.clock(), kClockPatience),
                              [this, asked = Truth(), charge](const Result<Decision>& decision) {
                                Answered(asked, charge, decision);
                              });
    const bool rests = host > 0 && rng_.Chance(0.05);
    const milliseconds wait(rests ? rng_.Between(62'000, 90'000) : rng_.Between(200, 3'000));
    scheduler_.At(Now() + wait, [this, host] { Ask(host); });
  }

  void NoteTime(UnixMillis host) {
    record_.worst_time = std::max(record_.worst_time, std::chrono::abs(host - Truth()));
  }

  void Answered(UnixMillis asked, const Charge& charge, const Result<Decision>& decision) {
    ++answered_;
    if (!decision) {
      ++record_.failed;
    } else if (decision->admitted) {
      ++record_.admitted;
    } else if (!decision->contended && Truth() - asked <= kSoonAnswered) {
      record_.refused.push_back({asked, Truth(), charge.amounts.front()});
    }
  }

  Rng rng_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  DatedServer dated_;
  RecordingLog log_;
  WrongClockScheduler foreign_clock_;
  ForeignWriter foreign_;
  std::vector<std::unique_ptr<ClockHost>> hosts_;
  const TargetPtr target_ = MakeTarget(kClockBucket, {{kClockLimit, ClockFleetQuota()}});
  Instant end_;
  int asked_ = 0;
  int answered_ = 0;
  ClockFleetRecord record_;
};

}  // namespace

const Quota& ClockFleetQuota() {
  static const Quota quota = PerMinute(100);
  return quota;
}

HttpResponse DatedServer::Handle(const HttpRequest& request) {
  const UnixMillis now = truth_.WallNow();
  HttpRequest changed = request;
  if (bug_.request) {
    auto body = nlohmann::json::parse(request.body);
    bug_.request(body, now);
    changed.body = body.dump();
  }
  HttpResponse response = server_.Handle(changed);
  if (bug_.response) {
    auto body = nlohmann::json::parse(response.body);
    bug_.response(body, now);
    response.body = body.dump();
    std::erase_if(response.headers,
                  [](const HttpHeader& header) { return header.name == "x-amz-crc32"; });
  }
  response.headers.push_back({"date", HttpDateOf(now)});
  return response;
}

ClockFleetRecord RunClockFleet(std::uint64_t seed, const ClockFleetTerms& terms) {
  return ClockFleet(seed, terms).Run();
}

}  // namespace weir::dynamo
