// Puts lines into a Kinesis stream, each as a record, and reports their results.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/kinesis/line_reader.h"
#include "apps/weir/kinesis/record_key.h"
#include "apps/weir/store/endpoint_watch.h"
#include "weir/kinesis/producer.h"
#include "weir/telemetry/histogram.h"

namespace weir::app {

/// The functions of a producer that a run uses; see kinesis::Producer.
struct PutPort {
  /// Returns kResourceExhausted if the buffer stays full for a while; the put is then retried.
  std::function<Status(kinesis::Record, kinesis::PutDone)> put;
  std::function<Status(Deadline)> flush;
  std::function<void(Deadline)> close;
  const EndpointWatch* watch = nullptr;  ///< null: the service's responses are not watched
};

/// The input of a run. All of it must outlive the run.
struct PutInput {
  LineReader& lines;
  RecordKeys& keys;
  /// Returns the stream for lines that failed, in the order of the input. It is called only if
  /// there are any. Empty: failed lines are not stored.
  std::function<std::ostream&()> failed_lines{};
};

/// A cause of failures and its lines.
struct FailureCause {
  std::string text;
  std::uint64_t first_line = 0;
  std::uint64_t lines = 0;
};
inline constexpr std::size_t kMaxCauses = 3;

struct PutOutcome {
  std::uint64_t records = 0;  ///< lines that were read
  std::uint64_t bytes = 0;    ///< the size of these lines, without newlines
  std::uint64_t failed = 0;   ///< lines that are too long, have no key, or were not stored
  nanoseconds elapsed{0};
  std::uint64_t maybe_stored = 0;      ///< failed lines that may be stored nevertheless
  HistogramSnapshot latency;           ///< from put to result of stored lines, in ns
  std::vector<FailureCause> causes{};  ///< at most kMaxCauses, by their first lines
  bool interrupted = false;            ///< by a signal
  bool read_all = true;                ///< the input was read to its end
  std::string unreachable{};           ///< why the run gave up; empty if it did not
};

/// A service that does not respond for kReportSilence is reported. If it has never responded, the
/// run ends after kGiveUpSilence.
inline constexpr milliseconds kReportSilence{1'200};
inline constexpr std::chrono::seconds kGiveUpSilence{10};
/// After an interruption, lines that were read have this time to get their results, unless another
/// signal arrives.
inline constexpr std::chrono::seconds kLastFlush{10};

/// Puts each line until the lines end or the run is interrupted. Closes the port when all lines are
/// stored or have failed or, after an interruption, after kLastFlush. A line that an interruption
/// cut is not put. The run ends if the service has not responded once within kGiveUpSilence.
/// Blocks. Returns kUnavailable if the lines cannot be read, or failed lines cannot be stored;
/// lines that were read before are put nevertheless.
[[nodiscard]] Result<PutOutcome> PutLines(const PutPort& port, const PutInput& input,
                                          const ProcessContext& process);

struct PutReport {
  PutOutcome outcome;
  kinesis::ProducerStats stats;
};

nlohmann::ordered_json ToJson(const PutReport& report);
std::string TextOf(const PutReport& report);
/// Returns "stopped at line N", and whether more lines follow.
std::string StopOf(const PutOutcome& outcome);
/// Returns one line for stderr if the run gave up: the cause, and the location of the lines.
std::string GivenUpOf(const PutOutcome& outcome, const std::string& kept_in);
/// Returns one line for stderr if lines failed: their number, the first causes, and their location.
std::string FailuresOf(const PutOutcome& outcome, const std::string& kept_in);

}  // namespace weir::app
