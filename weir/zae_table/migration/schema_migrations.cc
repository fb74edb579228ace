#include "weir/zae_table/migration/schema_migrations.h"

#include <fmt/format.h>

#include <array>

#include "weir/model/quoted.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

constexpr std::array kSchemaMigrations = {
    SchemaMigration{"0.8.0", "limits with an item each (#LIMIT#) become one item for each level"},
    SchemaMigration{"0.9.0",
                    "buckets have partitions of their own: they are created when they are used; no "
                    "client reads the old ones, which expire if time to live is on"},
    SchemaMigration{"0.10.0",
                    "indexes LSI1 to LSI5: they cannot be added to a table that exists; no client "
                    "needs them"},
};

}  // namespace

Result<std::vector<SchemaMigration>> MigrationsFrom(std::string_view schema) {
  const auto from = ParseVersion(schema);
  if (!from || *from > *ParseVersion(kSchemaVersion)) {
    return Fail(
        Code::kFailedPrecondition,
        fmt::format("the table's schema is {}, and this program migrates to {}: use a newer "
                    "one",
                    Quoted(schema), kSchemaVersion));
  }
  std::vector<SchemaMigration> migrations;
  for (const SchemaMigration& migration : kSchemaMigrations) {
    if (*from < *ParseVersion(migration.version)) migrations.push_back(migration);
  }
  return migrations;
}

}  // namespace weir::dynamo
