#include "apps/weir/replay/replay_log.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

std::string_view NameOf(LogOp op) { return op == LogOp::kTake ? "take" : "adjust"; }

std::string_view NameOf(LogOutcome outcome) {
  switch (outcome) {
    case LogOutcome::kAdmitted:
      return "admitted";
    case LogOutcome::kRefused:
      return "refused";
    case LogOutcome::kImpossible:
      return "impossible";
    case LogOutcome::kDone:
      return "done";
  }
  return "";
}

}  // namespace

std::string FormatLog(std::span<const LogLine> lines) {
  std::string text = "t_ms,seq,entity,resource,op,outcome,limit,amount,balance\n";
  for (const LogLine& line : lines) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{}\n", line.at.value,
                   line.seq, line.entity, line.resource, NameOf(line.op), NameOf(line.outcome),
                   line.limit, FormatThousandths(line.amount), FormatThousandths(line.balance));
  }
  return text;
}

}  // namespace weir::app
