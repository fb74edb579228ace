// Lists audit events of an archive in S3.
#pragma once

#include <optional>
#include <string>

#include "apps/weir/context.h"
#include "weir/archive/archive_reader.h"
#include "weir/archive/archive_url.h"

namespace CLI {  // NOLINT(readability-identifier-naming): a library's
class App;
}

namespace weir::app {

struct ArchiveOptions {
  std::optional<ArchiveUrl> url;
  std::string namespace_id;
  std::optional<UnixMillis> start;
  std::optional<UnixMillis> end;
};

/// Adds --archive, and the options that need it. `options` must outlive the parse.
void AddArchiveOptions(CLI::App& verb, ArchiveOptions& options);

/// Prints the events as `audit list` prints those of a store; in JSON each has its namespace, if
/// the archive contains it. Opens no store. Blocks.
Result<Exit> ListArchive(const ArchiveQuery& query, const ArchiveUrl& url, Context& context);

}  // namespace weir::app
