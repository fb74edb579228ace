#include "apps/weir/audit/archive_listing.h"

#include <memory>

#include "apps/weir/arguments.h"
#include "apps/weir/audit/audit_view.h"
#include "apps/weir/options.h"
#include "weir/aws/s3/s3_connection.h"
#include "weir/model/namespace_name.h"

namespace weir::app {
namespace {

Json JsonOf(const ArchiveQuery& query, const ArchivePage& page) {
  Json json = {{"subject", query.subject}, {"events", Json::array()}};
  for (const ArchivedEvent& read : page.events) {
    Json event = app::ToJson(read.event);
    if (!read.namespace_id.empty()) event["namespace_id"] = read.namespace_id;
    json["events"].push_back(std::move(event));
  }
  if (!page.next.empty()) json["next"] = page.next;
  return json;
}

Page<AuditEvent> EventsOf(ArchivePage page) {
  Page<AuditEvent> events{.items = {}, .next = std::move(page.next)};
  for (ArchivedEvent& read : page.events) events.items.push_back(std::move(read.event));
  return events;
}

}  // namespace

void AddArchiveOptions(CLI::App& verb, ArchiveOptions& options) {
  CLI::Option* archive =
      AddParsed(verb, "--archive", options.url, ParseArchiveUrl,
                "list expired events from the S3 bucket in which the aggregator archives events")
          ->option_text("s3://BUCKET/PREFIX");
  AddParsed(verb, "--namespace-id", options.namespace_id, Checked(CheckNamespaceId),
            "with --archive: only list events of the namespace ID (default: of all namespaces)")
      ->option_text("ID")
      ->needs(archive);
  AddParsed(verb, "--start,--from", options.start, ParseTime,
            "with --archive: only list events at or after TIME")
      ->option_text("TIME")
      ->needs(archive);
  AddParsed(verb, "--end,--to", options.end, ParseTime,
            "with --archive: only list events before TIME")
      ->option_text("TIME")
      ->needs(archive);
}

Result<Exit> ListArchive(const ArchiveQuery& query, const ArchiveUrl& url, Context& context) {
  const ProcessContext& process = context.process();
  const S3Options options{.bucket = url.bucket,
                          .region = url.region,
                          .endpoint_url = url.endpoint,
                          .log = &context.log()};
  const auto opened = S3Connection::Open(options, process.clock, HostEnvironmentOf(process));
  if (!opened) {
    if (opened.error().code == Code::kInvalidArgument) context.failure = Exit::kUsage;
    return Fail(opened.error());
  }
  WEIR_ASSIGN_OR_RETURN(ArchivePage page, ReadArchive({.bucket = (*opened)->bucket(),
                                                       .prefix = url.prefix,
                                                       .each_request = context.RequestDeadlines()},
                                                      query));
  context.left_out() = page.unreadable;
  const Json json = JsonOf(query, page);
  context.WriteResult(json, app::TextOf(EventsOf(std::move(page))));
  return Exit::kDone;
}

}  // namespace weir::app
