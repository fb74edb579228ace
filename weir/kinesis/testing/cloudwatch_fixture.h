// A fake CloudWatch that adds up the data it gets and fails as a test asks. Tests only.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/json_client.h"
#include "weir/kinesis/metrics/windowed_statistic.h"
#include "weir/runtime/scheduler.h"

namespace weir::kinesis {

/// Metrics by the minute since 1970, and by "NAME,DIMENSION=VALUE,..." in the order of the request.
using ShownMetrics = std::map<std::pair<std::int64_t, std::string>, Statistic>;

inline void ShowMetrics(const std::string& body, ShownMetrics& shown) {
  const auto request = nlohmann::json::parse(body);
  for (const auto& datum : request["MetricData"]) {
    const auto& values = datum["StatisticValues"];
    const Statistic samples{values["SampleCount"], values["Sum"], values["Minimum"],
                            values["Maximum"]};
    std::string name = datum["MetricName"];
    for (const auto& dimension : datum["Dimensions"]) {
      name += fmt::format(",{}={}", dimension["Name"].get<std::string>(),
                          dimension["Value"].get<std::string>());
    }
    shown[{datum["Timestamp"].get<std::int64_t>() / 60, name}].Add(samples);
  }
}

class FakeCloudWatch final : public JsonClient {
 public:
  /// Null: it responds before Call returns.
  explicit FakeCloudWatch(Scheduler* scheduler = nullptr) : scheduler_(scheduler) {}

  void Call(JsonCall call, Deadline deadline, JsonDone done) override {
    calls.push_back(call);
    deadlines.push_back(deadline);
    std::optional<AwsFailure> failure;
    if (!failures.empty()) {
      failure = std::move(failures.front());
      failures.pop_front();
    }
    if (!failure || failure->maybe_applied) ShowMetrics(call.body, shown);
    if (scheduler_ == nullptr) return Tell(std::move(failure), done);
    Instant at = scheduler_->clock().Now() + after;
    if (at > deadline.at()) {
      at = deadline.at();
      failure = AwsFailure{.kind = FailureClass::kAmbiguous, .message = "timed out"};
    }
    scheduler_->At(at, [failure = std::move(failure), done = std::move(done)]() mutable {
      Tell(std::move(failure), done);
    });
  }
  /// Returns the samples of a metric in all minutes.
  Statistic Of(const std::string& metric) const {
    Statistic all;
    for (const auto& [key, samples] : shown) {
      if (key.second == metric) all.Add(samples);
    }
    return all;
  }

  nanoseconds after{0};                            ///< from a call to its response
  std::deque<std::optional<AwsFailure>> failures;  ///< results of the next calls; nothing: success
  std::vector<JsonCall> calls;
  std::vector<Deadline> deadlines;
  ShownMetrics shown;

 private:
  static void Tell(std::optional<AwsFailure> failure, JsonDone& done) {
    if (failure) return done(tl::unexpected(*std::move(failure)));
    done(JsonReply{.body = "{}"});
  }

  Scheduler* const scheduler_;
};

}  // namespace weir::kinesis
