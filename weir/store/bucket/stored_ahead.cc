#include "weir/store/bucket/stored_ahead.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "weir/store/bucket/extra_meters.h"

namespace weir {

bool HasTimeFarAhead(const BucketState& state, UnixMillis now) {
  if (IsFarAhead(state.bucket.time, now)) return true;
  if (state.extras == nullptr) return false;
  const auto is_far = [now](const ExtraMeter& extra) { return IsFarAhead(extra.time, now); };
  return IsFarAhead(state.extras->last_left, now) ||
         std::ranges::any_of(state.extras->meters, is_far);
}

milliseconds SetBackToNow(BucketState& state, UnixMillis now) {
  milliseconds furthest{0};
  const auto set_back = [&](UnixMillis& time) {
    if (!IsFarAhead(time, now)) return false;
    furthest = std::max(furthest, time - now);
    time = now;
    return true;
  };
  set_back(state.bucket.time);
  if (state.extras == nullptr) return furthest;
  for (ExtraMeter& extra : state.extras->meters) set_back(extra.time);
  // The meters that were removed early need as long as before until they would be full.
  const milliseconds until_full = LeftFullIn(*state.extras);
  if (set_back(state.extras->last_left)) state.extras->left_full = now + until_full;
  return furthest;
}

void AheadReport::Add(const BucketKey& key, milliseconds ahead) {
  if (named_.size() == kMaxNamed) {
    ++more_;
    return;
  }
  named_.emplace_back(key, ahead);
}

AheadReport::~AheadReport() {
  if (log_ == nullptr) return;
  for (const auto& [key, ahead] : named_) {
    const std::array<LogField, 4> fields = {LogField{"entity", std::string_view(key.entity)},
                                            {"resource", std::string_view(key.resource)},
                                            {"shard", std::int64_t{key.shard}},
                                            {"ahead_ms", std::int64_t{ahead.count()}}};
    log_->Write(LogLevel::kWarning, "clock.stored_time_ahead", fields);
  }
  if (more_ == 0) return;
  const std::array<LogField, 1> fields = {LogField{"buckets", static_cast<std::int64_t>(more_)}};
  log_->Write(LogLevel::kWarning, "clock.stored_times_ahead", fields);
}

}  // namespace weir
