// weir limits apply: a plan, a question if it deletes records, and the changes.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/weir/commands/limits_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/terminal/confirm.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

std::string UnconfirmedMessage(const ScopedPlan& planned, std::string_view why,
                               const Context& context) {
  return fmt::format(
      "nothing is changed: applying the file would delete {} of the records in {}, and {}; {} "
      "lists them, --yes applies the file",
      planned.plan.Count(PlannedAction::kDelete), TextOf(planned.scope), why,
      context.QuotedCommand("limits plan"));
}

std::string QuestionOf(const ScopedPlan& planned) {
  return fmt::format("{}delete {} records in {}?", TextOf(planned.plan),
                     planned.plan.Count(PlannedAction::kDelete), TextOf(planned.scope));
}

/// Asks on a terminal whether the records that the file no longer has may be deleted. Blocks.
/// REQUIRES: the store is closed, so that other processes can use its file meanwhile.
Status ConfirmDeletes(const ScopedPlan& planned, const LimitsOptions& options, Context& context) {
  if (!context.process().in_is_terminal || options.file == kStandardStream) {
    return Fail(Code::kFailedPrecondition,
                UnconfirmedMessage(planned, "there is no terminal to confirm it", context));
  }
  return Confirm(context, QuestionOf(planned),
                 UnconfirmedMessage(planned, "it was not confirmed", context));
}

Result<Exit> ApplyPlanned(const ScopedPlan& planned, Context& context, Backend& backend) {
  const Deadline deadline = context.ApplyDeadline(planned.plan.ToApply().size());
  WEIR_RETURN_IF_ERROR(ApplyPlan(planned.plan, backend.config(), deadline));
  context.WriteResult(
      WithScope(planned.scope, app::ToJson(planned.plan)),
      fmt::format("applied to {}\n{}", TextOf(planned.scope), TextOf(planned.plan)));
  return Exit::kDone;
}

/// Plans again, because another process could change the store while the prompt was open.
Result<Exit> ApplyConfirmed(const ScopedPlan& confirmed, const LimitsOptions& options,
                            const LimitsSource& source, Context& context) {
  return context.WithBackend(Access::kWrite, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const ScopedPlan planned,
                          MakeScopedPlan(options, source, context, backend));
    if (QuestionOf(planned) == QuestionOf(confirmed)) {
      return ApplyPlanned(planned, context, backend);
    }
    return Fail(Code::kFailedPrecondition,
                fmt::format("nothing is changed: the limits in {} changed while the prompt "
                            "was open; run the command again for a new plan",
                            TextOf(planned.scope)));
  });
}

}  // namespace

Result<Exit> ApplyLimits(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsSource source, ReadLimitsFile(options, context));
  std::optional<ScopedPlan> to_confirm;
  Result<Exit> first = context.WithBackend(Access::kWrite, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(ScopedPlan planned, MakeScopedPlan(options, source, context, backend));
    if (options.yes || planned.plan.Count(PlannedAction::kDelete) == 0) {
      return ApplyPlanned(planned, context, backend);
    }
    to_confirm = std::move(planned);
    return Exit::kDone;
  });
  if (!first || !to_confirm) return first;
  WEIR_RETURN_IF_ERROR(ConfirmDeletes(*to_confirm, options, context));
  return ApplyConfirmed(*to_confirm, options, source, context);
}

}  // namespace weir::app
