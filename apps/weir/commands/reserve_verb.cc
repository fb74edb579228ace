// weir reserve: reserves a slot, and runs a command while it is held.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/reserve/run_with_slot.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/base/rng.h"
#include "weir/reservation/reservation_limiter.h"
#include "weir/runtime/backoff.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::app {
namespace {

struct ReserveOptions {
  AccountKey key;
  std::optional<std::uint64_t> limit;
  std::optional<nanoseconds> wait;
  std::optional<nanoseconds> ttl;
  std::string bind;
  std::vector<std::string> command;
};

milliseconds TtlOf(const ReserveOptions& options) {
  const ReservationOptions defaults;
  if (options.ttl) return std::chrono::ceil<milliseconds>(*options.ttl);
  return options.bind.empty() ? defaults.reservation_ttl : defaults.token_ttl;
}

Json ToJson(const SlotRefusal& refusal) {
  Json json = {{"reserved", false},
               {"limit", refusal.limit},
               {"in_use", refusal.in_use},
               {"blocked", refusal.blocked}};
  if (refusal.retry_after) json["retry_after_ms"] = refusal.retry_after->count();
  return json;
}

std::string TextOf(const SlotRefusal& refusal) {
  if (refusal.blocked) return fmt::format("refused: blocked, the limit is {}", refusal.limit);
  return fmt::format("refused: {} of {} in use", refusal.in_use, refusal.limit);
}

Json ToJson(const Reservation& reservation) {
  return {{"reserved", true},
          {"id", reservation.id()},
          {"resource_id", reservation.resource_id()},
          {"expires", FormatTime(reservation.expires())}};
}

Result<Exit> RespondRefusal(const ReserveOptions& options, Context& context,
                            const SlotRefusal& refusal) {
  // The account is blocked by a row, or because there is no limit at all.
  const char* const hint =
      refusal.blocked && !options.limit ? "; --slots N sets a limit if none is loaded" : "";
  // stdout belongs to the command.
  if (options.command.empty() || context.common().json) {
    context.WriteResult(ToJson(refusal), TextOf(refusal) + hint);
  } else {
    context.Warn(fmt::format("{}: {}{}", Describe(options.key), TextOf(refusal), hint));
  }
  return Exit::kRefused;
}

/// The context and store of a command.
struct CommandContext {
  Context& context;
  const OpenedReservations& opened;

  UnixMillis Now() const { return opened.backend.Now(context.process().clock); }
};

bool MaySucceedLater(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
         error.code == Code::kResourceExhausted || error.code == Code::kAborted;
}

void ReportEndOfSlot(const CommandOutcome& run, const Reservation& reservation, Context& context) {
  if (!run.lost.empty()) {
    context.Warn(fmt::format("the slot has expired ({}): the command got SIGTERM", run.lost));
  }
  if (!run.released) return;
  const std::string& slot = reservation.id();
  const LogField fields[] = {{"slot", std::string_view(slot)}};
  context.log().Write(LogLevel::kInfo, "reservation.released_by_others", fields);
}

/// Releases the slot unless it is bound. Retries with pauses of up to a second; starts no retry
/// after the deadline.
Status ReleaseSlot(Reservation reservation, Deadline deadline, const CommandContext& command) {
  if (reservation.bound() || !reservation.active()) {
    std::move(reservation).Keep();
    return {};
  }
  const Clock& clock = command.opened.scheduler.clock();
  Backoff backoff(std::chrono::milliseconds(100), std::chrono::seconds(1));
  Rng jitter(SystemSeed());
  for (;;) {
    Status ended = reservation.ReleaseUnlessBound();
    if (ended || !MaySucceedLater(ended.error())) return ended;
    const Instant next = clock.Now() + backoff.Next(jitter);
    if (next >= deadline.at()) return ended;
    WEIR_RETURN_IF_ERROR(SleepUntil(command.opened.scheduler, next));
  }
}

Result<Exit> RunWith(Reservation reservation, const ReserveOptions& options,
                     const CommandContext& command) {
  Context& context = command.context;
  const Variables variables{{"WEIR_RESERVATION_ID", reservation.id()},
                            {"WEIR_RESOURCE", options.key.resource},
                            {"WEIR_ACCOUNT", options.key.account}};
  auto child = context.process().start_child(options.command, variables);
  if (!child) {
    [[maybe_unused]] const Status back = reservation.ReleaseUnlessBound();
    const bool missing = child.error().code == Code::kNotFound;
    context.failure = static_cast<Exit>(missing ? 127 : 126);
    return Fail(std::move(child.error()));
  }
  const CommandOutcome run = RunWithSlot(
      {.child = **child, .reservation = reservation, .ttl = TtlOf(options), .now = [&command] {
         return command.Now();
       }});
  ReportEndOfSlot(run, reservation, context);
  const Instant now = command.opened.scheduler.clock().Now();
  // A slot that has expired is free even without a release.
  const Deadline deadline = run.lost.empty() ? context.StoreDeadline() : Deadline::At(now);
  const Status ended = ReleaseSlot(std::move(reservation), deadline, command);
  if (!ended && context.warning().empty()) {
    context.Warn(fmt::format("the slot is held until it expires: {}", ended.error().message));
  }
  const bool hides_loss = !run.lost.empty() && run.code == 0;
  return hides_loss ? Exit::kFailed : static_cast<Exit>(run.code);
}

/// Without a command the slot is held until it expires.
Result<Exit> HandOver(Reservation reservation, Context& context) {
  context.WriteResult(ToJson(reservation), reservation.id());
  std::move(reservation).Keep();
  return Exit::kDone;
}

Result<Exit> ReserveFrom(ReservationLimiter& limiter, const ReserveOptions& options,
                         const CommandContext& command) {
  Context& context = command.context;
  ReserveRequest request{.resource = options.key.resource, .account = options.key.account};
  request.default_limit = static_cast<std::int64_t>(options.limit.value_or(0));
  const nanoseconds wait = options.wait.value_or(nanoseconds(0));
  request.wait = options.wait.has_value();
  request.wait_until = Deadline::After(context.process().clock, wait);
  WEIR_ASSIGN_OR_RETURN(ReserveOutcome outcome,
                        limiter.Reserve(request, context.StoreDeadline(wait)));
  if (!outcome.reserved()) return RespondRefusal(options, context, outcome.refusal());
  Reservation reservation = std::move(outcome).reservation();
  if (!options.bind.empty()) {
    WEIR_RETURN_IF_ERROR(reservation.Bind(options.bind, TtlOf(options)));
  }
  if (options.command.empty()) return HandOver(std::move(reservation), context);
  return RunWith(std::move(reservation), options, command);
}

Result<Exit> ReserveSlot(const ReserveOptions& options, Context& context,
                         const OpenedReservations& opened) {
  ReservationOptions how;
  how.reservation_ttl = options.bind.empty() ? TtlOf(options) : how.reservation_ttl;
  ReservationLimiter limiter(opened.backend, opened.scheduler, how);
  Result<Exit> done = ReserveFrom(limiter, options, {context, opened});
  limiter.Drain();  // the backend is closed next
  return done;
}

Result<std::uint64_t> ParseLimit(const std::string& text) {
  return ParseIntegerInRange(text, 0, kMaxAccountTokens);
}

// A slot with a shorter life would expire in a pause of the machine, or between two renewals.
Result<nanoseconds> ParseSlotLife(const std::string& text) {
  constexpr std::chrono::seconds kShortest{1};
  WEIR_ASSIGN_OR_RETURN(const nanoseconds life, ParsePositiveDuration(text));
  if (life >= kShortest) return life;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is too short for a slot: write 1s or more", text));
}

}  // namespace

void AddReserve(CLI::App& app, Action& chosen, const WithReservations& with_reservations) {
  auto options = std::make_shared<ReserveOptions>();
  CLI::App& verb = AddVerb(app, "reserve", "Hold one of an account's slots while a command runs",
                           options, chosen, OnReservations(with_reservations, ReserveSlot));
  AddAccount(verb, options->key);
  AddParsed(verb, "--slots,--limit", options->limit, ParseLimit,
            "maximum number of slots at once, if the limits table has no row for the account")
      ->option_text("N");
  AddParsed(verb, "--wait", options->wait, ParseDuration,
            "maximum time to wait for a slot, like 30s")
      ->option_text("DURATION");
  AddParsed(verb, "--ttl", options->ttl, ParseSlotLife,
            "how long the slot is held without a renewal, from 1s (default: 300s; with --bind: 8h)")
      ->option_text("DURATION");
  AddParsed(verb, "--bind", options->bind, CheckedUnlessEmpty(CheckResourceId),
            "bind the slot to the resource ID, and keep the slot when the command has ended")
      ->option_text("ID");
  const auto read_command = [options](const std::vector<std::string>& words) {
    options->command = words;
  };
  AddWords(verb, kCommandArgument, read_command,
           "after --: the command, which gets WEIR_RESERVATION_ID, WEIR_RESOURCE and WEIR_ACCOUNT; "
           "without COMMAND the ID of the slot is printed, and the slot is held for --ttl")
      ->option_text("...");
  verb.footer(
      "Exit codes: those of COMMAND, 128 + N if signal N ended it, 126 and 127 if it cannot "
      "be run; 3 refused.");
}

}  // namespace weir::app
