#include "weir/dynamodb/streams/testing/stream_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weir/base/integer_text.h"
#include "weir/dynamodb/table_layout.h"
#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/streams/dynamo_stream.h"

namespace weir::dynamo {
namespace {

const TableLayout& StreamedLayout() {
  static const TableLayout layout = [] {
    TableLayout made = PlainLayout();
    made.stream = "NEW_AND_OLD_IMAGES";
    return made;
  }();
  return layout;
}

// Numbers of the simulated stream begin with a 1 and have zeros behind it.
std::uint64_t NumberOf(const std::string& sequence) {
  return sim::ReadSequenceText(sequence).value();
}

AwsFailure LostResponse(const std::string& operation) {
  return {.kind = FailureClass::kAmbiguous, .message = operation + ": no response"};
}

}  // namespace

StreamFleet::StreamFleet(FleetOptions options)
    : scheduler(options.seed),
      server(scheduler.clock(), options.seed),
      options_(std::move(options)),
      rng_(options_.seed * 31 + 7) {
  CreateTableIn(server, kTable, StreamedLayout());
  const HttpResponse described =
      server.Handle(RequestOf({.operation = "DescribeTable", .body = R"({"TableName":"limits"})"}));
  arn_ = ReadDescription(described.body).value().stream_arn;
}

std::string StreamFleet::Start() {
  const std::string name = fmt::format("process-{}", ++started_);
  ConsumerOptions consumer = options_.consumer;
  consumer.stream_arn = arn_;
  consumer.owner = name;
  const auto process = std::make_shared<Process>(name, std::move(consumer), rng_.Next());
  processes_[name] = process;
  Handle(process, process->machine.OnWake(Now()));
  return name;
}

void StreamFleet::Kill(const std::string& process) { processes_.at(process)->is_alive = false; }

void StreamFleet::Drain(const std::string& process) {
  const Shared& shared = processes_.at(process);
  Handle(shared, shared->machine.Drain(Now()));
}

bool StreamFleet::IsDone(const std::string& process) const {
  return processes_.at(process)->is_done;
}

void StreamFleet::Handle(const Shared& process, ConsumerStep step) {
  for (auto& request : step.requests) Send(process, std::move(request));
  for (auto& request : step.lease_requests) Send(process, std::move(request));
  for (ChangeBatch& batch : step.batches) Deliver(process, std::move(batch));
  std::ranges::move(step.events, std::back_inserter(events));
  if (step.error) errors.push_back(*step.error);
  process->is_done |= step.done;
  if (process->timer) scheduler.Cancel(*process->timer);
  process->timer.reset();
  if (!step.wake || process->is_done) return;
  process->timer = scheduler.At(*step.wake, [this, process] {
    process->timer.reset();
    if (process->is_alive) Handle(process, process->machine.OnWake(Now()));
  });
}

void StreamFleet::Send(const Shared& process, ConsumerStep::Request request) {
  const bool fails = rng_.Chance(options_.unavailable);
  const bool is_lost = rng_.Chance(options_.lost);
  After(Draw(options_.longest_trip), [this, process, request, fails, is_lost] {
    ShardReading::Response response = tl::unexpected(LostResponse(request.operation));
    if (!fails) {
      auto reply = client_.Ask(request.operation, request.body);
      if (reply && !is_lost) response = std::move(reply->body);
      if (!reply) response = tl::unexpected(std::move(reply.error()));
    }
    After(Draw(options_.longest_trip), [this, process, id = request.id, response] {
      if (process->is_alive) Handle(process, process->machine.OnResponse(id, response, Now()));
    });
  });
}

void StreamFleet::Send(const Shared& process, ConsumerStep::LeaseRequest request) {
  const bool fails = rng_.Chance(options_.unavailable);
  const bool is_lost = rng_.Chance(options_.lost);
  const Error lost{Code::kUnavailable, "the lease table: no response"};
  After(Draw(options_.longest_trip), [this, process, request, fails, is_lost, lost] {
    const std::uint64_t id = request.id;
    const bool has_response = !fails && !is_lost;
    if (request.write) {
      LeaseOutcome outcome = Fail(lost);
      const LeaseResult result = fails ? LeaseResult{} : leases.Write(*request.write);
      if (has_response) outcome = result;
      After(Draw(options_.longest_trip), [this, process, id, outcome] {
        if (process->is_alive) Handle(process, process->machine.OnLeaseWritten(id, outcome, Now()));
      });
      return;
    }
    LeasesRead read = Fail(lost);
    if (has_response) read = StoredLeases{leases.ReadAll()};
    After(Draw(options_.longest_trip), [this, process, id, read] {
      if (process->is_alive) Handle(process, process->machine.OnLeases(id, read, Now()));
    });
  });
}

void StreamFleet::Deliver(const Shared& process, ChangeBatch batch) {
  max_batches = std::max(max_batches, ++process->batches[batch.shard]);
  if (batch.gap) gaps.push_back(*batch.gap);
  std::vector<std::uint64_t> numbers;
  for (const ChangeRecord& record : batch.records) {
    numbers.push_back(NumberOf(record.sequence_number));
    deliveries.push_back({numbers.back(), process->name, batch.shard, batch.epoch});
  }
  After(Draw(options_.longest_work),
        [this, process, id = batch.id, shard = batch.shard, numbers, gap = batch.gap] {
          if (!process->is_alive) return;
          --process->batches[shard];
          if (gap) completed_gaps.push_back(*gap);
          completed.insert(numbers.begin(), numbers.end());
          Handle(process, process->machine.OnCompleted(id, Now()));
        });
}

void StreamFleet::WriteItem() {
  const auto item = rng_.Below(options_.items);
  const std::string key = fmt::format(R"("PK":{{"S":"item{}"}},"SK":{{"S":"s"}})", item);
  const bool deletes = rng_.Chance(0.1);
  const std::string operation = deletes ? "DeleteItem" : "PutItem";
  const std::string body =
      deletes ? fmt::format(R"({{"TableName":"limits","Key":{{{}}}}})", key)
              : fmt::format(R"({{"TableName":"limits","Item":{{{},"n":{{"N":"{}"}}}}}})", key,
                            ++written_);
  server.Handle(RequestOf({.operation = operation, .body = body}));
}

void StreamFleet::Write(std::size_t count, nanoseconds longest_pause) {
  for (std::size_t i = 0; i < count; ++i) {
    WriteItem();
    Run(Draw(longest_pause));
  }
}

void StreamFleet::ReplaceShard(bool split) {
  const auto& shards = server.Stream(kTable)->shards();
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!shards[i].end) open.push_back(i);
  }
  server.ReplaceShard(kTable, open[rng_.Below(open.size())], split);
}

bool StreamFleet::RunUntilRead(nanoseconds longest) {
  const Instant end = scheduler.clock().Now() + longest;
  while (completed.size() < records() && scheduler.clock().Now() < end) Run(milliseconds(100));
  return completed.size() == records();
}

std::string StreamFleet::Describe() const {
  std::string text = fmt::format("at {} ms:", scheduler.clock().WallNow().value);
  for (const ShardLease& lease : leases.ReadAll()) {
    text += fmt::format("\n{} of {}: owner '{}', wanted by '{}', epoch {}, version {}, at {} {}",
                        lease.shard, lease.parent, lease.owner, lease.wanted_by, lease.epoch,
                        lease.version, static_cast<int>(lease.position.at),
                        lease.position.sequence_number);
  }
  return text;
}

std::map<std::uint64_t, int> StreamFleet::CountDeliveries() const {
  std::map<std::uint64_t, int> counts;
  for (std::uint64_t number = 1; number <= records(); ++number) counts[number] = 0;
  for (const Delivery& delivery : deliveries) ++counts[delivery.number];
  return counts;
}

std::vector<std::string> StreamFleet::FindFaults() const {
  std::vector<std::string> faults;
  const auto& stream = server.Table(kTable)->stream();
  std::map<std::string, std::uint64_t> latest;  // delivered, by item
  std::map<std::pair<std::string, std::uint64_t>, std::string> owners;
  std::map<std::string, std::vector<std::uint64_t>> of_item;
  const auto item_of = [&](std::uint64_t number) {
    return sim::WriteItem(stream[number - 1].key).dump();
  };
  for (const auto& record : stream) of_item[item_of(record.sequence)].push_back(record.sequence);
  std::set<std::uint64_t> seen;
  const bool has_gap = !gaps.empty();
  for (const Delivery& delivery : deliveries) {
    const std::string& owner =
        owners.emplace(std::pair(delivery.shard, delivery.epoch), delivery.process).first->second;
    if (owner != delivery.process) {
      faults.push_back(fmt::format("{} and {} have epoch {} of {}", owner, delivery.process,
                                   delivery.epoch, delivery.shard));
    }
    if (!seen.insert(delivery.number).second) continue;
    const std::string item = item_of(delivery.number);
    if (delivery.number < latest[item]) {
      faults.push_back(fmt::format("record {} of {} was delivered after {}", delivery.number, item,
                                   latest[item]));
    }
    latest[item] = delivery.number;
  }
  const bool is_missing = seen.size() < stream.size();
  if (is_missing && completed_gaps.empty()) {
    faults.push_back(fmt::format("{} records are missing, and no gap was reported",
                                 stream.size() - seen.size()));
  }
  if (has_gap && !is_missing) faults.push_back("a gap was reported, but no record is missing");
  if (max_batches > 1) faults.push_back("two batches of a shard were in flight");
  for (const Error& error : errors) faults.push_back("a consumer ended: " + error.message);
  return faults;
}

}  // namespace weir::dynamo
