// A backend by its URL.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/store/backend.h"

namespace weir {

/// The environment and the files of this process.
HostEnvironment ProcessSurroundings();

/// What a file is opened for. Tables and memory have one way of being opened.
enum class FileUse {
  kOwn,          ///< everything; no other process may own it
  kRead,         ///< as OpenToRead, also next to an owner
  kReadBuckets,  ///< the same, with the buckets
};

struct BackendOptions {
  FileUse file_use = FileUse::kOwn;
  EmbeddedOptions embedded;
  HostEnvironment surroundings = ProcessSurroundings();  ///< for AWS's settings and ZAEL_*
  /// Who changes limits and entities of a file or a table, for the audit log; nothing: unknown.
  /// CheckPrincipal accepts it.
  std::optional<std::string> principal{};
  std::chrono::seconds dynamo_wait{10};  ///< for the table's first answers
  /// Gets the events of whichever backend it is. Must outlive it.
  Log* log = nullptr;
};

/// kInvalidArgument, naming the URL, why it is none, and what there is.
tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why);

/// Why `memory:NAME` is no URL.
inline constexpr std::string_view kMemoryHasNoName =
    "nothing may follow 'memory:', because no other opening could find it";

/// The file of `sqlite:PATH?namespace=NAME&mode=ro`; without `namespace` none of its namespaces but
/// the file itself. The first '?' ends the path.
struct FileUrl {
  std::string path;
  std::string namespace_name;  ///< as EmbeddedOptions::namespace_name
  bool read_only = false;      ///< `mode=ro`; `mode=rw` is the default
};
/// kInvalidArgument for a text that is no such URL, and for a parameter that is unknown, empty or
/// repeated, by its name.
[[nodiscard]] Result<FileUrl> ParseFileUrl(std::string_view url);

/// `memory:`; `sqlite:PATH` (also `sqlite:///ABSOLUTE/PATH`, and either with `?namespace=NAME`, a
/// namespace that must be registered, also by its id; `mode=ro` is for callers to keep), which is
/// an EmbeddedBackend; or `dynamodb://TABLE?region=..&endpoint=..&namespace=..`
/// (dynamo/dynamo_url.h), one namespace of a table that must be there already: nothing is created.
/// Slots, accounts' limits and accounts' tokens (Backend::reservations) are those that
/// OpenReservations opens for `memory:` and for `sqlite:PATH` without a namespace; the other
/// backends, and a file that is opened to read, refuse them by name.
/// The backend owns the threads it needs: destroy it neither from one of them nor from an answer.
/// `clock` must outlive it, and for all but memory must be a real one.
///
/// kInvalidArgument for what is no such URL, naming what there is; else as OpenEmbedded, or for a
/// table as LocateService, OpenCheck and Namespaces::Resolve.
[[nodiscard]] Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                                           const BackendOptions& options = {});

}  // namespace weir
