#include "weir/embedded/file/schema.h"

#include <fmt/format.h>

#include <array>

#include "weir/embedded/rows/clock_rows.h"

namespace weir {
namespace {

// SQLite stores the comments inside a statement, so that `.schema` documents the file. All amounts
// are whole thousandths of a token, all times and periods are milliseconds.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE bucket(
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  shard INTEGER NOT NULL,
  time INTEGER NOT NULL,  -- since 1970; the limits stand as of then
  limits TEXT NOT NULL,  -- {"name":[tokens,remainder,consumed,capacity,amount,period],...}
  PRIMARY KEY(entity, resource, shard)
) WITHOUT ROWID;

CREATE TABLE change(  -- buckets as they were after each commit; overrides `bucket`, later rows earlier ones
  seq INTEGER PRIMARY KEY,
  data TEXT NOT NULL  -- [[entity,resource,shard,time,limits],...]; [entity,resource,shard]: removed
);

CREATE TABLE level(
  kind TEXT NOT NULL,  -- system, resource, entity_default, entity
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  limits TEXT NOT NULL,  -- {"name":[capacity,amount,period],...}
  on_unavailable TEXT,  -- block, allow
  managed INTEGER NOT NULL,
  PRIMARY KEY(kind, entity, resource)
) WITHOUT ROWID;

CREATE TABLE entity(
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  parent TEXT,
  cascade INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  managed INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW bucket_view AS
WITH line AS (
  SELECT json_extract(l.value, '$[0]') AS entity, json_extract(l.value, '$[1]') AS resource,
         json_extract(l.value, '$[2]') AS shard, json_extract(l.value, '$[3]') AS time,
         json_extract(l.value, '$[4]') AS limits, change.seq AS seq, l.key AS place
  FROM change, json_each(change.data) AS l
), latest AS (
  SELECT *, row_number() OVER (
    PARTITION BY entity, resource, shard ORDER BY seq DESC, place DESC) AS age
  FROM line
)
SELECT entity, resource, shard, time, limits FROM latest WHERE age = 1 AND time IS NOT NULL
UNION ALL
SELECT entity, resource, shard, time, limits FROM bucket
WHERE (entity, resource, shard) NOT IN (SELECT entity, resource, shard FROM latest WHERE age = 1);

CREATE VIEW limits_view AS
SELECT b.entity, b.resource, b.shard, l.key AS "limit",
       json_extract(l.value, '$[0]') / 1000.0 AS tokens,
       json_extract(l.value, '$[3]') / 1000.0 AS capacity,
       json_extract(l.value, '$[4]') / 1000.0 AS amount,
       json_extract(l.value, '$[5]') / 1000.0 AS period_seconds,
       json_extract(l.value, '$[2]') / 1000.0 AS consumed,
       strftime('%Y-%m-%dT%H:%M:%fZ', b.time / 1000.0, 'unixepoch') AS at
FROM bucket_view AS b, json_each(b.limits) AS l;
)sql";

constexpr const char* kVersion2 = R"sql(
CREATE TABLE audit(  -- who changed what, kept for 90 days
  subject TEXT NOT NULL,  -- an entity, $SYSTEM, or $RESOURCE:name
  id TEXT NOT NULL,  -- a ULID: sorts by time
  at INTEGER NOT NULL,  -- since 1970, whole seconds
  action TEXT NOT NULL,
  principal TEXT,
  resource TEXT,
  details TEXT NOT NULL,  -- JSON
  PRIMARY KEY(subject, id)
) WITHOUT ROWID;
CREATE INDEX audit_by_age ON audit(at);

CREATE TABLE usage(
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  start INTEGER NOT NULL,  -- of the window, since 1970
  span TEXT NOT NULL,  -- of the window: hourly, daily, monthly
  used TEXT NOT NULL,  -- {"name":tokens,...}, whole tokens
  overdrawn TEXT NOT NULL,  -- {"name":times,...}
  events INTEGER NOT NULL,
  PRIMARY KEY(entity, resource, start, span)
) WITHOUT ROWID;
CREATE INDEX usage_by_resource ON usage(resource, start, entity);
)sql";

// Limits of a bucket that are no longer configured, or that only requests name, have meters of
// their own.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE bucket ADD COLUMN extras TEXT;
-- {"limits":{"name":[tokens,remainder,consumed,capacity,amount,period,remainder_period,time],...},
--  "left":[when the latest left early,when all of these would have been full]}; NULL: none.
-- A change has the same as its sixth element.

DROP VIEW limits_view;
DROP VIEW bucket_view;

CREATE VIEW bucket_view AS
WITH line AS (
  SELECT json_extract(l.value, '$[0]') AS entity, json_extract(l.value, '$[1]') AS resource,
         json_extract(l.value, '$[2]') AS shard, json_extract(l.value, '$[3]') AS time,
         json_extract(l.value, '$[4]') AS limits, json_extract(l.value, '$[5]') AS extras,
         change.seq AS seq, l.key AS place
  FROM change, json_each(change.data) AS l
), latest AS (
  SELECT *, row_number() OVER (
    PARTITION BY entity, resource, shard ORDER BY seq DESC, place DESC) AS age
  FROM line
)
SELECT entity, resource, shard, time, limits, extras FROM latest
WHERE age = 1 AND time IS NOT NULL
UNION ALL
SELECT entity, resource, shard, time, limits, extras FROM bucket
WHERE (entity, resource, shard) NOT IN (SELECT entity, resource, shard FROM latest WHERE age = 1);

CREATE VIEW limits_view AS
WITH meter AS (
  SELECT b.entity, b.resource, b.shard, l.key AS "limit", l.value AS numbers, b.time AS time,
         1 AS configured
  FROM bucket_view AS b, json_each(b.limits) AS l
  UNION ALL
  SELECT b.entity, b.resource, b.shard, l.key, l.value, json_extract(l.value, '$[7]'), 0
  FROM bucket_view AS b, json_each(b.extras, '$.limits') AS l
)
SELECT entity, resource, shard, "limit",
       json_extract(numbers, '$[0]') / 1000.0 AS tokens,
       json_extract(numbers, '$[3]') / 1000.0 AS capacity,
       json_extract(numbers, '$[4]') / 1000.0 AS amount,
       json_extract(numbers, '$[5]') / 1000.0 AS period_seconds,
       json_extract(numbers, '$[2]') / 1000.0 AS consumed,
       strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS at,
       configured
FROM meter;
)sql";

// Each event has its own expiry, because the time of an event may be that of a wrong clock.
constexpr const char* kAuditExpiry = R"sql(
ALTER TABLE audit ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;  -- when clock.counted is this; older events: in 90 days
ALTER TABLE audit ADD COLUMN number INTEGER NOT NULL DEFAULT 0;  -- in the order of writing
UPDATE audit SET expires = 90 * 86400000, number = n FROM (
  SELECT subject AS s, id AS i, row_number() OVER (ORDER BY id) AS n FROM audit)
WHERE subject = s AND id = i;
DROP INDEX audit_by_age;
CREATE INDEX audit_by_expiry ON audit(expires);
CREATE INDEX audit_by_number ON audit(number);
)sql";

// The use of buckets that is not in `usage` yet, and the fractions of a token that remain of the
// counted use, because `usage` has whole tokens.
constexpr const char* kCountedUsage = R"sql(
ALTER TABLE bucket ADD COLUMN use TEXT;
-- [hour,events,[used,...],[[hour,events,{"name":[used,overdrawn],...}],...]]: what is not in `usage`
-- yet, in thousandths of a token and hours since 1970; NULL: nothing. A change has the same as its
-- seventh element.
ALTER TABLE usage ADD COLUMN rest TEXT;  -- {"name":thousandths,...} of a token that are counted but not whole; NULL: none
CREATE INDEX usage_by_rest ON usage(entity, resource) WHERE rest IS NOT NULL;
CREATE INDEX usage_by_age ON usage(span, start);
)sql";

constexpr const char* kSettings = R"sql(
CREATE TABLE setting(
  name TEXT NOT NULL PRIMARY KEY,  -- audit_retention_days: of new events; 90 if it has no row
  value INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

constexpr std::array kMigrations = {Migration{1, kVersion1},    Migration{2, kVersion2},
                                    Migration{3, kVersion3},    Migration{4, kClockTable},
                                    Migration{5, kAuditExpiry}, Migration{6, kCountedUsage},
                                    Migration{7, kSettings}};

struct Identity {
  std::int64_t application_id = 0;
  std::int64_t version = 0;
  std::int64_t objects = 0;
};

// SQLite has no error code of its own for some damage of a file: such damage is reported as
// kInternal.
Error AsDamage(Error error) {
  if (error.code != Code::kInternal) return error;
  return {Code::kDataLoss, error.message + "; 'weir store repair' saves its rows"};
}

Result<Identity> ReadIdentity(sqlite::Connection& connection) {
  const auto query = [&](std::string_view sql) {
    return connection.QueryInteger(sql).map_error(AsDamage);
  };
  Identity identity;
  WEIR_ASSIGN_OR_RETURN(identity.application_id, query("PRAGMA application_id"));
  WEIR_ASSIGN_OR_RETURN(identity.version, query("PRAGMA user_version"));
  WEIR_ASSIGN_OR_RETURN(identity.objects, query("SELECT count(*) FROM sqlite_schema"));
  return identity;
}

Status CheckIdentity(const Identity& found, std::int64_t newest, const std::string& name) {
  const bool is_new = found.application_id == 0 && found.version == 0 && found.objects == 0;
  if (!is_new && found.application_id != kApplicationId) {
    return Fail(Code::kFailedPrecondition,
                fmt::format("{}: an SQLite database, but not a weir file; give the path of one, "
                            "or of none; if it was one, 'weir store repair' saves its rows",
                            name));
  }
  if (found.version > newest) {
    return Fail(
        Code::kFailedPrecondition,
        fmt::format("{}: written by a newer weir: the file has version {}, this weir "
                    "reads up to {}; use the newer one, or 'weir store repair' if there is none",
                    name, found.version, newest));
  }
  return {};
}

Result<Identity> ReadCheckedIdentity(sqlite::Connection& connection,
                                     std::span<const Migration> migrations) {
  Identity found;
  WEIR_RETURN_IF_ERROR(connection.InSnapshot([&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(found, ReadIdentity(connection));
    return CheckIdentity(found, migrations.back().version, connection.name());
  }));
  return found;
}

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

Status PrepareSchema(sqlite::Connection& connection, std::span<const Migration> migrations) {
  const std::int64_t newest = migrations.back().version;
  // Most files are up to date. This is checked without a write lock.
  WEIR_ASSIGN_OR_RETURN(const bool is_older, IsOlder(connection, migrations));
  if (!is_older) return {};
  return connection.InTransaction([&]() -> Status {
    // Another process may have migrated the file meanwhile.
    WEIR_ASSIGN_OR_RETURN(const Identity found, ReadIdentity(connection));
    WEIR_RETURN_IF_ERROR(CheckIdentity(found, newest, connection.name()));
    if (found.version == newest) return {};
    for (const Migration& migration : migrations) {
      if (migration.version <= found.version) continue;
      // A migration fails only if the file does not have the version that it claims.
      WEIR_RETURN_IF_ERROR(connection.Execute(migration.sql).map_error(AsDamage));
    }
    return connection.Execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                          kApplicationId, newest));
  });
}

Result<bool> IsOlder(sqlite::Connection& connection, std::span<const Migration> migrations) {
  WEIR_ASSIGN_OR_RETURN(const Identity found, ReadCheckedIdentity(connection, migrations));
  return found.version != migrations.back().version;
}

Status CheckSchema(sqlite::Connection& connection, std::span<const Migration> migrations) {
  const std::int64_t newest = migrations.back().version;
  WEIR_ASSIGN_OR_RETURN(const Identity found, ReadCheckedIdentity(connection, migrations));
  if (found.version == newest) return {};
  return Fail(
      Code::kFailedPrecondition,
      fmt::format("{}: the file has version {}, this weir reads {}; to bring it up to date, "
                  "stop the process that has it open, make the file and its folder "
                  "writable, and try again",
                  connection.name(), found.version, newest));
}

}  // namespace weir
