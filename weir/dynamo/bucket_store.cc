#include "weir/dynamo/bucket_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace weir::dynamo {
namespace {

// What was taken in vain goes back even if the caller's time is over.
constexpr nanoseconds kGiveBackTime = std::chrono::seconds(5);

std::vector<TableKey> BucketKeys(const Keys& keys, std::span<const BucketKey> buckets) {
  std::vector<TableKey> list;
  for (const BucketKey& bucket : buckets) list.push_back(keys.Bucket(bucket));
  return list;
}

Result<std::optional<BucketRecord>> RecordOf(const std::optional<Item>& item) {
  if (!item) return std::optional<BucketRecord>();
  WEIR_ASSIGN_OR_RETURN(const BucketImage image, ReadImage(*item));
  return std::optional(ToRecord(image));
}

QueryRequest QueryOf(const Keys& keys, const BucketFilter& filter) {
  if (filter.entity) {
    const std::string prefix =
        filter.resource ? fmt::format("BUCKET#{}#", *filter.resource) : std::string("BUCKET#");
    return {.index = "GSI3", .partition = keys.BucketsOf(*filter.entity), .sort_prefix = prefix};
  }
  if (filter.resource) {
    return {
        .index = "GSI2", .partition = keys.OfResource(*filter.resource), .sort_prefix = "BUCKET#"};
  }
  return {.index = "GSI4", .partition = keys.namespace_id(), .sort_prefix = "BUCKET#"};
}

// A cursor is the last key of its page, with the partition that it belongs to.
Result<std::optional<Item>> ReadCursor(const QueryRequest& query, const PageRequest& page) {
  const auto refuse = [&] {
    return Fail(Code::kInvalidArgument,
                fmt::format("page cursor '{}', limit {}: begin with an empty cursor, ask for at "
                            "least 1",
                            page.cursor, page.limit));
  };
  if (page.limit == 0) return refuse();
  if (page.cursor.empty()) return std::optional<Item>();
  auto read = ReadItem(page.cursor, "after");
  if (!read || !*read) return refuse();
  const std::string* partition = GetText(**read, query.index + "PK");
  if (partition == nullptr || *partition != query.partition) return refuse();
  return std::move(*read);
}

std::string FormatCursor(const std::optional<Item>& last) {
  if (!last) return "";
  std::string cursor = R"({"after":)";
  AppendJson(cursor, *last);
  cursor += '}';
  return cursor;
}

}  // namespace

/// One call that is under way. Its protocol takes one event at a time.
struct DynamoBucketStore::Running {
  Running(BucketCall protocol, const Clock& own_clock, UnixMillis at, Deadline until,
          Done<Decision> answer)
      : call(std::move(protocol)),
        clock(own_clock),
        began(own_clock.Now()),
        now(at),
        deadline(until),
        done(std::move(answer)) {}

  template <class Event>
  CallStep On(Event event) {
    const MutexLock lock(mutex);
    call.SetElapsed(clock.Now() - began);
    return event(call);
  }

  /// Lives as long as this.
  const BucketKey& KeyOf(std::size_t charge) {
    const MutexLock lock(mutex);
    return call.KeyOf(charge);
  }

  Mutex mutex;
  BucketCall call WEIR_GUARDED_BY(mutex);
  const Clock& clock;
  const Instant began;
  const UnixMillis now;
  const Deadline deadline;
  Done<Decision> done;
};

DynamoBucketStore::DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler,
                                     BucketStoreOptions options)
    : table_(table),
      keys_(std::move(keys)),
      scheduler_(scheduler),
      images_(options.remembered_images),
      rng_(options.seed) {}

DynamoBucketStore::~DynamoBucketStore() = default;

std::uint64_t DynamoBucketStore::Draw() {
  const MutexLock lock(rng_mutex_);
  return rng_.Next();
}

void DynamoBucketStore::Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                                Done<Decision> done) {
  if (const Status valid = CheckAcquire(charges); !valid) return done(Fail(valid.error()));
  Start(charges, std::nullopt, now, deadline, std::move(done));
}

void DynamoBucketStore::Adjust(std::span<const Charge> charges, AdjustToken token, UnixMillis now,
                               Deadline deadline, Done<void> done) {
  if (const Status valid = CheckAdjust(charges); !valid) return done(Fail(valid.error()));
  Start(charges, token, now, deadline, [done = std::move(done)](Result<Decision> decision) mutable {
    done(decision ? Status() : Status(Fail(std::move(decision.error()))));
  });
}

void DynamoBucketStore::Start(std::span<const Charge> charges, std::optional<AdjustToken> token,
                              UnixMillis now, Deadline deadline, Done<Decision> done) {
  std::vector<Charge> own(charges.begin(), charges.end());
  std::vector<std::optional<BucketImage>> images;
  images.reserve(own.size());
  for (const Charge& charge : own) images.push_back(images_.Find(charge.target->key));
  const auto running =
      std::make_shared<Running>(BucketCall(keys_, std::move(own), token, now), scheduler_.clock(),
                                now, deadline, std::move(done));
  Follow(running, running->On([&](BucketCall& call) { return call.Begin(std::move(images)); }));
}

void DynamoBucketStore::Learn(CallStep& step) {
  for (const BucketKey& key : step.unknown) images_.Forget(key);
  for (BucketImage& image : step.learned) images_.Put(std::move(image));
  step.unknown.clear();
  step.learned.clear();
}

void DynamoBucketStore::Follow(const RunningPtr& running, CallStep step) {
  Learn(step);
  if (step.answer || !step.give_back.empty()) return Finish(running, std::move(step));
  if (step.pause > milliseconds(0)) return Pause(running, step.pause);
  if (!step.reads.empty()) return ReadAll(running, std::move(step.reads));
  for (CallStep::Send& send : step.sends) Send(running, std::move(send));
}

void DynamoBucketStore::ReadAll(const RunningPtr& running, std::vector<TableKey> keys) {
  table_.BatchGet(std::move(keys), running->deadline, [this, running](auto items) {
    Follow(running, running->On([&](BucketCall& call) { return call.OnRead(std::move(items)); }));
  });
}

void DynamoBucketStore::Send(const RunningPtr& running, CallStep::Send send) {
  if (send.in_turn) return WaitForTurn(running, std::move(send));
  Submit(running, std::move(send));
}

/// A send that has no turn yet. Its turn comes, or its time is over: the first of them takes it.
struct DynamoBucketStore::Waiting {
  RunningPtr running;
  CallStep::Send send;
  std::atomic<bool> is_taken = false;
};

void DynamoBucketStore::WaitForTurn(const RunningPtr& running, CallStep::Send send) {
  const auto waiting = std::make_shared<Waiting>(running, std::move(send));
  const std::size_t charge = waiting->send.charge;
  const BucketKey& key = running->KeyOf(charge);
  const bool is_free = turns_.Enter(key, [this, waiting, charge] {
    if (waiting->is_taken.exchange(true)) return false;
    const RunningPtr& call = waiting->running;
    auto newest = images_.Find(call->KeyOf(charge));
    CallStep step = call->On([&](BucketCall& on) { return on.OnTurn(charge, std::move(newest)); });
    if (KeepTurn(call, charge, step)) return true;
    Follow(call, std::move(step));
    return false;
  });
  if (is_free) return Submit(running, std::move(waiting->send));
  if (running->deadline.is_never()) return;
  // After the deadline it is answered without being sent.
  const auto expire = [this, weak = std::weak_ptr(waiting)] {
    const auto late = weak.lock();
    if (late == nullptr || late->is_taken.exchange(true)) return;
    late->send.in_turn = false;
    Submit(late->running, std::move(late->send));
  };
  scheduler_.At(running->deadline.at(), expire);
}

bool DynamoBucketStore::KeepTurn(const RunningPtr& running, std::size_t charge, CallStep& step) {
  Learn(step);
  const auto own = std::ranges::find_if(step.sends, [charge](const CallStep::Send& send) {
    return send.charge == charge && send.in_turn;
  });
  if (own == step.sends.end()) return false;
  CallStep::Send send = std::move(*own);
  step.sends.erase(own);
  Submit(running, std::move(send));
  Follow(running, std::move(step));
  return true;
}

void DynamoBucketStore::Submit(const RunningPtr& running, CallStep::Send send) {
  auto then = [this, running, charge = send.charge, has_turn = send.in_turn](auto outcome) {
    CallStep step =
        running->On([&](BucketCall& call) { return call.OnWrite(charge, std::move(outcome)); });
    if (has_turn) {
      if (KeepTurn(running, charge, step)) return;
      // Before the answer: with the last of them this store may go.
      turns_.Leave(running->KeyOf(charge));
    }
    Follow(running, std::move(step));
  };
  if (send.writes.size() == 1) {
    return table_.Apply(send.writes.front(), send.repeatable, running->deadline, std::move(then));
  }
  const std::string token = fmt::format("{:016x}{:016x}", Draw(), Draw());
  table_.Transact(send.writes, token, running->deadline, std::move(then));
}

void DynamoBucketStore::Pause(const RunningPtr& running, milliseconds longest) {
  const nanoseconds wait(
      static_cast<std::int64_t>(Draw() % static_cast<std::uint64_t>(nanoseconds(longest).count())));
  scheduler_.At(scheduler_.clock().Now() + wait, [this, running] {
    Follow(running, running->On([](BucketCall& call) { return call.Resume(); }));
  });
}

void DynamoBucketStore::Finish(const RunningPtr& running, CallStep step) {
  if (step.give_back.empty()) return running->done(std::move(*step.answer));
  GiveBack(running, std::move(step.give_back), std::move(step.answer));
}

void DynamoBucketStore::GiveBack(const RunningPtr& running, std::vector<Charge> charges,
                                 std::optional<Result<Decision>> answer) {
  const AdjustToken token{Draw(), Draw()};
  const Deadline deadline = Deadline::After(scheduler_.clock(), kGiveBackTime);
  // Where it fails the tokens stay taken, until they are refilled: fewer, never more.
  Adjust(charges, token, running->now, deadline,
         [this, running, answer = std::move(answer)](const Status&) mutable {
           if (answer) return running->done(*std::move(answer));
           Follow(running, running->On([](BucketCall& call) { return call.GaveBack(); }));
         });
}

void DynamoBucketStore::Read(std::span<const BucketKey> keys, Deadline deadline,
                             Done<std::vector<std::optional<BucketRecord>>> done) {
  table_.BatchGet(BucketKeys(keys_, keys), deadline, [done = std::move(done)](auto items) mutable {
    if (!items) return done(Fail(std::move(items.error())));
    std::vector<std::optional<BucketRecord>> records;
    for (const std::optional<Item>& item : *items) {
      auto record = RecordOf(item);
      if (!record) return done(Fail(std::move(record.error())));
      records.push_back(std::move(*record));
    }
    done(std::move(records));
  });
}

void DynamoBucketStore::List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
                             Done<Page<BucketRecord>> done) {
  QueryRequest query = QueryOf(keys_, filter);
  auto after = ReadCursor(query, page);
  if (!after) return done(Fail(std::move(after.error())));
  query.start_after = std::move(*after);
  query.limit = page.limit;
  table_.Query(query, deadline, [this, deadline, done = std::move(done)](auto answer) mutable {
    if (!answer) return done(Fail(std::move(answer.error())));
    std::vector<BucketKey> keys;
    for (const Item& item : answer->items) {
      if (auto key = ParseBucketPartition(KeyOf(item).pk)) keys.push_back(*std::move(key));
    }
    // Indexes are late, and some hold keys alone: the items come from the table.
    Read(keys, deadline,
         [next = FormatCursor(answer->last_key), done = std::move(done)](auto records) mutable {
           if (!records) return done(Fail(std::move(records.error())));
           Page<BucketRecord> told{.items = {}, .next = std::move(next)};
           for (auto& record : *records) {
             if (record) told.items.push_back(*std::move(record));
           }
           done(std::move(told));
         });
  });
}

}  // namespace weir::dynamo
