// weir usage list|summary|top: the usage of hours, days and months.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "apps/weir/arguments.h"
#include "apps/weir/commands/table_verbs.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/text.h"
#include "apps/weir/usage/usage_plot.h"
#include "apps/weir/usage/usage_top.h"
#include "apps/weir/usage/usage_view.h"
#include "weir/model/identifier.h"
#include "weir/model/quoted.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::uint64_t kMaxSnapshots = 10'000;

struct UsageOptions {
  UsageFilter filter;
  std::string after;
  std::uint64_t count = 100;
  bool plot = false;
  std::string limit;             // of `top`
  std::optional<UnixMillis> at;  // a time in the window of `top`
};

using OnSnapshot = std::function<Status(const UsageSnapshot&)>;

Result<Page<UsageSnapshot>> ReadPage(const UsageFilter& filter, const PageRequest& request,
                                     Context& context, UsageStore& usage) {
  WEIR_ASSIGN_OR_RETURN(auto page, Await<Page<UsageSnapshot>>([&](auto done) {
                          usage.List(filter, request, context.StoreDeadline(), std::move(done));
                        }));
  std::ranges::copy(page.unreadable, std::back_inserter(context.left_out()));
  return page;
}

// The parts of a mixed snapshot are not known: it is counted as a whole.
void NoteMixed(std::uint64_t mixed, Context& context) {
  if (mixed == 0) return;
  context.left_out().push_back(
      fmt::format("the parts of {} mixed snapshots: zae-limiter's aggregator added the day to the "
                  "hour at 00:00, so that sums with them are too high",
                  mixed));
}

// Passes all snapshots that match to `take`, page by page.
Status ReadAll(const UsageFilter& filter, Context& context, UsageStore& usage,
               const OnSnapshot& take) {
  PageRequest request;
  std::uint64_t mixed = 0;
  do {
    WEIR_ASSIGN_OR_RETURN(auto page, ReadPage(filter, request, context, usage));
    for (const UsageSnapshot& snapshot : page.items) {
      mixed += snapshot.mixed ? 1 : 0;
      WEIR_RETURN_IF_ERROR(take(snapshot));
    }
    request.cursor = std::move(page.next);
  } while (!request.cursor.empty());
  NoteMixed(mixed, context);
  return {};
}

// Notes the spans of time in which usage may be incomplete.
Status NoteUncounted(const UsageFilter& filter, Context& context, UsageStore& usage) {
  constexpr std::size_t kMaxSpans = 10;
  const UnixMillis from = filter.from.value_or(UnixMillis{});
  const UnixMillis until = filter.until.value_or(context.process().clock.WallNow());
  WEIR_ASSIGN_OR_RETURN(const auto times, Await<UncountedTimes>([&](auto done) {
                          usage.ListUncounted(from, until, context.StoreDeadline(),
                                              std::move(done));
                        }));
  const std::vector<UncountedTime>& spans = times.spans;
  for (const UncountedTime& span : std::span(spans).first(std::min(spans.size(), kMaxSpans))) {
    context.left_out().push_back(
        fmt::format("usage from {} until {} may be incomplete: changes were not counted",
                    FormatTime(span.from), FormatTime(span.until)));
  }
  if (spans.size() > kMaxSpans) {
    context.left_out().push_back(fmt::format("usage of {}{} more spans of time may be incomplete",
                                             times.has_more ? "more than " : "",
                                             spans.size() - kMaxSpans));
  }
  return {};
}

// Windows of different lengths overlap, so sums are of one length.
UsageFilter OfOneWindow(UsageFilter filter) {
  filter.window = filter.window.value_or(UsageWindow::kHourly);
  return filter;
}

Result<Exit> PlotUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  const UsageFilter filter = OfOneWindow(options.filter);
  UsagePlot plot(*filter.window);
  WEIR_RETURN_IF_ERROR(ReadAll(filter, context, usage,
                               [&](const UsageSnapshot& snapshot) { return plot.Add(snapshot); }));
  context.WriteResult(plot.ToJson(), plot.Text());
  return Exit::kDone;
}

Result<Exit> ListUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  if (options.plot) return PlotUsage(options, context, usage);
  const PageRequest request{.cursor = options.after, .limit = options.count};
  const auto page = ReadPage(options.filter, request, context, usage);
  if (!page && page.error().code == Code::kInvalidArgument && !options.after.empty()) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                fmt::format("--after: {} is not a cursor of this listing; leave the option out to "
                            "begin with the newest, or give the `next` of a page",
                            Quoted(options.after)));
  }
  if (!page) return Fail(page.error());
  context.WriteResult(app::ToJson(*page), app::TextOf(*page));
  return Exit::kDone;
}

Result<Exit> SummarizeUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  const UsageFilter filter = OfOneWindow(options.filter);
  UsageTotals totals{.window = *filter.window, .all = {}, .by_resource = {}};
  WEIR_RETURN_IF_ERROR(
      ReadAll(filter, context, usage, [&](const UsageSnapshot& snapshot) -> Status {
        Add(totals.all, snapshot);
        if (!filter.resource) Add(totals.by_resource[snapshot.resource], snapshot);
        return {};
      }));
  context.WriteResult(app::ToJson(totals), app::TextOf(totals));
  return Exit::kDone;
}

Result<Exit> RankUsage(const UsageOptions& options, Context& context, UsageStore& usage) {
  UsageFilter filter = OfOneWindow(options.filter);
  const UnixMillis at = options.at.value_or(context.process().clock.WallNow());
  const UsageTop::Window window{*filter.window, StartOf(*filter.window, at)};
  filter.from = filter.until = window.start;
  UsageTop top(options.limit, options.count);
  WEIR_RETURN_IF_ERROR(
      ReadAll(filter, context, usage, [&](const UsageSnapshot& snapshot) -> Status {
        top.Add(snapshot);
        return {};
      }));
  context.WriteResult(top.ToJson(window), top.Text(window));
  return Exit::kDone;
}

Result<UsageWindow> ParseUsageWindow(const std::string& text) {
  if (const auto window = UsageWindowNamed(text)) return *window;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{} is not a valid window: expected hourly, daily or monthly", Quoted(text)));
}

Result<std::uint64_t> ParseSnapshotCount(const std::string& text) {
  return ParseIntegerInRange(text, 1, kMaxSnapshots);
}

using Run = Result<Exit> (*)(const UsageOptions&, Context&, UsageStore&);

// The parent of the verbs.
struct UsageVerbs {
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
            "the usage of an entity")
      ->option_text("ENTITY");
  AddParsed(verb, "-r,--resource", filter.resource, Checked(CheckResource),
            "the usage of a resource")
      ->option_text("RESOURCE");
  AddParsed(verb, "-w,--window", filter.window, ParseUsageWindow, "only windows of this length")
      ->option_text("hourly|daily|monthly");
}

void AddTimes(CLI::App& verb, UsageFilter& filter) {
  AddParsed(verb, "--start,--from", filter.from, ParseTime,
            "only windows that begin at or after TIME")
      ->option_text("TIME");
  AddParsed(verb, "--end,--to", filter.until, ParseTime,
            "only windows that begin at or before TIME")
      ->option_text("TIME");
}

CLI::App& AddUsageVerb(const UsageVerbs& verbs, const UsageVerb& verb,
                       const std::shared_ptr<UsageOptions>& options) {
  CLI::App& app = AddVerb(
      verbs.group, verb.name, verb.description, options, verbs.chosen,
      [run = verb.run, with_table = verbs.with_table](const UsageOptions& given,
                                                      Context& context) -> Result<Exit> {
        if (const Status valid = Check(given.filter); !valid) {
          context.failure = Exit::kUsage;
          return Fail(valid.error());
        }
        return OnRecords(
            context, with_table, Access::kRead, [&](const Records& records) -> Result<Exit> {
              WEIR_RETURN_IF_ERROR(NoteUncounted(given.filter, context, records.usage));
              return run(given, context, records.usage);
            });
      });
  AddFilter(app, options->filter);
  return app;
}

void AddListUsage(const UsageVerbs& verbs) {
  auto options = std::make_shared<UsageOptions>();
  CLI::App& list = AddUsageVerb(
      verbs, {"list", "List the usage in each window, the newest first", ListUsage}, options);
  AddTimes(list, options->filter);
  CLI::Option* count = AddParsed(list, "-n,--count,-l,--limit", options->count, ParseSnapshotCount,
                                 "maximum number of entries (default: 100)")
                           ->option_text("N");
  CLI::Option* after =
      list.add_option("--after", options->after, "continue after the page that printed CURSOR")
          ->option_text("CURSOR");
  list.add_flag("-p,--plot", options->plot,
                "draw the sums of all windows instead (default: hourly windows)")
      ->excludes(count)
      ->excludes(after);
}

void AddSummary(const UsageVerbs& verbs) {
  auto options = std::make_shared<UsageOptions>();
  CLI::App& summary = AddUsageVerb(
      verbs,
      {"summary", "Add up the usage of each limit (default: in hourly windows)", SummarizeUsage},
      options);
  AddTimes(summary, options->filter);
}

void AddTop(const UsageVerbs& verbs) {
  auto options = std::make_shared<UsageOptions>();
  options->count = 10;
  CLI::App& top = AddUsageVerb(
      verbs,
      {"top", "List the highest usage of a limit in one window (default: hourly)", RankUsage},
      options);
  AddParsed(top, "LIMIT", options->limit, Checked(CheckUsageLimit),
            "the limit to rank by, like rpm; * is those that are not counted apart")
      ->required()
      ->option_text(" ");
  AddParsed(top, "--at", options->at, ParseTime, "a time in the window (default: now)")
      ->option_text("TIME");
  AddParsed(top, "-n,--count", options->count, ParseSnapshotCount,
            "maximum number of entries (default: 10)")
      ->option_text("N");
}

}  // namespace

void AddUsage(CLI::App& app, Action& chosen, const WithTable& with_table) {
  const UsageVerbs verbs{AddGroup(app, "usage", "The usage that was counted"), chosen, with_table};
  AddListUsage(verbs);
  AddSummary(verbs);
  AddTop(verbs);
}

}  // namespace weir::app
