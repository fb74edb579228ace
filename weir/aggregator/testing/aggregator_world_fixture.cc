#include "weir/aggregator/testing/aggregator_world_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "weir/aggregator/testing/unpack_fixture.h"
#include "weir/codec/iso_time.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/table_features.h"

namespace weir::dynamo {
namespace {

constexpr milliseconds kLeaseLifetime{30'000};
constexpr nanoseconds kBatchTime = std::chrono::seconds(20);
const Keys kWorldKeys("ns");
constexpr std::array kWorldWindows = {UsageWindow::kHourly, UsageWindow::kDaily,
                                      UsageWindow::kMonthly};

std::string WindowName(std::string_view entity, UsageWindow window, UnixMillis start) {
  return fmt::format("{} {} {}", entity, Name(window), FormatIso(start));
}

}  // namespace

/// One process: its lease, and an aggregator for each shard of the stream that it reads.
class AggregatorWorld::Process {
 public:
  Process(AggregatorWorld& world, int number)
      : world_(world),
        number_(number),
        lease_({.owner = fmt::format("process-{}", number), .lifetime = kLeaseLifetime},
               world.log_),
        terms_{world.options_, lease_, world.log_} {
    lease_request_ = lease_.Start(world.now());
  }

  void Step() {
    StepLease();
    const auto ready = ReadyShards();
    if (ready.empty()) return;
    const std::string name = ready[Below(ready.size())];
    Reader& reader = readers_[name];
    if (!reader.machine) reader.machine.emplace(terms_, world_.rng_.Next());
    if (!reader.busy) {
      StartBatch(name, reader);
    } else if (!reader.pending.empty() && Below(4) > 0) {
      Respond(name, reader);
    } else if (world_.now() >= reader.machine->wake()) {
      Take(name, reader, reader.machine->OnTime(world_.moment()));
    }
  }
  /// Requests in flight are carried out late, or never.
  void Crash() {
    for (auto& [name, reader] : readers_) Abandon(reader);
  }
  bool is_owner() const { return lease_.IsHeldAt(world_.now()); }
  Instant paused_until;

 private:
  struct Reader {
    std::optional<Aggregator> machine;
    bool busy = false;
    std::size_t from = 0;
    std::vector<ChangeRecord> records;
    std::vector<AggregatorRequest> pending;
  };

  std::size_t Below(std::size_t bound) { return world_.rng_.Below(bound); }
  bool Draw(double probability) { return world_.rng_.Chance(probability); }

  void StepLease() {
    if (!lease_request_) lease_request_ = lease_.OnTime(world_.now());
    if (!lease_request_) return;
    const bool held = is_owner();
    auto request = *std::exchange(lease_request_, std::nullopt);
    if (std::holds_alternative<AggregatorLease::Read>(request)) {
      lease_request_ = lease_.OnRead(world_.sim_.Get(LeaseKey()), world_.now());
    } else {
      lease_request_ = lease_.OnWrite(OutcomeOf(std::get<Write>(request)), world_.now());
    }
    if (held || !is_owner()) return;
    const auto former = std::exchange(world_.holder_, number_);
    if (former && former != number_) ++world_.tally_.takeovers;
  }

  // Carries a write out, or not, and returns the outcome that the process sees.
  tl::expected<WriteResponse, WriteFailure> OutcomeOf(const Write& write) {
    const WorldFaults& faults = world_.faults_;
    const auto failed = [](FailureClass kind) {
      return tl::unexpected(WriteFailure{.kind = kind, .error = {Code::kUnavailable, "fault"}});
    };
    if (Draw(faults.throttle)) {
      ++world_.tally_.throttles;
      return failed(FailureClass::kThrottle);
    }
    if (Draw(faults.late)) {
      world_.late_.push_back(write);
      return failed(FailureClass::kAmbiguous);
    }
    auto outcome = world_.Apply(write);
    if (!Draw(faults.lost_response)) return outcome;
    ++world_.tally_.lost_responses;
    return failed(FailureClass::kAmbiguous);
  }

  // All shards from which this one was split are processed.
  bool MayRead(const std::string& name) {
    const auto& shards = world_.stream_.shards();
    for (auto at = shards.find(shards.at(name).parent); at != shards.end();
         at = shards.find(at->second.parent)) {
      if (world_.applied_[at->first] != at->second.records.size()) return false;
    }
    return true;
  }

  // The shards of the stream that may be read and have records, or are being read.
  std::vector<std::string> ReadyShards() {
    std::vector<std::string> ready;
    if (!is_owner() && readers_.empty()) return ready;
    for (const auto& [name, shard] : world_.stream_.shards()) {
      const bool is_behind = world_.applied_[name] < shard.records.size();
      if (readers_[name].busy || (is_behind && MayRead(name))) ready.push_back(name);
    }
    return ready;
  }

  void StartBatch(const std::string& name, Reader& reader) {
    const auto& records = world_.stream_.shards().at(name).records;
    reader.from = world_.applied_[name];
    if (Draw(world_.faults_.redelivery)) {
      const std::size_t repeated = Below(std::min<std::size_t>(reader.from, 9) + 1);
      reader.from -= repeated;
      if (repeated > 0) ++world_.tally_.redeliveries;
    }
    const std::size_t most = std::min<std::size_t>(records.size() - reader.from, 12);
    const std::size_t count = most == 0 ? 0 : 1 + Below(most);
    const auto at = [&](std::size_t i) { return records.begin() + static_cast<std::ptrdiff_t>(i); };
    reader.records.assign(at(reader.from), at(reader.from + count));
    reader.busy = true;
    ++world_.tally_.batches;
    Take(name, reader,
         reader.machine->Start({.stream_shard = name,
                                .records = reader.records,
                                .deadline = Deadline::At(world_.now() + kBatchTime)},
                               world_.moment()));
  }

  // Responds to one of the requests in flight.
  void Respond(const std::string& name, Reader& reader) {
    const std::size_t index = Below(reader.pending.size());
    const AggregatorRequest request = std::move(reader.pending[index]);
    reader.pending.erase(reader.pending.begin() + static_cast<std::ptrdiff_t>(index));
    if (const auto* object = std::get_if<ArchiveObject>(&request.body)) {
      if (!Draw(world_.faults_.throttle)) world_.PutObject(*object);
      const bool fails = Draw(world_.faults_.lost_response);
      Status outcome = fails ? Fail(Code::kUnavailable, "fault") : Status();
      if (!fails && !world_.archive_.contains(object->key)) outcome = Fail(Code::kUnavailable, "");
      return Take(name, reader, reader.machine->OnArchived(request.id, outcome, world_.moment()));
    }
    auto outcome = OutcomeOf(std::get<Write>(request.body));
    Take(name, reader, reader.machine->OnWrite(request.id, std::move(outcome), world_.moment()));
  }

  void Take(const std::string& name, Reader& reader, AggregatorStep step) {
    for (AggregatorRequest& request : step.requests) reader.pending.push_back(std::move(request));
    if (!step.done) return;
    Abandon(reader);
    world_.tally_.failed_batches += step.done->error ? 1U : 0U;
    world_.tally_.conflicts += step.done->counts.conflicts;
    // A process may crash before it stores the checkpoint.
    if (Draw(world_.faults_.crash)) return;
    std::size_t& applied = world_.applied_[name];
    applied = std::max(applied, reader.from + step.done->applied);
  }

  void Abandon(Reader& reader) {
    for (const AggregatorRequest& request : reader.pending) {
      const auto* write = std::get_if<Write>(&request.body);
      if (write == nullptr) {
        if (Draw(0.5)) world_.PutObject(std::get<ArchiveObject>(request.body));
      } else if (Draw(0.5)) {
        world_.late_.push_back(*write);
      }
    }
    reader.pending.clear();
    reader.busy = false;
  }

  AggregatorWorld& world_;
  const int number_;
  AggregatorLease lease_;
  AggregatorTerms terms_;
  AggregatorLease::Request lease_request_;
  std::map<std::string, Reader> readers_;
};

AggregatorWorld::Tally& AggregatorWorld::Tally::operator+=(const Tally& other) {
  for (const auto count :
       {&Tally::batches, &Tally::failed_batches, &Tally::crashes, &Tally::takeovers,
        &Tally::late_writes, &Tally::conflicts, &Tally::throttles, &Tally::lost_responses,
        &Tally::redeliveries, &Tally::pauses, &Tally::splits, &Tally::archived}) {
    this->*count += other.*count;
  }
  return *this;
}

AggregatorWorld::AggregatorWorld(std::uint64_t seed, WorldFaults faults)
    : rng_(seed), faults_(faults), stream_(*sim_.server.Table("limits")) {
  options_.windows = {kWorldWindows.begin(), kWorldWindows.end()};
  options_.max_in_flight = 1 + rng_.Below(6);
  TurnOnTimeToLive(sim_.table, "ttl", kNever, [](const auto&) {});
  sim_.scheduler.Advance(std::chrono::hours(22));  // the day ends during the simulation
  for (int i = 0; i < 2; ++i) processes_.push_back(std::make_unique<Process>(*this, started_++));
}

AggregatorWorld::~AggregatorWorld() = default;

void AggregatorWorld::Run(int steps) {
  for (int i = 0; i < steps; ++i) {
    if (rng_.Below(3) == 0) Act();
    if (rng_.Chance(faults_.split) && stream_.shards().size() < 9) {
      stream_.Split(rng_);
      ++tally_.splits;
    }
    RunLate();
    StepProcess(rng_.Below(processes_.size()));
    sim_.scheduler.Advance(milliseconds(rng_.Between(0, 1'500)));
  }
}

void AggregatorWorld::StepProcess(std::size_t index) {
  stream_.Update();
  std::unique_ptr<Process>& process = processes_[index];
  if (rng_.Chance(faults_.crash)) {
    ++tally_.crashes;
    process->Crash();
    process = std::make_unique<Process>(*this, started_++);
  }
  if (rng_.Chance(faults_.pause)) {
    process->paused_until = now() + kLeaseLifetime * 3;
    ++tally_.pauses;
  }
  if (now() >= process->paused_until) process->Step();
  const auto owners =
      std::ranges::count_if(processes_, [](const auto& p) { return p->is_owner(); });
  if (owners > 1) findings_.push_back("two processes hold the lease");
}

void AggregatorWorld::RunLate() {
  if (late_.empty() || rng_.Below(10) > 0) return;
  std::swap(late_.front(), late_[rng_.Below(late_.size())]);
  ++tally_.late_writes;
  static_cast<void>(Apply(late_.front()));
  late_.pop_front();
}

void AggregatorWorld::Quiesce() {
  sim_.scheduler.Advance(std::chrono::hours(1));
  sim_.server.SweepTtl();
  faults_ = {0, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 40'000; ++i) {
    RunLate();
    StepProcess(rng_.Below(processes_.size()));
    sim_.scheduler.Advance(milliseconds(100));
    const bool is_done = late_.empty() && std::ranges::all_of(stream_.shards(), [&](const auto& s) {
                           return applied_[s.first] == s.second.records.size();
                         });
    if (is_done) return;
  }
}

void AggregatorWorld::Act() {
  const std::uint64_t kind = rng_.Below(20);
  if (kind == 0) return Audit();
  if (kind == 1) {
    sim_.server.SweepTtl();
    return;
  }
  Consume();
}

// Sometimes the item is deleted first, so that its counters begin again.
void AggregatorWorld::Consume() {
  const std::string entity = rng_.Chance(0.7) ? "acme" : "bolt";
  const BucketKey bucket{entity, "api", static_cast<std::uint32_t>(rng_.Below(3))};
  Write write{.kind = Write::Kind::kDelete, .key = kWorldKeys.Bucket(bucket)};
  if (rng_.Chance(0.05)) static_cast<void>(Apply(write));
  write.kind = Write::Kind::kUpdate;
  const UnixMillis at = sim_.scheduler.clock().WallNow();
  for (const std::string limit : {"rpm", "ttl"}) {
    const std::int64_t used =
        rng_.Chance(0.5) ? rng_.Between(-5, 20) * 1'000 : rng_.Between(1, 4'000);
    if (used == 0) continue;
    write.expression.Add("b_" + limit + "_tc", used).Set("b_" + limit + "_cp", Of(1'000'000));
    write.expression.Set("b_" + limit + "_tk", Of(1'000'000));
    for (const UsageWindow window : kWorldWindows) {
      const std::string name = WindowName(entity, window, StartOf(window, at));
      consumed_[name + " " + limit] += used;
      ++events_[name];
    }
  }
  static_cast<void>(Apply(write));
}

void AggregatorWorld::Audit() {
  const std::string id = fmt::format("event-{}", audited_.size());
  const UnixMillis at = sim_.scheduler.clock().WallNow();
  Item item = AuditItem(kWorldKeys, {.id = id, .subject = "acme", .at = at, .action = "limits_set"},
                        /*retention_days=*/1);
  item["ttl"] = Of(WholeSeconds(at) + rng_.Between(1, 600));
  sim_.Put(std::move(item));
  audited_.push_back(id);
}

tl::expected<WriteResponse, WriteFailure> AggregatorWorld::Apply(const Write& write) {
  std::optional<tl::expected<WriteResponse, WriteFailure>> result;
  sim_.table.Apply(write, false, kNever, [&](auto outcome) { result = std::move(outcome); });
  return *std::move(result);
}

std::vector<std::string> AggregatorWorld::Findings() {
  tally_.archived = archive_.size();
  std::vector<std::string> findings = findings_;
  for (std::string& finding : UsageFindings()) findings.push_back(std::move(finding));
  for (std::string& finding : ArchiveFindings()) findings.push_back(std::move(finding));
  for (const auto& [name, shard] : stream_.shards()) {
    if (applied_[name] != shard.records.size()) findings.push_back("unread records in " + name);
  }
  return findings;
}

std::vector<std::string> AggregatorWorld::UsageFindings() {
  std::map<std::string, std::int64_t> counted;
  std::map<std::string, std::int64_t> events;
  for (const TableKey& key : sim_.AllKeys()) {
    if (!key.sk.starts_with("#USAGE#")) continue;
    const Item item = *sim_.Get(key);
    const auto snapshot = ReadUsage(item);
    const std::string name = WindowName(snapshot->entity, snapshot->window, snapshot->start);
    for (const auto& [limit, tokens] : snapshot->used) counted[name + " " + limit] += tokens * 1000;
    events[name] += snapshot->events;
    std::string rest = GetText(item, "w_rem") == nullptr ? "" : *GetText(item, "w_rem");
    while (!rest.empty()) {
      const std::size_t mark = rest.find('=');
      counted[name + " " + rest.substr(0, mark)] += std::stoll(rest.substr(mark + 1));
      const std::size_t end = std::min(rest.find(';'), rest.size() - 1);
      rest.erase(0, end + 1);
    }
  }
  std::erase_if(counted, [](const auto& entry) { return entry.second == 0; });
  std::erase_if(consumed_, [](const auto& entry) { return entry.second == 0; });
  std::vector<std::string> findings;
  for (const auto& [name, used] : consumed_) {
    if (counted[name] != used)
      findings.push_back(fmt::format("{}: used {}, counted {}", name, used, counted[name]));
  }
  if (counted.size() != consumed_.size()) findings.push_back("usage that no client caused");
  if (events != events_) findings.push_back("events are not counted once each");
  return findings;
}

std::vector<std::string> AggregatorWorld::ArchiveFindings() {
  std::map<std::string, int> archived;
  for (const auto& [key, body] : archive_) {
    const std::string text = Unpack(body);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      ++archived[nlohmann::json::parse(text.substr(begin, end - begin))["event_id"]];
      begin = end + 1;
    }
  }
  std::vector<std::string> findings;
  for (const std::string& id : audited_) {
    if (archived[id] != 1) findings.push_back(fmt::format("{} is in {} objects", id, archived[id]));
  }
  return findings;
}

}  // namespace weir::dynamo
