// weir try: makes one decision.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/weir/arguments.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/limiter/limiter.h"
#include "weir/model/identifier.h"
#include "weir/runtime/add_saturated.h"

namespace weir::app {
namespace {

struct TryOptions {
  std::string entity;
  std::string resource;
  Amounts amounts;
  std::optional<nanoseconds> wait;
  std::optional<std::vector<Limit>> limits;
};

std::string TextOf(const Decision& decision) {
  Table table({"entity", "limit", ">capacity", ">available", ">requested", ">retry after"});
  for (const LimitStatus& status : decision.limits) {
    table.Row({status.entity, status.limit, FormatTokens(status.capacity),
               FormatTokens(status.available), FormatTokens(status.requested),
               status.exceeded ? FormatWait(status.retry_after) : ""});
  }
  if (decision.admitted) return "admitted\n" + table.Text();
  return fmt::format("refused, retry after {}\n{}", FormatWait(decision.retry_after), table.Text());
}

/// The output if the store is unavailable and the policy is to allow.
constexpr char kUnprotected[] = "admitted without a charge: the store was unavailable\n";

/// One try. It waits within the limiter until `wait_until`, if given. After a refusal, `retry_at`
/// is the time at which the next try may succeed.
struct Attempt {
  std::optional<Deadline> wait_until;
  std::optional<Instant> retry_at{};
};

Result<Exit> AcquireOnce(const TryOptions& options, Context& context, Backend& backend,
                         Attempt& attempt) {
  const ProcessContext& process = context.process();
  Limiter limiter(backend, process.scheduler, {.log = &context.log()});
  AcquireRequest request{.entity = options.entity,
                         .resource = options.resource,
                         .amounts = options.amounts,
                         .limits = options.limits};
  request.wait = attempt.wait_until.has_value();
  request.wait_until = attempt.wait_until.value_or(Deadline::Never());
  const Deadline deadline = context.StoreDeadline(options.wait.value_or(nanoseconds(0)));
  WEIR_ASSIGN_OR_RETURN(Outcome outcome, limiter.Acquire(request, deadline));
  const Decision& decision = outcome.decision();
  context.WriteResult(app::ToJson(decision),
                      outcome.unprotected() ? kUnprotected : TextOf(decision));
  if (!outcome.admitted()) {
    attempt.retry_at = AddSaturated(process.clock.Now(), decision.retry_after);
    return Exit::kRefused;
  }
  if (outcome.unprotected()) return Exit::kDone;
  WEIR_RETURN_IF_ERROR(std::move(outcome).lease().Commit());
  return Exit::kDone;
}

Result<Exit> TryOnce(const TryOptions& options, Context& context, Attempt& attempt) {
  context.is_audited = false;
  return context.WithBackend(Access::kWrite, [&](Backend& backend) {
    return AcquireOnce(options, context, backend, attempt);
  });
}

/// Tries until the wait is over, without owning the file between two tries: other processes may
/// need it.
Result<Exit> TryOnFile(const TryOptions& options, Context& context) {
  const ProcessContext& process = context.process();
  const Deadline until = Deadline::After(process.clock, *options.wait);
  for (;;) {
    Attempt attempt;
    Result<Exit> tried = TryOnce(options, context, attempt);
    if (!tried || !attempt.retry_at || *attempt.retry_at > until.at()) return tried;
    WEIR_RETURN_IF_ERROR(SleepUntil(process.scheduler, *attempt.retry_at));
  }
}

Result<Exit> RunTry(const TryOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  if (options.wait && FileOfUrl(choice.url)) return TryOnFile(options, context);
  Attempt attempt;
  if (options.wait) attempt.wait_until = Deadline::After(context.process().clock, *options.wait);
  return TryOnce(options, context, attempt);
}

}  // namespace

void AddTry(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<TryOptions>();
  CLI::App& verb =
      AddVerb(app, "try", "Request one decision, and take the tokens if it is admitted", options,
              chosen, RunTry);
  AddParsed(verb, "ENTITY", options->entity, Checked(CheckEntityId), "the requesting entity")
      ->required()
      ->option_text(" ");
  AddParsed(verb, "RESOURCE", options->resource, Checked(CheckResource), "the requested resource")
      ->required()
      ->option_text(" ");
  AddParsedList(
      verb, "AMOUNT", options->amounts,
      [](const auto& texts) { return ParseAmounts(texts, ParseAmount); },
      "the tokens to take of each limit, like rpm=1 tpm=500")
      ->required()
      ->option_text("...");
  AddParsed(verb, "--wait", options->wait, ParseDuration,
            "maximum time to wait for tokens, like 2s")
      ->option_text("DURATION");
  AddParsed(verb, "--limits", options->limits, ParseLimits,
            "use these limits instead of the configured limits, like rpm:100,tpm:10000/min")
      ->option_text("SPEC");
}

}  // namespace weir::app
