#include "weir/zae_table/actor/batch_choice.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace weir::dynamo {
namespace {

bool IsTake(const Part& part) { return part.kind == Part::Kind::kTake; }

bool IsAdjust(const Part& part) { return part.is_adjust() && part.repetition_of == 0; }

// Returns true for parts that may be written. A take that was reported to its caller is not written
// again; it waits for the outcome of the writes that carry it.
bool IsEligible(const Part& part) {
  const bool conforms = part.kind == Part::Kind::kConform || part.kind == Part::Kind::kRepair;
  return ((IsTake(part) || conforms) && !part.reported) || IsAdjust(part);
}

bool IsRepair(const Part& part) { return part.kind == Part::Kind::kRepair && !part.reported; }

Error TooHasty(const Part& part, nanoseconds left, nanoseconds round_trip) {
  using std::chrono::duration_cast;
  return {Code::kDeadlineExceeded,
          fmt::format("{}/{}: {} are left until the deadline, and a request to the table takes {}",
                      part.target->key.entity, part.target->key.resource,
                      duration_cast<std::chrono::microseconds>(left),
                      duration_cast<std::chrono::microseconds>(round_trip))};
}

// An image of a contended bucket that is older than this is most likely out of date.
constexpr milliseconds kRecent{20};

// Makes one choice. Run is called once.

class Chooser {
 public:
  Chooser(PartQueue& queue, const SeenBucket& seen, const ChoiceTerms& terms,
          const ProtocolTime& moment)
      : queue_(queue),
        seen_(seen),
        terms_(terms),
        moment_(moment),
        view_(seen, terms.refusal_age, moment.at) {}

  Choice Run() {
    if (terms_.repairs_first && std::ranges::any_of(queue_.all(), IsRepair)) return OnlyRepairs();
    const Part* leader = FindLeader();
    if (leader == nullptr) return std::move(choice_);
    if (leader->is_recorded) {
      choice_.recorded = leader->adjust_id;
      AddAdjust(*queue_.Find(leader->id));
      return std::move(choice_);
    }
    for (Part& part : queue_.all()) {
      const bool may_share = IsAdjust(part) && !part.is_recorded && !CountsTooLate(part, seen_) &&
                             (!part.is_bounded() || leader->is_adjust());
      if (may_share && choice_.batch->Suits(part)) AddAdjust(part);
    }
    std::size_t takes = 0;
    for (Part& part : queue_.all()) {
      const bool is_skipped = IsAdjust(part) || !IsEligible(part) || !choice_.batch->Suits(part);
      if (is_skipped || takes == terms_.max_takes) continue;
      if (IsTake(part) ? AddTake(part) : AddConform(part)) ++takes;
    }
    choice_.expects_refill = seen_.IsContended(moment_.at) && takes > 0 &&
                             seen_.seen_at() + kRecent < moment_.at && !choice_.batch->is_bounded();
    return std::move(choice_);
  }

 private:
  Choice OnlyRepairs() {
    for (Part& part : queue_.all()) {
      if (!IsRepair(part)) continue;
      if (choice_.parts.empty()) choice_.batch.emplace(seen_, part, part.now, moment_.at);
      choice_.now = std::max(choice_.now, DateOf(part, moment_.at));
      choice_.parts.push_back(part.id);
    }
    return std::move(choice_);
  }

  // An adjust that a write carries waits for the outcome of that write, which may still be applied.
  void EndLateAdjusts() {
    for (const Part& part : queue_.all()) {
      if (!IsAdjust(part) || part.in_flight || !CountsTooLate(part, seen_)) continue;
      End(part, {.kind = PartOutcome::Kind::kFailed, .error = CountedTooLate(part)});
    }
  }

  // A part that an earlier write carries must not be written again if its limits were replaced
  // meanwhile: it would store the old limits again.
  bool MayBeWritten(const Part& part) {
    if (!IsEligible(part) || CountsTooLate(part, seen_)) return false;
    return !part.in_flight || part.is_adjust() ||
           !view_.IsOutdated(part, BucketBatch(seen_, part, DateOf(part, moment_.at), moment_.at));
  }

  // Finds the part that determines the target of the write: the first one that may be written. If
  // that part is an adjust, the first take leads instead, provided that the adjust may share its
  // write: adjusts may share the write of a take, but a take may not share the write of an adjust.
  // An adjust that is bounded shares no write of takes, since each write of another process makes
  // such a write fail: the take goes first. Sets the date and the batch of the choice.
  const Part* FindLeader() {
    EndLateAdjusts();
    const auto& parts = queue_.all();
    const auto may_lead = [this](const Part& part) { return MayBeWritten(part); };
    auto first = std::ranges::find_if(parts, may_lead);
    if (first == parts.end()) return nullptr;
    if (first->is_recorded && terms_.yields_record) {
      const auto other = std::find_if(first, parts.end(), [&](const Part& part) {
        return !part.is_recorded && may_lead(part);
      });
      if (other != parts.end()) first = other;
    }
    choice_.now = first->now;
    for (const Part& part : parts) {
      if (IsEligible(part)) choice_.now = std::max(choice_.now, DateOf(part, moment_.at));
    }
    const Part* leader = &*first;
    if (IsAdjust(*first) && !first->is_recorded) {
      const auto take = std::ranges::find_if(
          parts, [&](const Part& part) { return IsTake(part) && may_lead(part); });
      const bool goes_first =
          take != parts.end() &&
          (first->is_bounded() || BucketBatch(seen_, *take, choice_.now, moment_.at).Suits(*first));
      if (goes_first) leader = &*take;
    }
    choice_.batch.emplace(seen_, *leader, choice_.now, moment_.at);
    return leader;
  }

  void End(const Part& part, PartOutcome outcome) {
    choice_.ends.emplace_back(part.id, std::move(outcome));
  }

  // An adjust that does not fit into the batch waits for the next write. If the batch is empty, it
  // fails.
  void AddAdjust(Part& part) {
    if (const auto other = part.in_flight ? std::nullopt : DividedOtherwise(part, seen_)) {
      return End(part, {.kind = PartOutcome::Kind::kDivided, .needs_shards = other->needs_shards});
    }
    if (choice_.batch->AddAdjust(part)) {
      choice_.parts.push_back(part.id);
    } else if (choice_.parts.empty() && !part.in_flight) {
      End(part, {.kind = PartOutcome::Kind::kFailed, .error = TooMuchDebt(part.target->key)});
    }
  }

  // A part of kind kConform needs an image that is newer than the part: an older image may show
  // parameters that were replaced since.
  bool AddConform(const Part& part) {
    if (part.kind == Part::Kind::kRepair && view_.IsOutdated(part, *choice_.batch)) {
      if (!part.in_flight) End(part, {.kind = PartOutcome::Kind::kOutdated});
      return false;
    }
    if (part.kind == Part::Kind::kConform && !part.has_image) {
      choice_.needs_read = true;
      return false;
    }
    choice_.parts.push_back(part.id);
    return true;
  }

  // Returns true, and ends the take, if its caller has less time left than a round trip takes: the
  // take would most likely be charged after the caller has left.
  bool IsHopeless(const Part& part) {
    if (part.in_flight || !moment_.round_trip) return false;
    const nanoseconds left = part.report_by - moment_.at;
    if (left >= *moment_.round_trip) return false;
    if (part.lost > 0) {
      End(part, {.kind = PartOutcome::Kind::kContended});
    } else {
      End(part,
          {.kind = PartOutcome::Kind::kFailed, .error = TooHasty(part, left, *moment_.round_trip)});
    }
    return true;
  }

  // Returns true if the take was added. A carried take is never ended here, because it may have
  // been charged.
  bool AddTake(Part& part) {
    BucketBatch& batch = *choice_.batch;
    const auto other = part.in_flight ? std::nullopt : DividedOtherwise(part, seen_);
    if (other) {
      End(part, {.kind = PartOutcome::Kind::kDivided, .needs_shards = other->needs_shards});
      return false;
    }
    if (view_.IsOutdated(part, batch)) {
      if (!part.in_flight) End(part, {.kind = PartOutcome::Kind::kOutdated});
      return false;
    }
    TakeVerdict verdict = batch.Judge(part.amounts);
    if (verdict.wait > milliseconds(0)) {
      if (!part.in_flight) Refuse(part, std::move(verdict));
      return false;
    }
    if (IsHopeless(part)) return false;
    batch.AddTake(part.amounts);
    part.available = std::move(verdict.available);
    choice_.parts.push_back(part.id);
    return true;
  }

  // Refuses the take, unless the image is too old for a refusal.
  void Refuse(Part& part, TakeVerdict verdict) {
    if (!view_.IsYoung(part)) {
      choice_.needs_read = true;
      return;
    }
    End(part, {.kind = PartOutcome::Kind::kRefused,
               .available = std::move(verdict.available),
               .wait = verdict.wait,
               .waits = std::move(verdict.waits)});
  }

  PartQueue& queue_;
  const SeenBucket& seen_;
  const ChoiceTerms& terms_;
  const ProtocolTime& moment_;
  TakeJudge view_;
  Choice choice_;
};

}  // namespace

Error CountedTooLate(const Part& adjust) {
  return {
      Code::kDeadlineExceeded,
      fmt::format("{}/{}: the adjust must count by bucket time {} ms, and the "
                  "bucket was seen after that, or was created again; it is not written",
                  adjust.target->key.entity, adjust.target->key.resource, adjust.counts_by.value)};
}

Error TooMuchDebt(const BucketKey& key) {
  return {Code::kOutOfRange,
          fmt::format("{}/{}: debt would exceed {} tokens; the bucket is not adjusted", key.entity,
                      key.resource, FormatTokens(kMaxDebt))};
}

bool HasWork(const PartQueue& queue) { return std::ranges::any_of(queue.all(), IsEligible); }

std::size_t CountEligible(const PartQueue& queue, Instant completed_at) {
  return static_cast<std::size_t>(std::ranges::count_if(queue.all(), [&](const Part& part) {
    return IsEligible(part) && (!IsTake(part) || part.in_flight || part.report_by >= completed_at);
  }));
}

Choice Choose(PartQueue& queue, const SeenBucket& seen, const ChoiceTerms& terms,
              const ProtocolTime& moment) {
  return Chooser(queue, seen, terms, moment).Run();
}

}  // namespace weir::dynamo
