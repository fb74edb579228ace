// Lines into a stream of Kinesis, each a record, and what became of them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/endpoint_watch.h"
#include "apps/weir/line_reader.h"
#include "apps/weir/record_key.h"
#include "weir/kinesis/producer.h"
#include "weir/telemetry/histogram.h"

namespace weir::app {

/// What is used of a producer, as kinesis::Producer has it.
struct PutPort {
  /// kResourceExhausted: no room came within a while; then it is tried again.
  std::function<Status(kinesis::Record, kinesis::PutDone)> put;
  std::function<Status(Deadline)> flush;
  std::function<void(Deadline)> close;
  const EndpointWatch* watch = nullptr;  ///< null: whether the service answers is not looked at
};

/// All of it outlives the run.
struct PutInput {
  LineReader& lines;
  RecordKeys& keys;
  /// Where lines that failed go, in the order of the input; asked only if there are any. Null: they
  /// are not kept.
  std::function<std::ostream&()> failed_lines{};
};

/// Why lines failed, and which.
struct FailureCause {
  std::string text;
  std::uint64_t first_line = 0;
  std::uint64_t lines = 0;
};
inline constexpr std::size_t kMostCauses = 3;

struct PutOutcome {
  std::uint64_t records = 0;  ///< lines that were read
  std::uint64_t bytes = 0;    ///< of them, without newlines
  std::uint64_t failed = 0;   ///< of them, those that had no key or were not stored
  nanoseconds elapsed{0};
  std::uint64_t maybe_stored = 0;      ///< of those that failed, what may be stored all the same
  HistogramSnapshot latency;           ///< from put to result of those that were stored, in ns
  std::vector<FailureCause> causes{};  ///< at most kMostCauses, by their first lines
  bool interrupted = false;            ///< by a signal
  bool read_all = true;                ///< the input was read to its end
  std::string unreachable{};           ///< why the run gave up; empty: it did not
};

/// A service that does not answer for this duration is reported; one that has never answered ends
/// the run after the longer duration.
inline constexpr milliseconds kReportSilence{1'200};
inline constexpr std::chrono::seconds kGiveUp{10};
/// After an interruption the lines that were read have this duration to get their results, unless
/// another signal comes.
inline constexpr std::chrono::seconds kLastFlush{10};

/// Puts each line, until the lines end or the run is interrupted; then closes the port, when all is
/// stored or has failed or, interrupted, after kLastFlush. A line that an interruption cut is not
/// put. It gives up a service that never answered for kGiveUp. Blocks. kUnavailable: the lines
/// cannot be read, or failed lines cannot be kept; lines that were read before are put all the
/// same.
[[nodiscard]] Result<PutOutcome> PutLines(const PutPort& port, const PutInput& input,
                                          const ProcessContext& process);

struct PutReport {
  PutOutcome outcome;
  kinesis::ProducerStats stats;
};

nlohmann::ordered_json ToJson(const PutReport& report);
std::string TextOf(const PutReport& report);
/// "stopped at line N", and whether there was more to read.
std::string StopOf(const PutOutcome& outcome);
/// One line for stderr if the run gave up: why, and where the lines are.
std::string GivenUpOf(const PutOutcome& outcome, const std::string& kept_in);
/// One line for stderr where something failed: how many, the first causes, and where the lines are.
std::string FailuresOf(const PutOutcome& outcome, const std::string& kept_in);

}  // namespace weir::app
