#include "weir/embedded/reservation/file_reservation_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weir/base/bucket_time.h"
#include "weir/embedded/file/errno_code.h"
#include "weir/embedded/rows/bucket_codec.h"
#include "weir/embedded/rows/clock_rows.h"

namespace weir {
namespace {

// SQLite stores the comments inside a statement, so that `.schema` documents the file. All times
// are in milliseconds since 1970.
constexpr const char* kReservations = R"sql(
CREATE TABLE slot(  -- what is held
  resource TEXT NOT NULL,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  resource_id TEXT NOT NULL,  -- the thing that the slot became; the id itself until then
  claimed INTEGER NOT NULL,
  expires INTEGER NOT NULL,  -- free from then on
  PRIMARY KEY(resource, account, id)
) WITHOUT ROWID;
CREATE INDEX slot_by_key_and_expiry ON slot(resource, account, expires);
CREATE INDEX slot_by_expiry ON slot(expires);
CREATE INDEX slot_by_resource_id ON slot(resource_id);

CREATE TABLE ended(  -- things whose end was told before a slot was bound to them
  resource_id TEXT NOT NULL PRIMARY KEY,
  ended_at INTEGER NOT NULL,
  remember_until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX ended_by_age ON ended(remember_until);

CREATE TABLE account_limit(
  resource TEXT NOT NULL,
  account TEXT NOT NULL,
  "limit" INTEGER NOT NULL,  -- tokens in each window, or slots at once; 0 or less: blocked
  window INTEGER NOT NULL,  -- seconds; 0: none
  service TEXT NOT NULL,  -- who put it there
  PRIMARY KEY(resource, account)
) WITHOUT ROWID;
CREATE INDEX account_limit_by_service ON account_limit(service, resource, account);

CREATE TABLE account_bucket(
  resource TEXT NOT NULL,
  account TEXT NOT NULL,
  time INTEGER NOT NULL,  -- the bucket stands as of then
  bucket TEXT NOT NULL,  -- {"tokens":[tokens,remainder,consumed,capacity,amount,period]}, in thousandths and ms
  full_at INTEGER NOT NULL,  -- without a meaning from then on
  PRIMARY KEY(resource, account)
) WITHOUT ROWID;
CREATE INDEX account_bucket_by_age ON account_bucket(full_at);
)sql";

constexpr std::array kReservationMigrations = {Migration{1, kReservations},
                                               Migration{2, kClockTable}};

constexpr std::string_view kFindSlot =
    "SELECT resource, account, id, resource_id, claimed, expires FROM slot "
    "WHERE resource = ? AND account = ? AND id = ?";
constexpr std::string_view kCountHeld =
    "SELECT count(*), min(expires) FROM slot WHERE resource = ? AND account = ? AND expires > ?";
constexpr std::string_view kListHeld =
    "SELECT resource, account, id, resource_id, claimed, expires FROM slot "
    "WHERE resource = ? AND account = ? AND id > ? AND expires > ? ORDER BY id LIMIT ?";
// A slot that was claimed after a time also expires after that time. The condition on `expires`
// lets SQLite use the index.
constexpr std::string_view kClaimedAfter =
    "SELECT resource, account, id, resource_id, claimed, expires FROM slot "
    "WHERE resource = ? AND account = ? AND expires > ? AND claimed > ?";
constexpr std::string_view kBoundTo =
    "SELECT resource, account, id, resource_id, claimed, expires FROM slot "
    "WHERE resource_id = ? AND id <> resource_id";
constexpr std::string_view kPutSlot = "REPLACE INTO slot VALUES(?, ?, ?, ?, ?, ?)";
constexpr std::string_view kEraseSlot =
    "DELETE FROM slot WHERE resource = ? AND account = ? AND id = ?";
constexpr std::string_view kEraseExpired =
    "DELETE FROM slot WHERE resource = ? AND account = ? AND expires <= ?";
constexpr std::string_view kFindEnded =
    "SELECT ended_at, remember_until FROM ended WHERE resource_id = ?";
constexpr std::string_view kPutEnded = "REPLACE INTO ended VALUES(?, ?, ?)";
constexpr std::string_view kFindLimit =
    "SELECT resource, account, \"limit\", window, service FROM account_limit "
    "WHERE resource = ? AND account = ?";
constexpr std::string_view kLimitKeysOf =
    "SELECT resource, account FROM account_limit WHERE service = ? ORDER BY resource, account";
constexpr std::string_view kPutLimit = "REPLACE INTO account_limit VALUES(?, ?, ?, ?, ?)";
constexpr std::string_view kEraseLimit =
    "DELETE FROM account_limit WHERE resource = ? AND account = ?";
constexpr std::string_view kFindBucket =
    "SELECT time, bucket FROM account_bucket WHERE resource = ? AND account = ?";
constexpr std::string_view kPutBucket = "REPLACE INTO account_bucket VALUES(?, ?, ?, ?, ?)";
// A call adds at most one row and deletes up to two, so that the number of old rows decreases.
constexpr std::string_view kSweepSlots =
    "DELETE FROM slot WHERE (resource, account, id) IN "
    "(SELECT resource, account, id FROM slot WHERE expires <= ? ORDER BY expires LIMIT 2)";
constexpr std::string_view kSweepEnded =
    "DELETE FROM ended WHERE resource_id IN "
    "(SELECT resource_id FROM ended WHERE remember_until <= ? ORDER BY remember_until LIMIT 2)";
constexpr std::string_view kSweepBuckets =
    "DELETE FROM account_bucket WHERE (resource, account) IN "
    "(SELECT resource, account FROM account_bucket WHERE full_at <= ? ORDER BY full_at LIMIT 2)";

AccountKey ReadKey(const sqlite::Statement& row) {
  return {.resource = std::string(row.Text(0)), .account = std::string(row.Text(1))};
}

template <class T>
Result<std::optional<T>> OnlyOne(Result<std::vector<T>> rows) {
  return std::move(rows).map([](std::vector<T> found) {
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
  });
}

// Returns a record for the codec, which requires a name for each meter.
BucketRecord RecordOf(const Bucket& bucket) {
  return {.key = {}, .names = {"tokens"}, .bucket = bucket};
}

}  // namespace

std::span<const Migration> ReservationMigrations() { return kReservationMigrations; }

Status FileReservationRows::Note(Status done) {
  if (!done) done.error() = AsStoreError(std::move(done.error()));
  if (!done && failure_) failure_ = done;
  return done;
}

Result<sqlite::Statement*> FileReservationRows::Prepared(std::string_view sql) {
  auto found = prepared_.find(sql);
  if (found == prepared_.end()) {
    WEIR_ASSIGN_OR_RETURN(sqlite::Statement statement, connection_.Prepare(sql));
    found = prepared_.emplace(sql, std::move(statement)).first;
  }
  return &found->second;
}

template <class OnRow>
Status FileReservationRows::ForEach(std::string_view sql, Values values, const OnRow& on_row) {
  const auto read = [&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(sqlite::Statement * statement, Prepared(sql));
    int parameter = 0;
    for (const auto& value : values) {
      std::visit([&](auto bound) { statement->Bind(++parameter, bound); }, value);
    }
    Status done;
    Result<bool> row = true;
    while (done && (row = statement->Step()) && *row) done = on_row(*statement);
    statement->Reset();
    return done ? row.map([](bool) {}) : done;
  };
  return Note(read());
}

Status FileReservationRows::Run(std::string_view sql, Values values) {
  return ForEach(sql, values, [](const sqlite::Statement&) { return Status(); });
}

Result<std::vector<HeldSlot>> FileReservationRows::ReadSlots(std::string_view sql, Values values) {
  std::vector<HeldSlot> slots;
  WEIR_RETURN_IF_ERROR(ForEach(sql, values, [&](const sqlite::Statement& row) {
    slots.push_back({.key = ReadKey(row),
                     .id = std::string(row.Text(2)),
                     .resource_id = std::string(row.Text(3)),
                     .claimed = {row.Integer(4)},
                     .expires = {row.Integer(5)}});
    return Status();
  }));
  return slots;
}

Result<std::optional<HeldSlot>> FileReservationRows::FindSlot(const SlotRef& slot) {
  return OnlyOne(ReadSlots(kFindSlot, {slot.key.resource, slot.key.account, slot.id}));
}

Result<HeldCount> FileReservationRows::CountHeld(const AccountKey& key, UnixMillis now) {
  HeldCount held;
  WEIR_RETURN_IF_ERROR(ForEach(kCountHeld, {key.resource, key.account, now.value},
                               [&](const sqlite::Statement& row) {
                                 held.slots = row.Integer(0);
                                 if (!row.IsNull(1)) held.next_expiry = UnixMillis{row.Integer(1)};
                                 return Status();
                               }));
  return held;
}

Result<std::vector<HeldSlot>> FileReservationRows::ListHeld(const SlotRange& range,
                                                            UnixMillis now) {
  const auto limit = static_cast<std::int64_t>(std::min<std::size_t>(range.limit, INT64_MAX));
  return ReadSlots(kListHeld,
                   {range.key.resource, range.key.account, range.after, now.value, limit});
}

Result<std::vector<HeldSlot>> FileReservationRows::ClaimedAfter(const AccountKey& key,
                                                                UnixMillis time) {
  return ReadSlots(kClaimedAfter, {key.resource, key.account, time.value, time.value});
}

Result<std::vector<HeldSlot>> FileReservationRows::BoundTo(const std::string& resource_id) {
  return ReadSlots(kBoundTo, {resource_id});
}

Status FileReservationRows::PutSlot(const HeldSlot& slot) {
  return Run(kPutSlot, {slot.key.resource, slot.key.account, slot.id, slot.resource_id,
                        slot.claimed.value, slot.expires.value});
}

Status FileReservationRows::EraseSlot(const SlotRef& slot) {
  return Run(kEraseSlot, {slot.key.resource, slot.key.account, slot.id});
}

Status FileReservationRows::EraseExpired(const AccountKey& key, UnixMillis now) {
  return Run(kEraseExpired, {key.resource, key.account, now.value});
}

Result<std::optional<EndedResource>> FileReservationRows::FindEnded(
    const std::string& resource_id) {
  std::optional<EndedResource> ended;
  WEIR_RETURN_IF_ERROR(ForEach(kFindEnded, {resource_id}, [&](const sqlite::Statement& row) {
    ended = {.resource_id = resource_id,
             .ended_at = {row.Integer(0)},
             .remember_until = {row.Integer(1)}};
    return Status();
  }));
  return ended;
}

Status FileReservationRows::PutEnded(const EndedResource& ended) {
  return Run(kPutEnded, {ended.resource_id, ended.ended_at.value, ended.remember_until.value});
}

Result<std::optional<AccountLimitRow>> FileReservationRows::FindLimit(const AccountKey& key) {
  std::optional<AccountLimitRow> found;
  WEIR_RETURN_IF_ERROR(
      ForEach(kFindLimit, {key.resource, key.account}, [&](const sqlite::Statement& row) {
        found = {.key = ReadKey(row),
                 .limit = {.limit = row.Integer(2), .window = std::chrono::seconds(row.Integer(3))},
                 .service = std::string(row.Text(4))};
        return Status();
      }));
  return found;
}

Result<std::vector<AccountKey>> FileReservationRows::LimitKeysOf(const std::string& service) {
  std::vector<AccountKey> keys;
  WEIR_RETURN_IF_ERROR(ForEach(kLimitKeysOf, {service}, [&](const sqlite::Statement& row) {
    keys.push_back(ReadKey(row));
    return Status();
  }));
  return keys;
}

Status FileReservationRows::PutLimit(const AccountLimitRow& row) {
  return Run(kPutLimit, {row.key.resource, row.key.account, row.limit.limit,
                         row.limit.window.count(), row.service});
}

Status FileReservationRows::EraseLimit(const AccountKey& key) {
  return Run(kEraseLimit, {key.resource, key.account});
}

Result<std::optional<Bucket>> FileReservationRows::FindBucket(const AccountKey& key) {
  std::optional<Bucket> bucket;
  WEIR_RETURN_IF_ERROR(
      ForEach(kFindBucket, {key.resource, key.account}, [&](const sqlite::Statement& row) {
        BucketRecord record;
        const Status read = reader_.ReadLimits(row.Text(1), record);
        if (!read || record.bucket.meters.size() != 1) {
          return Status(Fail(Code::kDataLoss, fmt::format("{}: damaged: the tokens of {}",
                                                          connection_.name(), Describe(key))));
        }
        record.bucket.time = {row.Integer(0)};
        bucket = std::move(record.bucket);
        return Status();
      }));
  return bucket;
}

Status FileReservationRows::PutBucket(const AccountKey& key, const Bucket& bucket) {
  std::string text;
  AppendLimits(text, RecordOf(bucket));
  return Run(kPutBucket,
             {key.resource, key.account, bucket.time.value, text, FullAt(bucket).value});
}

Status FileReservationRows::Sweep(UnixMillis now) {
  for (const std::string_view sweep : {kSweepSlots, kSweepEnded}) {
    WEIR_RETURN_IF_ERROR(Run(sweep, {now.value}));
  }
  return Run(kSweepBuckets, {(now - kMaxAhead).value});
}

}  // namespace weir
