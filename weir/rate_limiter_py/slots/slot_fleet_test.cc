// Processes whose clocks differ claim, bind, renew, release and abandon slots of one key, over a
// network that delays and loses messages. The properties that must hold in every run are checked on
// the table's stream, by the true time.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/rng.h"
#include "weir/dynamodb/testing/sim_table.h"
#include "weir/rate_limiter_py/testing/slot_fixture.h"
#include "weir/sim/dynamodb/dynamo_table.h"

namespace weir::rate_limiter_py {
namespace {

using std::chrono::seconds;

constexpr char kTable[] = "slots";
constexpr std::int64_t kMost = 5;
constexpr milliseconds kFar{500};  // the largest difference of a clock from the true time

// A client whose requests and responses are delayed, and some of which are lost. A request that is
// late for its deadline may still arrive.
class LateClient final : public JsonClient {
  using JsonResult = tl::expected<JsonReply, AwsFailure>;

 public:
  LateClient(sim::SimScheduler& scheduler, sim::SimServer& server, Rng& rng, double loss)
      : scheduler_(scheduler), server_(server), rng_(rng), loss_(loss) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    const auto waiting = std::make_shared<JsonDone>(std::move(done));
    const auto tell = [waiting](JsonResult result) {
      if (*waiting) std::exchange(*waiting, nullptr)(std::move(result));
    };
    if (!deadline.is_never()) {
      scheduler_.At(deadline.at(), [tell] { tell(NoResponse(FailureClass::kAmbiguous)); });
    }
    Later([this, call = std::move(call), tell, is_lost = rng_.Chance(loss_)] {
      if (is_lost) return tell(NoResponse(FailureClass::kTransient));
      HttpResponse response = server_.Handle(dynamo::RequestOf(call));
      Later([call, tell, response = std::move(response), was_lost = rng_.Chance(loss_)]() mutable {
        if (was_lost) return tell(NoResponse(FailureClass::kAmbiguous));
        tell(dynamo::ReplyTo(call.operation, std::move(response)));
      });
    });
  }

 private:
  static JsonResult NoResponse(FailureClass kind) {
    return tl::unexpected(AwsFailure{.kind = kind,
                                     .message = "no answer",
                                     .attempts = 1,
                                     .maybe_applied = kind == FailureClass::kAmbiguous});
  }
  void Later(Task task) {
    const milliseconds trip(rng_.Between(1, rng_.Chance(0.02) ? 3000 : 60));
    scheduler_.At(scheduler_.clock().Now() + trip, std::move(task));
  }

  sim::SimScheduler& scheduler_;
  sim::SimServer& server_;
  Rng& rng_;
  double loss_;
};

class SlotFleet {
 public:
  SlotFleet(std::uint64_t seed, double loss)
      : layout_(SlotTable().layout), rng_(seed), server_(scheduler_.clock(), seed) {
    layout_.stream = "NEW_AND_OLD_IMAGES";
    dynamo::CreateTableIn(server_, kTable, layout_);
    server_.faults = {.throttle = loss / 4, .conflict = loss};
    for (const milliseconds ahead : {-kFar, milliseconds(0), kFar}) {
      processes_.push_back(std::make_unique<Process>(*this, ahead, loss));
    }
  }

  void Run(std::int64_t steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      scheduler_.Advance(milliseconds(rng_.Between(0, 300)));
      Act(*processes_[rng_.Below(processes_.size())]);
      if (rng_.Chance(0.02)) DeleteBehindOurBack();
    }
    scheduler_.Advance(std::chrono::minutes(5));
  }

  // Returns a message for each claim that exceeded the limit by the true time.
  std::vector<std::string> OverAdmissions() const;
  // Returns how many slots can be claimed one after the other in the end, when all have expired.
  std::int64_t ClaimAllAgain();

  std::int64_t asked = 0;
  std::int64_t completed = 0;
  std::int64_t claimed = 0;
  std::int64_t refused = 0;
  std::int64_t prolonged = 0;
  std::map<Code, std::int64_t> failed;

 private:
  struct Process {
    Process(SlotFleet& fleet, milliseconds its_ahead, double loss)
        : client(fleet.scheduler_, fleet.server_, fleet.rng_, loss),
          table(client, fleet.scheduler_, kTable, fleet.rng_.Next(), fleet.layout_),
          store(table, fleet.scheduler_.clock(), kResourceIndex,
                {.skew = 2 * kFar, .recount_after = seconds(3)}),
          ahead(its_ahead) {}
    LateClient client;
    dynamo::Table table;
    SlotStore store;
    milliseconds ahead;
    std::vector<SlotRef> held{};
  };

  UnixMillis NowOf(const Process& process) const {
    return scheduler_.clock().WallNow() + process.ahead;
  }
  milliseconds AnyTtl() { return milliseconds(rng_.Between(500, 6000)); }

  template <class T>
  Done<T> Count(std::move_only_function<void(const T&)> then) {
    ++asked;
    return [this, then = std::move(then)](Result<T> result) mutable {
      ++completed;
      if (!result) return void(++failed[result.error().code]);
      then(*result);
    };
  }

  void Claim(Process& process, const SlotClaim& claim) {
    process.store.Claim(claim, NowOf(process), Deadline::Never(),
                        Count<ClaimResult>([this, &process](const ClaimResult& result) {
                          if (!result.slot) return void(++refused);
                          ++claimed;
                          process.held.push_back({result.slot->key, result.slot->id});
                        }));
  }

  void Act(Process& process) {
    if (process.held.empty() || rng_.Chance(0.5)) {
      const SlotClaim claim{.slot = {kEmr, NewSlotId(rng_.Next(), rng_.Next())},
                            .limit = rng_.Between(kMost - 2, kMost),
                            .ttl = AnyTtl()};
      limits_[claim.slot.id] = claim.limit;
      const int times = rng_.Chance(0.1) ? 2 : 1;  // as after a lost response
      for (int i = 0; i < times; ++i) Claim(process, claim);
      return;
    }
    const std::size_t place = rng_.Below(process.held.size());
    const SlotRef slot = process.held[place];
    const auto keep = [this](const HeldSlot&) { ++prolonged; };
    switch (rng_.Below(4)) {
      case 0:
        process.store.Bind(slot, "j-" + slot.id, AnyTtl(), NowOf(process), Deadline::Never(),
                           Count<HeldSlot>(keep));
        break;
      case 1:
        process.store.Renew(slot, AnyTtl(), NowOf(process), Deadline::Never(),
                            Count<HeldSlot>(keep));
        break;
      case 2:
        process.store.Release(slot, NowOf(process), Deadline::Never(),
                              Count<bool>([](const bool&) {}));
        [[fallthrough]];
      default:  // abandoned: it expires
        process.held.erase(process.held.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }

  void DeleteBehindOurBack() {
    Process& process = *processes_.front();
    if (process.held.empty()) return;
    process.table.DeleteAll({SlotKey(process.held.back())}, Deadline::Never(),
                            [](const Status&) {});
  }

  dynamo::TableLayout layout_;
  Rng rng_;
  sim::SimScheduler scheduler_;
  sim::SimDynamo server_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, std::int64_t> limits_;
};

struct Row {
  std::string id;
  std::optional<UnixMillis> expires{};  // nothing: the slot was deleted
  bool is_new = false;
};

// Returns nothing for items other than slots.
std::optional<Row> RowOf(const sim::StreamRecord& record) {
  Row row{.id = *record.key.at(std::string(kReservationId)).As<std::string>()};
  if (!IsOurs(row.id)) return std::nullopt;
  row.is_new = !record.before;
  if (!record.after) return row;
  const auto* second = record.after->at(std::string(kExpirationTime)).As<sim::Decimal>();
  row.expires = AtSecond(second->ToInt64().value());
  return row;
}

std::vector<std::string> SlotFleet::OverAdmissions() const {
  std::vector<std::string> found;
  std::map<std::string, UnixMillis> live;
  for (const sim::StreamRecord& record : server_.Table(kTable)->stream()) {
    const std::optional<Row> row = RowOf(record);
    if (!row) continue;
    std::erase_if(live, [&](const auto& entry) { return entry.second <= record.at; });
    live.erase(row->id);
    if (!row->expires) continue;
    if (*row->expires > record.at) live.emplace(row->id, *row->expires);
    const std::int64_t limit = row->is_new ? limits_.at(row->id) : kMost;
    const auto held = static_cast<std::int64_t>(live.size());
    if (held > limit) {
      found.push_back(row->id + ": " + std::to_string(held) + " of " + std::to_string(limit));
    }
  }
  return found;
}

std::optional<dynamo::Item> Find(dynamo::Table& table, const dynamo::TableKey& key) {
  std::optional<dynamo::Item> found;
  table.Get(key, Deadline::Never(), [&](auto item) { found = *std::move(item); });
  return found;
}

std::int64_t SlotFleet::ClaimAllAgain() {
  server_.faults = {};
  dynamo::DirectClient client(server_);
  dynamo::Table table(client, scheduler_, kTable, 1, layout_);
  SlotStore store(table, scheduler_.clock(), kResourceIndex);
  std::int64_t taken = 0;
  for (std::uint64_t i = 0; i < kMost + 1; ++i) {
    const SlotClaim claim{.slot = {kEmr, IdOf(i)}, .limit = kMost, .ttl = seconds(30)};
    store.Claim(claim, scheduler_.clock().WallNow(), Deadline::Never(),
                [&](const Result<ClaimResult>& result) { taken += result->slot ? 1 : 0; });
  }
  const auto roster = ReadRoster(*Find(table, RosterKey(kEmr)));
  EXPECT_EQ(roster.value().held, taken);
  return taken;
}

// Fails if: the skew is ignored, a replacement does not require the version, a claim does not
// require room, or expired slots are not dropped.
TEST(SlotFleet, NeverHoldsMoreThanTheLimitByTheTrueTime) {
  std::int64_t claimed = 0;
  std::int64_t refused = 0;
  std::int64_t prolonged = 0;
  std::int64_t gave_up = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    SlotFleet fleet(seed, seed % 3 == 0 ? 0.0 : 0.05);
    fleet.Run(400);
    EXPECT_EQ(fleet.completed, fleet.asked);
    EXPECT_EQ(fleet.OverAdmissions(), std::vector<std::string>());
    EXPECT_EQ(fleet.ClaimAllAgain(), kMost);
    for (const auto& [code, times] : fleet.failed) {
      EXPECT_TRUE(code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
                  code == Code::kNotFound || code == Code::kFailedPrecondition ||
                  code == Code::kAlreadyExists)
          << CodeName(code);
    }
    claimed += fleet.claimed;
    refused += fleet.refused;
    prolonged += fleet.prolonged;
    gave_up += fleet.failed[Code::kUnavailable] + fleet.failed[Code::kDeadlineExceeded];
  }
  EXPECT_GT(claimed, 500);
  EXPECT_GT(refused, 500);
  EXPECT_GT(prolonged, 100);
  EXPECT_GT(gave_up, 50);
}

}  // namespace
}  // namespace weir::rate_limiter_py
