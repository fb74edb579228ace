// weir audit list|retention: the changes and their authors, and how long they are kept.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/audit/archive_listing.h"
#include "apps/weir/audit/audit_view.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "weir/base/rng.h"
#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/model/ulid.h"
#include "weir/runtime/await.h"
#include "weir/store/config/config_audit.h"

namespace weir::app {
namespace {

constexpr std::uint64_t kMaxEvents = 10'000;

struct AuditOptions {
  std::optional<std::string> entity;
  std::optional<std::string> resource;
  bool system = false;
  std::string after;
  std::uint64_t limit = 100;
  ArchiveOptions archive;
};

std::string SubjectOf(const AuditOptions& options) {
  if (options.system) return std::string(kSystemSubject);
  return options.entity ? *options.entity : ResourceSubject(*options.resource);
}

Result<Exit> ListAuditEvents(const AuditOptions& options, Context& context, AuditLog& audit) {
  const PageRequest request{.cursor = options.after, .limit = options.limit};
  WEIR_ASSIGN_OR_RETURN(const auto page, Await<Page<AuditEvent>>([&](auto done) {
                          audit.List(SubjectOf(options), request, context.StoreDeadline(),
                                     std::move(done));
                        }));
  context.left_out() = page.unreadable;
  Json json = {{"subject", SubjectOf(options)}, {"events", Json::array()}};
  for (const AuditEvent& event : page.items) json["events"].push_back(app::ToJson(event));
  if (!page.next.empty()) json["next"] = page.next;
  context.WriteResult(json, app::TextOf(page));
  return Exit::kDone;
}

Result<Exit> ListEvents(const AuditOptions& options, Context& context,
                        const WithTable& with_table) {
  if (options.archive.url) {
    return ListArchive({.subject = SubjectOf(options),
                        .namespace_id = options.archive.namespace_id,
                        .after = options.after,
                        .start = options.archive.start,
                        .end = options.archive.end,
                        .most = options.limit},
                       *options.archive.url, context);
  }
  return OnRecords(context, with_table, Access::kRead, [&](const Records& records) {
    return ListAuditEvents(options, context, records.audit);
  });
}

void AddSubject(CLI::App& verb, AuditOptions& options) {
  CLI::App& subject = *verb.add_option_group("Subject");
  AddParsed(subject, "-e,--entity,--entity-id", options.entity, Checked(CheckEntityId),
            "list the changes to an entity")
      ->option_text("ENTITY");
  AddParsed(subject, "-r,--resource", options.resource, Checked(CheckResource),
            "list the changes to the limits of a resource")
      ->option_text("RESOURCE");
  subject.add_flag("--system", options.system, "list the changes to the system limits");
  subject.require_option(1);
}

Result<std::uint64_t> ParseEventCount(const std::string& text) {
  return ParseIntegerInRange(text, 1, kMaxEvents);
}

Status CheckEventId(const std::string& text) {
  if (TimeOfUlid(text)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{} is not the id of an audit event; leave the option out to begin with the "
                  "newest, or give the `next` of a page",
                  Quoted(text)));
}

using Days = std::optional<std::int64_t>;

Result<std::int64_t> RetentionOf(AuditLog& audit, const Context& context) {
  return Await<std::int64_t>(
      [&](auto done) { audit.GetRetention(context.StoreDeadline(), std::move(done)); });
}

Status SetRetention(std::int64_t days, Context& context, const Records& records) {
  WEIR_ASSIGN_OR_RETURN(const std::int64_t before, RetentionOf(records.audit, context));
  WEIR_ASSIGN_OR_RETURN(const auto principal, context.Principal());
  std::vector<AuditEvent> events{RetentionEvent(before, days)};
  AuditStamp(SystemSeed(), principal).Put(events, records.now);
  return Await<void>([&](auto done) {
    records.audit.SetRetention(days, events.front(), context.StoreDeadline(), std::move(done));
  });
}

Result<Exit> ShowRetention(const Days& days, Context& context, const Records& records) {
  if (days) WEIR_RETURN_IF_ERROR(SetRetention(*days, context, records));
  WEIR_ASSIGN_OR_RETURN(const std::int64_t now, RetentionOf(records.audit, context));
  context.WriteResult({{"audit_retention_days", now}},
                      fmt::format("audit events are kept for {} days\n", now));
  return Exit::kDone;
}

Result<Days> ParseDays(const std::string& text) {
  return ParseIntegerInRange(text, 1, kMaxAuditRetentionDays).map([](std::uint64_t days) {
    return Days(static_cast<std::int64_t>(days));
  });
}

void AddRetention(CLI::App& group, Action& chosen, const WithTable& with_table) {
  auto days = std::make_shared<Days>();
  CLI::App& verb =
      AddVerb(group, "retention", "Show or set how long the events of new changes are kept", days,
              chosen, [with_table](const Days& given, Context& context) {
                const Access access = given ? Access::kWrite : Access::kRead;
                return OnRecords(context, with_table, access, [&](const Records& records) {
                  return ShowRetention(given, context, records);
                });
              });
  AddParsed(verb, "DAYS", *days, ParseDays,
            "number of days that events are kept (default: show the present number)")
      ->option_text(" ");
}

}  // namespace

void AddAudit(CLI::App& app, Action& chosen, const WithTable& with_table) {
  CLI::App& group =
      AddGroup(app, "audit", "Changes to limits, entities and buckets, with their authors");
  auto options = std::make_shared<AuditOptions>();
  CLI::App& verb = AddVerb(group, "list", "List the changes, the newest first", options, chosen,
                           [with_table](const AuditOptions& given, Context& context) {
                             return ListEvents(given, context, with_table);
                           });
  AddSubject(verb, *options);
  AddParsed(verb, "-n,--count,-l,--limit", options->limit, ParseEventCount,
            "maximum number of events to list (default: 100)")
      ->option_text("N");
  AddParsed(verb, "--after,--start-event-id", options->after, CheckedUnlessEmpty(CheckEventId),
            "only list events older than EVENT")
      ->option_text("EVENT");
  AddArchiveOptions(verb, options->archive);
  AddRetention(group, chosen, with_table);
}

}  // namespace weir::app
