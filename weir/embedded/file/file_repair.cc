#include "weir/embedded/file/file_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weir/embedded/file/data_file.h"
#include "weir/embedded/file/file_lock.h"
#include "weir/embedded/file/file_names.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/file/row_checks.h"
#include "weir/embedded/file/state_file.h"
#include "weir/embedded/reservation/file_reservation_rows.h"
#include "weir/embedded/rows/clock_rows.h"
#include "weir/embedded/rows/config_rows.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir {
namespace {

// Returns whether changes may be missing among the salvaged ones, or after them.
bool MayLackChanges(const Salvaged& salvaged) {
  return salvaged.lacks_records() || !salvaged.scan.free_pages_known;
}

// Copies the buckets to `to`, without tokens. Returns their number.
Result<std::uint64_t> CopyEmptied(const BucketTable& from, BucketTable& to, UnixMillis now) {
  WEIR_ASSIGN_OR_RETURN(Page<BucketRecord> page, from.List({}, {.cursor = {}, .limit = SIZE_MAX}));
  for (BucketRecord& record : page.items) to.Load(EmptiedAt(std::move(record), now));
  return page.items.size();
}

// Adds an empty bucket for each entity and resource that has usage, but no bucket in `read`: its
// record may be lost. Returns their number.
Result<std::uint64_t> AddUsedBuckets(sqlite::Connection& connection, const BucketTable& read,
                                     const ConfigTable& config, UnixMillis now,
                                     BucketTable& emptied) {
  WEIR_ASSIGN_OR_RETURN(auto rows,
                        connection.Prepare("SELECT DISTINCT entity, resource FROM usage"));
  std::uint64_t added = 0;
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    BucketKey key{std::string(rows.Text(0)), std::string(rows.Text(1)), 0};
    const bool is_key =
        CheckBucketText("entity", key.entity) && CheckBucketText("resource", key.resource);
    if (!is_key || read.Read(key)) continue;
    emptied.Load(EmptyBucket(std::move(key), config, now));
    ++added;
  }
  if (!row) return Fail(std::move(row.error()));
  return added;
}

// Returns the present bucket time of the file.
UnixMillis BucketNow(const std::optional<StoredClock>& stored, const RepairOptions& options) {
  const BootIdentity boot = options.boot.value_or(ReadBootIdentity());
  const ClockOnBoot found = ClockForBoot(boot, stored, options.clock);
  return BucketTime(options.clock, found.clock.base).Now();
}

// Writes the readable rows back, and deletes the others.
Status RewriteState(StateFile& file, const RepairOptions& options, FileRepair& repair) {
  std::optional<StoredClock> clock;
  WEIR_RETURN_IF_ERROR(file.Read([&](sqlite::Connection& connection) -> Status {
    WEIR_ASSIGN_OR_RETURN(clock, ReadClock(connection));
    return {};
  }));
  const UnixMillis now = BucketNow(clock, options);
  BucketTable read, emptied;
  ConfigTable config;
  WEIR_RETURN_IF_ERROR(file.Load(read, config, now));
  const bool is_doubtful = MayLackChanges(repair.salvaged);
  if (is_doubtful) {
    WEIR_ASSIGN_OR_RETURN(repair.emptied_buckets, CopyEmptied(read, emptied, now));
    WEIR_RETURN_IF_ERROR(file.Read([&](sqlite::Connection& connection) {
      return AddUsedBuckets(connection, read, config, now, emptied).map([&](std::uint64_t added) {
        repair.emptied_buckets += added;
      });
    }));
  }
  const BucketTable& buckets = is_doubtful ? emptied : read;
  WEIR_RETURN_IF_ERROR(file.log().Rewrite(buckets));
  WEIR_RETURN_IF_ERROR(
      file.Write([&](sqlite::Connection& connection) { return RewriteConfig(connection, config); },
                 StateFile::Sync::kAlways));
  for (const RowCheck& check : RecordChecks()) {
    WEIR_RETURN_IF_ERROR(file.Read([&](sqlite::Connection& connection) {
      return CheckRows(connection, check, DamagedRows::kRemove, file.damage())
          .map([](const std::vector<RowKey>&) {});
    }));
  }
  repair.damage = file.damage();
  return file.Close();
}

// Returns the quota by which the account gets tokens: that of its limit, or else, if its limit is
// the caller's default, that of its bucket. Returns nothing if both are missing.
Result<std::optional<Quota>> QuotaOf(FileReservationRows& rows, const AccountKey& account,
                                     const std::optional<Bucket>& bucket) {
  WEIR_ASSIGN_OR_RETURN(const auto limit, rows.FindLimit(account));
  if (limit && CheckTake(account, limit->limit, 1)) {
    return PerPeriod(limit->limit.limit, limit->limit.window);
  }
  return bucket.transform([](const Bucket& found) { return found.meters.front().quota; });
}

// Returns the bucket without tokens. Its debt stays, and so does a time after now.
Bucket EmptiedBucket(std::optional<Bucket> found, const Quota& quota, UnixMillis now) {
  Bucket bucket = std::move(found).value_or(Bucket{.time = now, .meters = {FullMeter(quota)}});
  Meter& meter = bucket.meters.front();
  ChangeQuota(meter, quota);
  meter.tokens = std::min<std::int64_t>(meter.tokens, 0);
  meter.remainder = 0;
  bucket.time = std::max(bucket.time, now);
  return bucket;
}

// Sets the tokens of these accounts to none. An account whose quota is not known gets no bucket.
// Returns the number of buckets.
Result<std::uint64_t> EmptyAccounts(sqlite::Connection& connection, const std::vector<RowKey>& keys,
                                    UnixMillis now) {
  FileReservationRows rows(connection);
  std::uint64_t emptied = 0;
  const Status done = connection.InTransaction([&]() -> Status {
    for (const RowKey& key : keys) {
      const AccountKey account{.resource = key[0], .account = key[1]};
      WEIR_ASSIGN_OR_RETURN(const auto found, rows.FindBucket(account));
      WEIR_ASSIGN_OR_RETURN(const auto quota, QuotaOf(rows, account, found));
      if (!quota) continue;
      WEIR_RETURN_IF_ERROR(rows.PutBucket(account, EmptiedBucket(found, *quota, now)));
      ++emptied;
    }
    return {};
  });
  return done.map([&] { return emptied; });
}

// Holds the slots of unreadable rows for the longest possible time. They can be released.
Status HoldSlots(sqlite::Connection& connection, const std::vector<RowKey>& keys, UnixMillis now) {
  FileReservationRows rows(connection);
  return connection.InTransaction([&]() -> Status {
    for (const RowKey& key : keys) {
      const SlotRef slot{.key = {.resource = key[0], .account = key[1]}, .id = key[2]};
      if (!Check(slot)) continue;
      WEIR_RETURN_IF_ERROR(rows.PutSlot({.key = slot.key,
                                         .id = slot.id,
                                         .resource_id = slot.id,
                                         .claimed = now,
                                         .expires = now + kLongestSlotLife}));
    }
    return {};
  });
}

// Sets the tokens of all known accounts to none: their rows may be old, or lost.
Status EmptyAllAccounts(sqlite::Connection& connection, UnixMillis now, FileRepair& repair) {
  std::vector<RowKey> keys;
  {
    WEIR_ASSIGN_OR_RETURN(
        auto rows,
        connection.Prepare("SELECT resource, account FROM account_limit WHERE window > 0 "
                           "UNION SELECT resource, account FROM account_bucket"));
    Result<bool> row = true;
    while ((row = rows.Step()) && *row) {
      keys.push_back({std::string(rows.Text(0)), std::string(rows.Text(1))});
    }
    if (!row) return Fail(std::move(row.error()));
  }
  WEIR_ASSIGN_OR_RETURN(repair.emptied_buckets, EmptyAccounts(connection, keys, now));
  return {};
}

Status RewriteRows(const StoreFile& file, const std::string& path, const RepairOptions& options,
                   FileRepair& repair) {
  const bool is_reservations = file.kind == StoreFile::Kind::kReservations;
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(path, ""));
  repair.damage = DamageReport(file.path);
  std::optional<StoredClock> clock;
  if (is_reservations) {
    WEIR_ASSIGN_OR_RETURN(clock, ReadClock(connection));
  }
  const UnixMillis now = BucketNow(clock, options);
  for (const RowCheck& check : is_reservations ? ReservationChecks() : NamespaceChecks()) {
    WEIR_ASSIGN_OR_RETURN(const auto keys,
                          CheckRows(connection, check, DamagedRows::kRemove, repair.damage));
    if (check.table == "slot") WEIR_RETURN_IF_ERROR(HoldSlots(connection, keys, now));
    if (check.table == "account_bucket") {
      WEIR_RETURN_IF_ERROR(EmptyAccounts(connection, keys, now).map([](std::uint64_t) {}));
    }
  }
  if (is_reservations && MayLackChanges(repair.salvaged)) {
    WEIR_RETURN_IF_ERROR(EmptyAllAccounts(connection, now, repair));
  }
  return connection.Close();
}

Status Build(const StoreFile& file, const std::string& path, const RepairOptions& options,
             FileRepair& repair) {
  {
    WEIR_ASSIGN_OR_RETURN(const auto pages, sqlite::PageFile::Open(file.path));
    WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(path, ""));
    WEIR_ASSIGN_OR_RETURN(repair.salvaged, Salvage(pages, file.migrations(), connection));
    WEIR_RETURN_IF_ERROR(connection.Close());
  }
  if (file.kind != StoreFile::Kind::kState) return RewriteRows(file, path, options, repair);
  WEIR_ASSIGN_OR_RETURN(const auto state, StateFile::Open(path, {.sync_each_commit = true}));
  return RewriteState(*state, options, repair);
}

Status CheckBuilt(const StoreFile& file, const std::string& path, UnixMillis now,
                  FileRepair& repair) {
  WEIR_ASSIGN_OR_RETURN(repair.result, CheckFile({.path = path, .kind = file.kind}, now));
  if (repair.result.sound()) return {};
  return Fail(Code::kInternal, fmt::format("{}: the repaired file is damaged too: {}", file.path,
                                           repair.result.damage.first().front()));
}

Result<std::string> TablesOf(sqlite::Connection& connection) {
  return connection.QueryText(
      "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)");
}

// Returns whether a newer weir wrote the file. A newer version has other tables; if the tables are
// those of this version, the version number is damaged.
Result<bool> IsNewer(const StoreFile& file) {
  WEIR_ASSIGN_OR_RETURN(const auto pages, sqlite::PageFile::Open(file.path));
  const std::int64_t newest = file.migrations().back().version;
  if (pages.application_id() != kApplicationId || pages.user_version() <= newest) return false;
  WEIR_ASSIGN_OR_RETURN(auto found, sqlite::Connection::OpenUnchanged(file.path, ""));
  WEIR_ASSIGN_OR_RETURN(auto ours, sqlite::Connection::OpenInMemory());
  WEIR_RETURN_IF_ERROR(PrepareSchema(ours, file.migrations()));
  WEIR_ASSIGN_OR_RETURN(const std::string found_tables, TablesOf(found));
  WEIR_ASSIGN_OR_RETURN(const std::string our_tables, TablesOf(ours));
  return found_tables != our_tables;
}

std::uint64_t CountSaved(const FileRepair& repair) {
  std::uint64_t rows = 0;
  for (const auto& [table, count] : repair.salvaged.rows) rows += count;
  return rows;
}

// Returns an error if the file, in which no rows were found, is not a weir file. `found` is the
// result of its check.
Status CheckIsWeirFile(const StoreFile& file, const FileRepair& repair,
                       const Result<FileCheck>& found) {
  if (!found && found.error().code == Code::kFailedPrecondition) return Fail(found.error());
  const auto& scan = repair.salvaged.scan;
  if (scan.pages == 0 || scan.unreadable < scan.pages) return {};
  return Fail(Code::kDataLoss,
              fmt::format("{}: none of its {} pages is one of a database: nothing can be saved, "
                          "and the file is left as it is",
                          file.path, scan.pages));
}

}  // namespace

// Takes ownership of the file, and completes the replacement of a killed repair. If the file is not
// sound, builds PATH-repairing from the readable records, checks it, and replaces the file with it.
Result<FileRepair> RepairFile(const StoreFile& named, const RepairOptions& options) {
  const StoreFile file{.path = WithoutLink(named.path), .kind = named.kind};
  const UnixMillis now = options.clock.WallNow();
  FileRepair repair;
  WEIR_ASSIGN_OR_RETURN(FileLock lock, FileLock::Take(file.path, now, options.lock_wait));
  repair.completed_earlier = !CheckReplaced(file.path);
  WEIR_RETURN_IF_ERROR(FinishReplacing(file.path));
  WEIR_RETURN_IF_ERROR(lock.GuardInode(file.path, options.lock_wait));
  const auto found = CheckFile(file, now);
  if (found && found->sound() && found->is_log_examined) {
    repair.result = *found;
    return repair;
  }
  const bool is_refused = !found && found.error().code == Code::kFailedPrecondition;
  if (is_refused) {
    WEIR_ASSIGN_OR_RETURN(const bool is_newer, IsNewer(file));
    if (is_newer) return Fail(found.error());
  }
  WEIR_ASSIGN_OR_RETURN(const SqliteLocks locks, SqliteLocks::Take(file.path));
  // No other process writes here: a file of this name was left by a killed repair.
  const std::string built = file.path + "-repairing";
  RemoveDatabase(built);
  Status done = Build(file, built, options, repair);
  if (done && CountSaved(repair) == 0) done = CheckIsWeirFile(file, repair, found);
  if (done) done = CheckBuilt(file, built, now, repair);
  repair.kept_as = FreeName(file.path + "-damaged");
  if (done) done = ReplaceDatabase(file.path, built, repair.kept_as);
  RemoveDatabase(built);
  if (!done) return Fail(std::move(done.error()));
  return repair;
}

}  // namespace weir
