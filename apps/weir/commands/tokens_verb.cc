// weir tokens take: takes some of the tokens that each account has in each window.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/reservation/token_limiter.h"
#include "weir/runtime/add_saturated.h"

namespace weir::app {
namespace {

struct TokenOptions {
  AccountKey key;
  std::uint64_t limit = 0;
  std::chrono::seconds window{0};
  std::uint64_t count = 1;
  nanoseconds wait{0};
};

Json ToJson(const TokenOutcome& outcome) {
  Json json = {
      {"taken", outcome.taken}, {"available", outcome.available}, {"blocked", outcome.blocked}};
  if (outcome.retry_after) json["retry_after_ms"] = outcome.retry_after->count();
  return json;
}

std::string TextOf(const TokenOutcome& outcome) {
  if (outcome.taken) return fmt::format("taken, {} left\n", outcome.available);
  if (outcome.blocked) return "refused: blocked\n";
  // Negative after the limit was lowered: the tokens that were taken before stay taken.
  const std::int64_t left = std::max<std::int64_t>(0, outcome.available);
  return fmt::format("refused, {} left, retry after {}\n", left,
                     FormatSeconds(outcome.retry_after.value_or(milliseconds(0))));
}

/// Retries when a refusal reports that tokens may be available, unless that is after the wait.
Result<TokenOutcome> TakeInTime(const TokenOptions& options, const Context& context,
                                const OpenedReservations& opened) {
  TokenLimiter limiter(opened.backend, opened.scheduler);
  const TokenRequest request{.resource = options.key.resource,
                             .account = options.key.account,
                             .default_limit = static_cast<std::int64_t>(options.limit),
                             .default_window = options.window,
                             .count = static_cast<std::int64_t>(options.count)};
  const Clock& clock = opened.scheduler.clock();
  const Deadline until = Deadline::After(clock, options.wait);
  for (;;) {
    WEIR_ASSIGN_OR_RETURN(const TokenOutcome outcome,
                          limiter.Take(request, context.StoreDeadline()));
    if (outcome.taken || !outcome.retry_after) return outcome;
    const Instant retry_at = AddSaturated(clock.Now(), *outcome.retry_after);
    if (retry_at > until.at()) return outcome;
    WEIR_RETURN_IF_ERROR(SleepUntil(opened.scheduler, retry_at));
  }
}

Result<Exit> TakeAccountTokens(const TokenOptions& options, Context& context,
                               const OpenedReservations& opened) {
  WEIR_ASSIGN_OR_RETURN(const TokenOutcome outcome, TakeInTime(options, context, opened));
  context.WriteResult(ToJson(outcome), TextOf(outcome));
  if (outcome.blocked && options.limit == 0) {
    context.Warn(
        fmt::format("no tokens for {}: give --tokens N --window DURATION, or load its limit",
                    Describe(options.key)));
  }
  return outcome.taken ? Exit::kDone : Exit::kRefused;
}

Result<std::chrono::seconds> ParseWindow(const std::string& text) {
  WEIR_ASSIGN_OR_RETURN(const nanoseconds window, ParseDuration(text));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(window);
  if (seconds == window && seconds.count() > 0) return seconds;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a valid window: whole seconds, from 1s up", text));
}

Result<std::uint64_t> ParseTokenCount(const std::string& text) {
  return ParseIntegerInRange(text, 1, kMaxAccountTokens);
}

}  // namespace

void AddTokens(CLI::App& app, Action& chosen, const WithReservations& with_reservations) {
  CLI::App& group = AddGroup(app, "tokens", "An account's tokens, a number in each window");
  auto options = std::make_shared<TokenOptions>();
  CLI::App& verb = AddVerb(group, "take", "Take tokens, all or none", options, chosen,
                           OnReservations(with_reservations, TakeAccountTokens));
  AddAccount(verb, options->key);
  CLI::Option* window =
      AddParsed(verb, "--window", options->window, ParseWindow,
                "length of a window, like 10s, if the limits table has no row for the account")
          ->option_text("DURATION");
  AddParsed(verb, "--tokens,--limit", options->limit, ParseTokenCount,
            "tokens in each window, if the limits table has no row for the account")
      ->option_text("N")
      ->needs(window);
  AddParsed(verb, "--count", options->count, ParseTokenCount,
            "number of tokens to take (default: 1)")
      ->option_text("N");
  AddParsed(verb, "--wait", options->wait, ParseDuration,
            "maximum time to wait for tokens, like 30s")
      ->option_text("DURATION");
}

}  // namespace weir::app
