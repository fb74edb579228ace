#include "weir/zae_table/migration/table_upgrade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/codec/iso_time.h"
#include "weir/zae_table/config/config_apply.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_item.h"
#include "weir/zae_table/migration/level_migration.h"
#include "weir/zae_table/migration/schema_migrations.h"
#include "weir/zae_table/table_features.h"
#include "weir/zae_table/version.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

constexpr int kMaxLevelTries = 10;

// Returns an error unless the table has the keys and the global indexes that clients use.
Status CheckShape(const Table& table, const TableLayout& found) {
  TableLayout relevant = ZaeLayout();
  relevant.keys = found.keys;
  relevant.global_indexes = found.global_indexes;
  std::erase_if(relevant.global_indexes, [](const auto& index) {
    return !ZaeLayout().global_indexes.contains(index.first);
  });
  const std::vector<std::string> lines = Differences(relevant, ZaeLayout());
  if (lines.empty()) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("table {}: {}; its owner has to change that before it can be migrated",
                          table.name(), fmt::join(lines, "; ")));
}

std::string LineOf(const NamespaceLevel& at, const LevelMigration& plan) {
  std::vector<std::string> limits;
  limits.reserve(plan.limits.size());
  for (const Limit& limit : plan.limits) limits.push_back(FormatLimit(limit));
  return fmt::format("{}: {} ({}legacy items: {})", Describe(at), fmt::join(limits, ", "),
                     plan.stores_limits ? "" : "stays; ", plan.removed);
}

Write SetVersion(const Item& record, const UpgradeReport& report, const UpgradeRequest& request) {
  Write write{.kind = Write::Kind::kUpdate, .key = VersionRecord(), .item = {}};
  write.expression.RequireExists("PK");
  for (const std::string_view field : {"schema_version", "client_min_version", "lambda_version"}) {
    write.expression.RequireSameAs(record, field);
  }
  if (report.sets_version) write.expression.Set("schema_version", Of(kSchemaVersion));
  if (!report.aggregator.empty()) write.expression.Set("lambda_version", Value{Null{}});
  write.expression.Set("updated_at", Of(FormatIso(request.sources.now())))
      .Set("updated_by", request.by.empty() ? Value{Null{}} : Of(request.by));
  return write;
}

// Returns whether the record already has the values that an upgrade with this report sets.
bool IsSet(const Item& record, const UpgradeReport& report) {
  const VersionInfo info = ReadVersion(record);
  return (!report.sets_version || info.schema == kSchemaVersion) &&
         (report.aggregator.empty() || !info.lambda);
}

// One call of UpgradeTable. Pending requests own it.
//
//   ReadShape --> ReadRecord --> ScanPage <---(no more levels of the page)---+
//                                   |                                        |
//                                   v                                        |
//                      +-------> NextLevel ----------------------------------+
//                      |            |  |
//                      |            |  +---(no more pages)--> SetSchema
//                      |            v
//                      |         ReadLevel --> ReadItems --> Migrate
//                      |            ^                         |   |
//                      |            +----(changed since)------+   |
//                      +---------(the level is done)--------------+
//
// An error before the scan completes the call with that error (OrRefuse). An error after the scan
// has begun completes the call with the report (OrEnd, End).
class UpgradeCall : public std::enable_shared_from_this<UpgradeCall> {
 public:
  UpgradeCall(Table& table, UpgradeRequest request, std::function<Deadline()> deadlines,
              Done<UpgradeReport> done)
      : table_(table),
        request_(std::move(request)),
        deadlines_(std::move(deadlines)),
        done_(std::move(done)) {}

  void ReadShape() {
    DescribeTable(table_, deadlines_(),
                  OrRefuse<TableDescription>([](UpgradeCall& self, const TableDescription& found) {
                    const Status fit = CheckShape(self.table_, found.layout);
                    if (!fit) return self.done_(Fail(fit.error()));
                    self.ReadRecord();
                  }));
  }

 private:
  // Returns a Done that completes the call on an error, and calls `next` with a value.
  template <class T, class Next>
  Done<T> OrRefuse(Next next) {
    return [self = shared_from_this(), next](Result<T> result) mutable {
      if (!result) return self->done_(Fail(std::move(result.error())));
      next(*self, *std::move(result));
    };
  }
  template <class T, class Next>
  Done<T> OrEnd(Next next) {
    return [self = shared_from_this(), next](Result<T> result) mutable {
      if (!result) return self->End(std::move(result.error()));
      next(*self, *std::move(result));
    };
  }

  void End(Error error) {
    report_.sets_version = false;
    report_.aggregator.clear();
    report_.ended = std::move(error);
    done_(std::move(report_));
  }

  void ReadRecord() {
    table_.Get(VersionRecord(), deadlines_(),
               OrRefuse<std::optional<Item>>([](UpgradeCall& self, std::optional<Item> record) {
                 const Status fit = self.TakeRecord(std::move(record));
                 if (!fit) return self.done_(Fail(fit.error()));
                 self.ScanPage(std::nullopt);
               }));
  }

  Status TakeRecord(std::optional<Item> record) {
    if (!record) {
      return Fail(Code::kFailedPrecondition, NoVersionRecord(table_.name()));
    }
    record_ = *std::move(record);
    const VersionInfo info = ReadVersion(record_);
    WEIR_RETURN_IF_ERROR(CheckVersion(info));
    WEIR_ASSIGN_OR_RETURN(const auto migrations, MigrationsFrom(info.schema));
    report_.from = info.schema;
    report_.sets_version = !migrations.empty();
    if (request_.clears_aggregator) report_.aggregator = info.lambda.value_or("");
    return {};
  }

  void ScanPage(std::optional<Item> start_after) {
    table_.Scan({.sort_prefix = std::string(kLegacyLimitSort),
                 .limit = request_.page,
                 .start_after = std::move(start_after)},
                deadlines_(), OrEnd<QueryResponse>([](UpgradeCall& self, QueryResponse page) {
                  self.TakePage(std::move(page));
                }));
  }

  // A scan returns the items of a level one after the other, so a level that differs from the level
  // of the previous item is new.
  void TakePage(QueryResponse page) {
    next_page_ = std::move(page.last_key);
    for (const Item& item : page.items) {
      const auto key = ParseLegacyKey(KeyOf(item));
      if (!key) ++report_.unread;
      if (!key || key->at == last_) continue;
      last_ = key->at;
      levels_.push_back(key->at);
    }
    std::ranges::reverse(levels_);
    NextLevel();
  }

  void NextLevel() {
    tries_ = 0;
    if (!levels_.empty()) return ReadLevel();
    if (next_page_) return ScanPage(std::exchange(next_page_, std::nullopt));
    SetSchema();
  }

  const NamespaceLevel& level() const { return levels_.back(); }

  void ReadLevel() {
    const Keys keys(level().namespace_id);
    table_.QueryAll({.index = {},
                     .partition = keys.Config(level().level).pk,
                     .sort_prefix = LegacySortOf(level().level)},
                    kMaxConfigs, deadlines_(),
                    OrEnd<std::vector<Item>>([](UpgradeCall& self, std::vector<Item> items) {
                      std::erase_if(items, [&](const Item& item) {
                        const auto key = ParseLegacyKey(KeyOf(item));
                        return !key || key->at != self.level();
                      });
                      self.stored_ = {.legacy = std::move(items)};
                      self.ReadItems();
                    }));
  }

  void ReadItems() {
    const Keys keys(level().namespace_id);
    const TableKey system = keys.Config(Level::System());
    const TableKey composite = keys.Config(level().level);
    std::vector<TableKey> wanted{keys.ResourceRegistry(), keys.EntityConfigRegistry(), system};
    if (composite != system) wanted.push_back(composite);
    table_.BatchGet(std::move(wanted), deadlines_(),
                    OrEnd<std::vector<std::optional<Item>>>(
                        [](UpgradeCall& self, std::vector<std::optional<Item>> items) {
                          self.stored_.composite = items.back();
                          self.stored_.resources = std::move(items[0]);
                          self.stored_.counts = std::move(items[1]);
                          self.stored_.system = std::move(items[2]);
                          self.Migrate();
                        }));
  }

  void Migrate() {
    auto plan = PlanLevelMigration(level(), stored_, request_.sources);
    if (!plan) {
      report_.problems.Add(std::move(plan.error().message));
      return EndLevel();
    }
    plan_ = *std::move(plan);
    if (plan_.writes.empty()) return EndLevel();  // another process has migrated the level
    if (request_.dry_run) return CountLevel();
    const std::string token = Hex(request_.sources.random()) + Hex(request_.sources.random());
    table_.TransactPatiently(
        plan_.writes, token, deadlines_(),
        [self = shared_from_this()](const tl::expected<WriteResponse, WriteFailure>& result) {
          if (result) return self->CountLevel();
          self->TryAgain(result.error());
        });
  }

  void TryAgain(const WriteFailure& failure) {
    if (!IsWorthAnotherTry(failure)) return End(failure.error);
    if (++tries_ < kMaxLevelTries) return ReadLevel();
    End({Code::kAborted,
         fmt::format("{}: other writers changed it during each of {} tries; run the upgrade again "
                     "({})",
                     Describe(level()), kMaxLevelTries, failure.error.message)});
  }

  void CountLevel() {
    ++(plan_.stores_limits ? report_.levels : report_.conflicts);
    report_.removed += plan_.removed;
    report_.done.Add(LineOf(level(), plan_));
    for (std::string& line : plan_.differences) report_.differences.Add(std::move(line));
    EndLevel();
  }

  void EndLevel() {
    levels_.pop_back();
    NextLevel();
  }

  void SetSchema() {
    if (!report_.problems.empty()) report_.sets_version = false;
    const bool has_changes = report_.sets_version || !report_.aggregator.empty();
    if (request_.dry_run || !has_changes) return done_(std::move(report_));
    table_.Apply(SetVersion(record_, report_, request_), true, deadlines_(),
                 [self = shared_from_this()](const tl::expected<WriteResponse, WriteFailure>& set) {
                   self->EndWith(set);
                 });
  }

  void EndWith(const tl::expected<WriteResponse, WriteFailure>& result) {
    if (result) return done_(std::move(report_));
    if (result.error().kind != FailureClass::kConditional) return End(result.error().error);
    // An attempt whose response was lost, or another upgrade, may have set the values.
    const auto& present = result.error().old_item;
    if (present && IsSet(*present, report_)) return done_(std::move(report_));
    End({Code::kAborted,
         "the version record has changed since it was read; run the upgrade again"});
  }

  Table& table_;
  const UpgradeRequest request_;
  const std::function<Deadline()> deadlines_;
  Done<UpgradeReport> done_;
  UpgradeReport report_;
  Item record_;                         // the version record as it was read
  std::optional<Item> next_page_;       // start of the next page
  std::optional<NamespaceLevel> last_;  // the level of the last legacy item scanned
  std::vector<NamespaceLevel> levels_;  // pending levels of the page, the next one last
  StoredLevel stored_;
  LevelMigration plan_;
  int tries_ = 0;
};

}  // namespace

void UpgradeTable(Table& table, UpgradeRequest request, std::function<Deadline()> deadlines,
                  Done<UpgradeReport> done) {
  std::make_shared<UpgradeCall>(table, std::move(request), std::move(deadlines), std::move(done))
      ->ReadShape();
}

}  // namespace weir::dynamo
