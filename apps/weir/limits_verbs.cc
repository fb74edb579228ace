// weir limits check|plan|apply|diff|export: the limits of a store, declared in one file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/weir/files.h"
#include "apps/weir/json.h"
#include "apps/weir/limits_plan.h"
#include "apps/weir/options.h"
#include "apps/weir/reservation_verbs.h"
#include "weir/model/identifier.h"

namespace weir::app {
namespace {

struct LimitsOptions {
  std::string file;
  std::string namespace_name = "default";
};

Result<LimitsFile> ReadLimitsFile(const LimitsOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.file));
  return ParseLimitsFile(text, options.file);
}

Result<Exit> Check(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsFile file, ReadLimitsFile(options));
  context.Answer(
      app::ToJson(file),
      fmt::format("{} is valid: namespace {}, system {}, resources {}, "
                  "entities {}\n",
                  options.file, file.namespace_name, file.system.empty() ? "not set" : "set",
                  file.resources.size(), file.entities.size()));
  return Exit::kDone;
}

Result<Plan> PlanOf(const LimitsFile& file, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const Declared live, ReadDeclared(backend.config(), context.StoreDeadline(),
                                                          &context.left_out()));
  return MakePlan(file, live, context.world().clock.WallNow());
}

Result<Exit> ShowPlan(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsFile file, ReadLimitsFile(options));
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const Plan plan, PlanOf(file, context, backend));
    context.Answer(app::ToJson(plan), TextOf(plan));
    return Exit::kDone;
  });
}

Result<Exit> Apply(const LimitsOptions& options, Context& context) {
  WEIR_ASSIGN_OR_RETURN(const LimitsFile file, ReadLimitsFile(options));
  return context.WithBackend(Access::kWrite, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(const Plan plan, PlanOf(file, context, backend));
    const Deadline deadline = context.ApplyDeadline(plan.ToApply().size());
    WEIR_RETURN_IF_ERROR(ApplyPlan(plan, backend.config(), deadline));
    context.Answer(app::ToJson(plan), "applied\n" + TextOf(plan));
    return Exit::kDone;
  });
}

Result<Exit> Diff(const LimitsOptions& options, Context& context) {
  // As diff(1): 0 the same, 1 different, 2 trouble.
  context.failure = Exit::kUsage;
  WEIR_ASSIGN_OR_RETURN(const LimitsFile file, ReadLimitsFile(options));
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(
        const Declared live,
        ReadDeclared(backend.config(), context.StoreDeadline(), &context.left_out()));
    const std::vector<Difference> differences = Differences(file, live);
    context.Answer(app::ToJson(differences), TextOf(differences));
    return differences.empty() ? Exit::kDone : Exit::kFailed;
  });
}

Result<Exit> Export(const LimitsOptions& options, Context& context) {
  return context.WithBackend(Access::kRead, [&](Backend& backend) -> Result<Exit> {
    WEIR_ASSIGN_OR_RETURN(
        const Declared live,
        ReadDeclared(backend.config(), context.StoreDeadline(), &context.left_out()));
    const LimitsFile file = FileOf(live, options.namespace_name);
    const std::string yaml = FormatLimitsFile(file);
    if (!options.file.empty()) {
      WEIR_RETURN_IF_ERROR(WriteFile(options.file, yaml));
    }
    context.Answer(app::ToJson(file), options.file.empty() ? yaml : "wrote " + options.file);
    return Exit::kDone;
  });
}

using LimitsWork = Result<Exit> (*)(const LimitsOptions&, Context&);

void AddOnFile(CLI::App& group, const std::string& name, const std::string& description,
               LimitsWork work, Action& chosen) {
  auto options = std::make_shared<LimitsOptions>();
  CLI::App& verb = AddVerb(group, name, description, options, chosen, work);
  verb.add_option("-f,--file", options->file, "the limits file (YAML)")
      ->required(name != "export")
      ->option_text("FILE");
  if (name != "export") return;
  AddParsed(verb, "--namespace", options->namespace_name, Checked(CheckNamespace),
            "the namespace to name in the file (default: default)")
      ->option_text("NAME");
}

}  // namespace

void AddLimits(CLI::App& app, Action& chosen, const WithReservations& with_reservations) {
  CLI::App& group = AddGroup(app, "limits", "All limits of a store, declared in one file");
  AddOnFile(group, "check", "Read the file, and nothing else", Check, chosen);
  AddOnFile(group, "plan", "Show what apply would do", ShowPlan, chosen);
  AddOnFile(group, "apply", "Make the store say what the file says, all or nothing", Apply, chosen);
  AddOnFile(group, "diff", "Compare field by field: exit 0 the same, 1 different, 2 trouble", Diff,
            chosen);
  AddOnFile(group, "export", "Write what is set as a limits file, to --file or stdout", Export,
            chosen);
  AddLimitsLoad(group, chosen, with_reservations);
}

}  // namespace weir::app
