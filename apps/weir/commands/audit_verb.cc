// weir audit list: lists changes and their authors.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::uint64_t kMostEvents = 10'000;

struct AuditOptions {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
  bool system = false;
  std::string after;
  std::uint64_t limit = 100;
};

std::string SubjectOf(const AuditOptions& options) {
  if (options.system) return std::string(kSystemSubject);
  return options.entity ? *options.entity : ResourceSubject(*options.resource);
}

Json ToJson(const AuditDetail::Parts& parts);

struct DetailToJson {
  Json operator()(std::monostate) const { return {}; }
  Json operator()(bool flag) const { return flag; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const AuditDetail::List& list) const {
    Json json = Json::array();
    for (const AuditDetail& detail : list) json.push_back(std::visit(*this, detail.value));
    return json;
  }
  Json operator()(const AuditDetail::Parts& parts) const { return ToJson(parts); }
};

Json ToJson(const AuditDetail::Parts& parts) {
  Json json = Json::object();
  for (const auto& [name, part] : parts) json[name] = std::visit(DetailToJson{}, part.value);
  return json;
}

Json ToJson(const AuditEvent& event) {
  return {{"id", event.id},
          {"at", FormatTime(event.at)},
          {"subject", event.subject},
          {"action", event.action},
          {"principal", event.principal ? Json(*event.principal) : Json()},
          {"resource", event.resource ? Json(*event.resource) : Json()},
          {"details", ToJson(event.details)}};
}

std::string TextOf(const Page<AuditEvent>& page) {
  if (page.items.empty()) return "no events\n";
  Table table({"time", "action", "by", "resource", "details"});
  for (const AuditEvent& event : page.items) {
    table.Row({FormatTime(event.at), event.action, event.principal.value_or("-"),
               event.resource.value_or("-"),
               ToJson(event.details).dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  std::string text = table.Text();
  if (!page.next.empty()) text += fmt::format("older ones: --after {}\n", page.next);
  return text;
}

Result<Exit> ListAuditEvents(const AuditOptions& options, Context& context, AuditLog& audit) {
  const PageRequest request{.cursor = options.after, .limit = options.limit};
  WEIR_ASSIGN_OR_RETURN(const auto page, Await<Page<AuditEvent>>([&](auto done) {
                          audit.List(SubjectOf(options), request, context.StoreDeadline(),
                                     std::move(done));
                        }));
  context.left_out() = page.unreadable;
  Json json = {{"subject", SubjectOf(options)}, {"events", Json::array()}};
  for (const AuditEvent& event : page.items) json["events"].push_back(ToJson(event));
  if (!page.next.empty()) json["next"] = page.next;
  context.Answer(json, TextOf(page));
  return Exit::kDone;
}

void AddWhose(CLI::App& verb, AuditOptions& options) {
  CLI::App& whose = *verb.add_option_group("Whose");
  AddParsed(whose, "-e,--entity,--entity-id", options.entity, Checked(CheckEntityId),
            "what was done to an entity")
      ->option_text("ENTITY");
  AddParsed(whose, "-r,--resource", options.resource, Checked(CheckResource),
            "to the limits of a resource")
      ->option_text("RESOURCE");
  whose.add_flag("--system", options.system, "to the system limits");
  whose.require_option(1);
}

Result<std::uint64_t> ParseEventCount(const std::string& text) {
  return ParseWhole(text, 1, kMostEvents);
}

}  // namespace

void AddAudit(CLI::App& app, Action& chosen, const WithTable& with_table) {
  CLI::App& group = AddGroup(app, "audit", "The changes: authors and times");
  auto options = std::make_shared<AuditOptions>();
  CLI::App& verb = AddVerb(group, "list", "List the changes, the newest first", options, chosen,
                           [with_table](const AuditOptions& given, Context& context) {
                             return OnRecords(context, with_table, [&](const Records& records) {
                               return ListAuditEvents(given, context, records.audit);
                             });
                           });
  AddWhose(verb, *options);
  AddParsed(verb, "-n,--count,-l,--limit", options->limit, ParseEventCount,
            "the maximum number of entries (default: 100)")
      ->option_text("N");
  verb.add_option("--after,--start-event-id", options->after,
                  "those that are older than this event")
      ->option_text("EVENT");
}

}  // namespace weir::app
