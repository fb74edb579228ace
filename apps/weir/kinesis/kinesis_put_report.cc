// Reports of a run, as JSON and as text.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

#include "apps/weir/kinesis/kinesis_put.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

std::int64_t PerSecond(const PutOutcome& outcome) {
  const auto stored = static_cast<double>(outcome.records - outcome.failed);
  const double seconds = static_cast<double>(outcome.elapsed.count()) / 1e9;
  return seconds > 0 ? static_cast<std::int64_t>(stored / seconds) : 0;
}

std::string KeptIn(const std::string& file) {
  return file.empty() ? "; --failed-to FILE keeps such lines" : "; see " + file;
}

nanoseconds Latency(const PutOutcome& outcome, double quantile) {
  return nanoseconds(outcome.latency.Quantile(quantile));
}

}  // namespace

nlohmann::ordered_json ToJson(const PutReport& report) {
  const auto& [outcome, stats] = report;
  return {{"records", outcome.records},
          {"bytes", outcome.bytes},
          {"failed", outcome.failed},
          {"kinesis_records", stats.kinesis_records},
          {"requests", stats.requests},
          {"throttled", stats.throttled},
          {"retries", stats.retries},
          {"maybe_duplicates", stats.maybe_duplicate},
          {"p50_ms", MillisJson(Latency(outcome, 0.5))},
          {"p99_ms", MillisJson(Latency(outcome, 0.99))},
          {"records_per_s", PerSecond(outcome)},
          {"interrupted", outcome.interrupted},
          {"read_all", outcome.read_all}};
}

std::string TextOf(const PutReport& report) {
  const auto& [outcome, stats] = report;
  return fmt::format(
      "records   {}: stored {}, failed {}, possible duplicates {}\n"
      "bytes     {}\n"
      "sent      {} Kinesis records in {} requests, {} throttled, {} retries of lines\n"
      "latency   p50 {} ms, p99 {} ms\n"
      "rate      {} records/s for {}\n",
      outcome.records, outcome.records - outcome.failed, outcome.failed, stats.maybe_duplicate,
      outcome.bytes, stats.kinesis_records, stats.requests, stats.throttled, stats.retries,
      FormatMillis(Latency(outcome, 0.5)), FormatMillis(Latency(outcome, 0.99)), PerSecond(outcome),
      FormatSeconds(std::chrono::duration_cast<milliseconds>(outcome.elapsed)));
}

std::string StopOf(const PutOutcome& outcome) {
  return fmt::format("stopped at line {}{}", outcome.records,
                     outcome.read_all ? "" : "; input not read to its end");
}

std::string GivenUpOf(const PutOutcome& outcome, const std::string& kept_in) {
  const std::uint64_t certain = outcome.records - outcome.failed;
  std::string stored = certain == 0 ? fmt::format("none of {} lines is", outcome.records)
                                    : fmt::format("{} of {} lines are", certain, outcome.records);
  stored += outcome.maybe_stored == 0
                ? " stored"
                : fmt::format(" known to be stored, and {} may be", outcome.maybe_stored);
  return fmt::format("{}: {}{}{}", outcome.unreachable, stored,
                     outcome.read_all ? "" : "; input not read to its end",
                     certain > 0 && outcome.failed == 0 ? "" : KeptIn(kept_in));
}

std::string FailuresOf(const PutOutcome& outcome, const std::string& kept_in) {
  std::string text = fmt::format("{} of {} records failed", outcome.failed, outcome.records);
  std::string_view between = ": ";
  std::uint64_t named = 0;
  for (const FailureCause& cause : outcome.causes) {
    const std::string others =
        cause.lines == 1 ? "" : fmt::format(" and {} others", cause.lines - 1);
    text += fmt::format("{}line {}{}: {}", between, cause.first_line, others, cause.text);
    named += cause.lines;
    between = "; ";
  }
  if (outcome.failed > named) text += "; ...";
  return text + KeptIn(kept_in);
}

}  // namespace weir::app
