// weir reservation load-limits: loads accounts' limits of one service from rate-limiter-py's file.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/commands/reservation_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/limits/account_limits_file.h"
#include "apps/weir/limits/account_limits_load.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

struct AccountLoadOptions {
  std::string file;
  std::string service;
  bool prune = false;
  bool plan = false;
};

Result<Exit> LoadAccountLimits(const AccountLoadOptions& options, Context& context,
                               const OpenedReservations& opened) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.file));
  WEIR_ASSIGN_OR_RETURN(const std::vector<AccountLimitRow> declared,
                        ParseAccountLimits(text, options.file, options.service));
  AccountLimitStore& store = opened.backend.limits();
  WEIR_ASSIGN_OR_RETURN(const LiveLimits live, ReadAccountLimits(store, options.service, declared,
                                                                 context.RequestDeadlines()));
  WEIR_ASSIGN_OR_RETURN(const LoadPlan plan,
                        MakeLoadPlan(declared, live, options.service, options.prune));
  if (!options.plan) WEIR_RETURN_IF_ERROR(ApplyLoadPlan(plan, store, context.RequestDeadlines()));
  for (const auto& [key, why] : live.unreadable) context.left_out().push_back(why);
  context.WriteResult(ToJson(plan), TextOf(plan));
  return live.unreadable.empty() ? Exit::kDone : Exit::kFailed;
}

struct LoadVerb {
  CLI::App& group;
  std::string name;
};

template <class Run>
CLI::App& AddLoadVerb(const LoadVerb& load, Action& chosen, Run run) {
  auto options = std::make_shared<AccountLoadOptions>();
  CLI::App& verb =
      AddVerb(load.group, load.name, "Change the accounts' limits of a service to match a file",
              options, chosen, std::move(run));
  verb.add_option("FILE", options->file,
                  "the limits file (JSON), in the format of rate-limiter-py's loader")
      ->required()
      ->option_text(" ");
  verb.add_option("--service", options->service, "the service that owns the limits")
      ->required()
      ->option_text("S");
  verb.add_flag("--prune", options->prune,
                "delete the rows of the service that the file does not contain");
  verb.add_flag("--plan", options->plan, "show the changes without making them");
  return verb;
}

using LoadAccounts = std::function<Result<Exit>(const AccountLoadOptions&, Context&)>;

LoadAccounts LoadWith(const WithReservations& with_reservations) {
  return [load = OnReservations(with_reservations, LoadAccountLimits)](
             const AccountLoadOptions& given, Context& context) {
    if (given.plan) context.reservation_access = Access::kRead;
    return load(given, context);
  };
}

}  // namespace

void AddLoadLimits(CLI::App& group, Action& chosen, const WithReservations& with_reservations) {
  AddLoadVerb({group, "load-limits"}, chosen, LoadWith(with_reservations));
}

void AddLimitsLoad(CLI::App& group, Action& chosen, const WithReservations& with_reservations) {
  const auto load = LoadWith(with_reservations);
  AddLoadVerb({group, "load"}, chosen, [load](const AccountLoadOptions& given, Context& context) {
    context.process().err << "weir: 'limits load' is deprecated: write 'reservation load-limits'\n";
    return load(given, context);
  }).group("");  // not listed in the help
}

}  // namespace weir::app
