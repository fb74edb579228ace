// The migrations between the schema versions of zae-limiter, and what each of them needs.
//
// Source: zae-limiter 0.17.0, the modules in its folder migrations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::dynamo {

struct SchemaMigration {
  std::string_view version;  ///< the schema after it
  std::string_view what;     ///< for users
};

/// Returns the migrations from this schema to kSchemaVersion, in order. kFailedPrecondition if
/// `schema` is no version, or a later one than kSchemaVersion.
[[nodiscard]] Result<std::vector<SchemaMigration>> MigrationsFrom(std::string_view schema);

}  // namespace weir::dynamo
