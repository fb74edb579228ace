// weir usage list|summary: the usage of hours, days and months.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::uint64_t kMostSnapshots = 10'000;

struct UsageOptions {
  UsageFilter filter;
  std::string after;
  std::uint64_t limit = 100;
};

Json ToJson(const UsageSnapshot& snapshot) {
  Json json = {{"start", FormatTime(snapshot.start)}, {"window", Name(snapshot.window)},
               {"entity", snapshot.entity},           {"resource", snapshot.resource},
               {"events", snapshot.events},           {"used", Json::object()}};
  for (const auto& [limit, used] : snapshot.used) json["used"][limit] = used;
  if (!snapshot.overdrawn.empty()) json["overdrawn"] = Json::object();
  for (const auto& [limit, times] : snapshot.overdrawn) json["overdrawn"][limit] = times;
  return json;
}

std::string CountersOf(const UsageSnapshot& snapshot) {
  std::string text;
  for (const auto& [limit, used] : snapshot.used) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", limit, used);
  }
  return text.empty() ? "-" : text;
}

std::string TextOf(const Page<UsageSnapshot>& page) {
  if (page.items.empty()) return "no usage\n";
  Table table({"start", "window", "entity", "resource", ">events", "used"});
  for (const UsageSnapshot& snapshot : page.items) {
    table.Row({FormatTime(snapshot.start), std::string(Name(snapshot.window)), snapshot.entity,
               snapshot.resource, fmt::format("{}", snapshot.events), CountersOf(snapshot)});
  }
  std::string text = table.Text();
  if (!page.next.empty()) text += fmt::format("more: --after '{}'\n", page.next);
  return text;
}

Result<Page<UsageSnapshot>> ReadPage(const UsageFilter& filter, const PageRequest& request,
                                     Context& context, UsageStore& usage) {
  WEIR_ASSIGN_OR_RETURN(auto page, Await<Page<UsageSnapshot>>([&](auto done) {
                          usage.List(filter, request, context.StoreDeadline(), std::move(done));
                        }));
  std::ranges::copy(page.unreadable, std::back_inserter(context.left_out()));
  return page;
}

Result<Exit> ListUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  const PageRequest request{.cursor = options.after, .limit = options.limit};
  WEIR_ASSIGN_OR_RETURN(const auto page, ReadPage(options.filter, request, context, usage));
  Json json = {{"usage", Json::array()}};
  for (const UsageSnapshot& snapshot : page.items) json["usage"].push_back(ToJson(snapshot));
  if (!page.next.empty()) json["next"] = page.next;
  context.Answer(json, TextOf(page));
  return Exit::kDone;
}

Json ToJson(const UsageSummary& summary, UsageWindow window) {
  Json json = {{"window", Name(window)}, {"snapshots", summary.snapshots}};
  if (summary.first) json["first"] = FormatTime(*summary.first);
  if (summary.last) json["last"] = FormatTime(*summary.last);
  json["limits"] = Json::array();
  for (const auto& [name, limit] : summary.limits) {
    json["limits"].push_back(
        {{"name", name}, {"used", limit.used}, {"snapshots", limit.snapshots}});
  }
  return json;
}

std::string TextOf(const UsageSummary& summary, UsageWindow window) {
  if (summary.snapshots == 0) return "no usage\n";
  Table table({"limit", ">used", ">on average"});
  for (const auto& [name, limit] : summary.limits) {
    const double average = static_cast<double>(limit.used) / static_cast<double>(limit.snapshots);
    table.Row({name, fmt::format("{}", limit.used), fmt::format("{:.1f}", average)});
  }
  return fmt::format("{} snapshots, {}, that begin {} to {}\n{}", summary.snapshots, Name(window),
                     FormatTime(*summary.first), FormatTime(*summary.last), table.Text());
}

// Windows of different lengths overlap, so a summary is of one length.
Result<Exit> SummarizeUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  UsageFilter filter = options.filter;
  filter.window = filter.window.value_or(UsageWindow::kHourly);
  std::vector<UsageSnapshot> snapshots;
  PageRequest request;
  do {
    WEIR_ASSIGN_OR_RETURN(auto page, ReadPage(filter, request, context, usage));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(snapshots));
    request.cursor = std::move(page.next);
  } while (!request.cursor.empty());
  const UsageSummary summary = Summarize(snapshots);
  context.Answer(ToJson(summary, *filter.window), TextOf(summary, *filter.window));
  return Exit::kDone;
}

Result<UsageWindow> ParseUsageWindow(const std::string& text) {
  if (const auto window = UsageWindowNamed(text)) return *window;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{} is no window: right would be hourly, daily or monthly", Quoted(text)));
}

Result<std::uint64_t> ParseSnapshotCount(const std::string& text) {
  return ParseWhole(text, 1, kMostSnapshots);
}

using Run = Result<Exit> (*)(const UsageOptions&, Context&, UsageStore&);

// The parent of the verbs.
struct Verbs {
  CLI::App& group;
  Action& chosen;
  const WithTable& with_table;
};
struct UsageVerb {
  std::string name;
  std::string description;
  Run run;
};

void AddFilter(CLI::App& verb, UsageFilter& filter) {
  AddParsed(verb, "-e,--entity,--entity-id", filter.entity, Checked(CheckEntityId),
            "what an entity used")
      ->option_text("ENTITY");
  AddParsed(verb, "-r,--resource", filter.resource, Checked(CheckResource), "of a resource")
      ->option_text("RESOURCE");
  AddParsed(verb, "-w,--window", filter.window, ParseUsageWindow, "in windows of one length")
      ->option_text("hourly|daily|monthly");
  AddParsed(verb, "--start,--from", filter.from, ParseTime, "that begin then or later")
      ->option_text("TIME");
  AddParsed(verb, "--end,--to", filter.until, ParseTime, "that begin then or earlier")
      ->option_text("TIME");
}

CLI::App& AddUsageVerb(const Verbs& verbs, const UsageVerb& verb,
                       const std::shared_ptr<UsageOptions>& options) {
  CLI::App& app = AddVerb(verbs.group, verb.name, verb.description, options, verbs.chosen,
                          [run = verb.run, with_table = verbs.with_table](
                              const UsageOptions& given, Context& context) -> Result<Exit> {
                            if (const Status valid = Check(given.filter); !valid) {
                              context.failure = Exit::kUsage;
                              return Fail(valid.error());
                            }
                            return OnRecords(context, with_table, [&](const Records& records) {
                              return run(given, context, records.usage);
                            });
                          });
  AddFilter(app, options->filter);
  return app;
}

}  // namespace

void AddUsage(CLI::App& app, Action& chosen, const WithTable& with_table) {
  CLI::App& group = AddGroup(app, "usage", "The usage that was counted");
  const Verbs verbs{group, chosen, with_table};
  auto options = std::make_shared<UsageOptions>();
  CLI::App& list = AddUsageVerb(
      verbs, {"list", "List the usage in each window, the newest first", ListUsage}, options);
  AddParsed(list, "-n,--count,-l,--limit", options->limit, ParseSnapshotCount,
            "the maximum number of entries (default: 100)")
      ->option_text("N");
  list.add_option("--after", options->after, "go on where a list ended")->option_text("CURSOR");
  AddUsageVerb(
      verbs,
      {"summary", "Add up the usage of each limit (default: in hourly windows)", SummarizeUsage},
      std::make_shared<UsageOptions>());
}

}  // namespace weir::app
