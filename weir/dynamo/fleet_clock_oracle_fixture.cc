#include "weir/dynamo/fleet_clock_oracle_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weir/bucket/meter_times.h"
#include "weir/store/bucket_time.h"

namespace weir::dynamo {
namespace {

// T of two hosts, and T and the true time, differ by less.
constexpr milliseconds kWorstTime{6'000};
constexpr milliseconds kMinute{60'000};
// Until a request reads the item, and until refusals are from an image that is newer.
constexpr milliseconds kUntilRead{10'000};
constexpr milliseconds kOldImage{1'000};

std::int64_t FieldIn(const std::optional<sim::Item>& item, const std::string& name) {
  if (!item) return 0;
  const auto found = item->find(name);
  const auto* number = found == item->end() ? nullptr : found->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

/// One write on the item.
struct ClockWrite {
  explicit ClockWrite(const sim::StreamRecord& record)
      : at(record.at),
        is_new(!record.before),
        rf_before{FieldIn(record.before, "rf")},
        rf{FieldIn(record.after, "rf")},
        tokens(FieldIn(record.after, "b_rpm_tk")),
        taken(FieldIn(record.after, "b_rpm_tc") - FieldIn(record.before, "b_rpm_tc")),
        // The change of the balance, without the takes.
        refilled(is_new ? 0 : tokens - FieldIn(record.before, "b_rpm_tk") + taken),
        marks(record.after->contains("w_ahead") &&
              (is_new || !record.before->contains("w_ahead") ||
               record.after->at("w_ahead") != record.before->at("w_ahead"))) {}

  bool WasFar() const { return !is_new && IsFarAhead(rf_before, at); }
  bool IsFar() const { return IsFarAhead(rf, at); }

  UnixMillis at;
  bool is_new;
  UnixMillis rf_before;
  UnixMillis rf;
  std::int64_t tokens;
  std::int64_t taken;
  std::int64_t refilled;
  bool marks;
};

class ClockJudge {
 public:
  ClockJudge(const ClockFleetRecord& record, milliseconds late) : record_(record), late_(late) {
    for (const sim::StreamRecord& change : record.stream) writes_.emplace_back(change);
  }

  ClockVerdict Judge() {
    JudgeTakes();
    JudgeTimes();
    for (const AliveSpan& alive : record_.alive) JudgeRefusalsAfter(alive);
    if (record_.worst_time >= kWorstTime / 2) Break("T is wrong by {} ms", record_.worst_time);
    return std::move(verdict_);
  }

 private:
  void Break(fmt::format_string<std::int64_t> text, milliseconds time) {
    verdict_.broken.push_back(fmt::format(text, time.count()));
  }
  static std::int64_t Earned(milliseconds time) {
    const Quota& quota = ClockFleetQuota();
    return time.count() * quota.amount / quota.period + 1;
  }

  // Let f(t) be the takes up to t, less the refill up to t and one capacity for each jump. The
  // bound is f(t) - f(s) <= capacity + rate * (6 s + late).
  void JudgeTakes() {
    const std::int64_t most = ClockFleetQuota().capacity + Earned(kWorstTime + late_);
    std::int64_t least = INT64_MAX;
    std::int64_t value = 0;
    const UnixMillis start = writes_.empty() ? UnixMillis{} : writes_.front().at;
    for (const ClockWrite& write : writes_) {
      const std::int64_t drift = Earned(write.at - start);
      least = std::min(least, value - drift);
      if (write.IsFar() && !write.WasFar()) {
        ++verdict_.jumps;
        value -= ClockFleetQuota().capacity;
      }
      value += write.taken;
      if (value - drift - least <= most) continue;
      Break("too much was taken by {}", milliseconds(write.at.value));
      return;
    }
  }

  void JudgeTimes() {
    UnixMillis moved{};
    for (const ClockWrite& write : writes_) {
      verdict_.marked += write.marks ? 1 : 0;
      if (write.rf < write.rf_before) JudgeSetBack(write, write.at - moved);
      if (write.rf == write.rf_before) continue;
      if (write.rf > write.rf_before && write.WasFar()) ++verdict_.moved_ahead;
      moved = write.at;
    }
  }

  void JudgeSetBack(const ClockWrite& write, milliseconds unmoved) {
    ++verdict_.set_back;
    const milliseconds at(write.at.value);
    if (!IsFarAhead(write.rf_before + kWorstTime, write.at)) Break("not far ahead at {}", at);
    if (unmoved < kMinute - kWorstTime) Break("set back while its writer was alive at {}", at);
    if (write.rf > write.at + kWorstTime) Break("set back to what is ahead at {}", at);
    const milliseconds since = std::max(unmoved - kMinute, milliseconds(0)) + kWorstTime;
    if (write.refilled > Earned(since)) Break("refilled when it was set back at {}", at);
    if (write.refilled < 0) Break("tokens were lost when it was set back at {}", at);
  }

  // Until the client is alive again.
  UnixMillis EndOfSilence(const AliveSpan& alive) const {
    for (const AliveSpan& other : record_.alive) {
      if (other.from > alive.to) return other.from;
    }
    return UnixMillis{INT64_MAX};
  }

  void JudgeRefusalsAfter(const AliveSpan& alive) {
    // Its last refill is in no image that was read before.
    const UnixMillis begins = alive.to + late_ + kOldImage;
    const UnixMillis ends = EndOfSilence(alive);
    auto write = std::ranges::find_if(
        writes_, [&](const ClockWrite& candidate) { return candidate.at >= begins; });
    if (write == writes_.begin() || write == writes_.end()) return;
    Meter reference = FullMeter(ClockFleetQuota());
    reference.tokens = std::prev(write)->tokens;
    const bool is_far = std::prev(write)->IsFar();
    UnixMillis time = begins + kOldImage + kWorstTime + late_;
    if (is_far) time = time + kMinute + kUntilRead;
    const auto refill_to = [&](UnixMillis at) {
      Refill(reference, time, at);
      time = std::max(time, at);
    };
    for (const RefusedTake& refused : record_.refused) {
      if (refused.asked < begins || refused.answered >= ends) continue;
      for (; write != writes_.end() && write->at <= refused.answered; ++write) {
        refill_to(write->at);
        reference.tokens -= write->taken;
      }
      refill_to(refused.answered);
      ++verdict_.compared;
      if (reference.tokens < refused.tokens) continue;
      Break("refused at {} what a bucket in true time gives", milliseconds(refused.answered.value));
      return;
    }
  }

  const ClockFleetRecord& record_;
  const milliseconds late_;
  std::vector<ClockWrite> writes_;
  ClockVerdict verdict_;
};

}  // namespace

ClockVerdict JudgeClockFleet(const ClockFleetRecord& record, milliseconds late) {
  return ClockJudge(record, late).Judge();
}

}  // namespace weir::dynamo
