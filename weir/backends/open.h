// Opens a backend by its URL.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/aws/service_location.h"
#include "weir/base/api.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/store/backend.h"

namespace weir {

/// Returns access to the environment and the files of this process.
WEIR_API HostEnvironment ProcessEnvironment();

/// The purpose of opening a file. For tables and memory it has no effect.
enum class FileUse {
  kOwn,   ///< reads and writes; no other process may own the file
  kRead,  ///< reads all except buckets (OpenToRead), even while another process owns the file
  kReadBuckets,  ///< reads all, even while another process owns the file
};

struct WEIR_API BackendOptions {
  FileUse file_use = FileUse::kOwn;
  EmbeddedOptions embedded;
  HostEnvironment surroundings = ProcessEnvironment();  ///< for AWS's settings and ZAEL_*
  /// The author of changes to limits and entities of a file or a table, for the audit log; without
  /// one, the author is unknown. REQUIRES: CheckPrincipal accepts it.
  std::optional<std::string> principal{};
  std::chrono::seconds dynamo_wait{10};  ///< time limit of the first requests to the table
  /// Gets the events of the backend. Must outlive it.
  Log* log = nullptr;
};

/// Returns kInvalidArgument with a message that names the URL, the reason, and the valid forms.
WEIR_API tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why);

/// The reason why `memory:NAME` is not a URL.
inline constexpr std::string_view kMemoryHasNoName =
    "nothing may follow 'memory:', because a store in memory has no name";

/// Returns the reason why a text without a scheme is not a URL, with the URL of the file of this
/// name.
std::string NoScheme(std::string_view url);

/// The parts of `sqlite:PATH?namespace=NAME&mode=ro`. Without `namespace`, and with the
/// namespace `default`, the URL means the file itself, not one of its namespaces. The first '?'
/// ends the path.
struct FileUrl {
  std::string path;
  std::string namespace_name;  ///< see EmbeddedOptions::namespace_name
  bool read_only = false;      ///< `mode=ro`; `mode=rw` is the default
};
/// Parses a file's URL. Returns kInvalidArgument if the text is not such a URL, or if a parameter
/// is unknown, empty or repeated; the message names the parameter.
[[nodiscard]] WEIR_API Result<FileUrl> ParseFileUrl(std::string_view url);

/// Opens the backend that `url` names. The forms are:
///
/// - `memory:`
/// - `sqlite:PATH` or `sqlite:///ABSOLUTE/PATH`: an EmbeddedBackend. `?namespace=NAME` opens a
///   namespace, which must be registered; its id is accepted too. This function ignores `mode=ro`:
///   callers pass BackendOptions::file_use.
/// - `dynamodb://TABLE?region=..&endpoint=..&namespace=..` (zae_table/dynamo_url.h): one namespace
///   of an existing table. Nothing is created.
///
/// Backend::reservations (slots, accounts' limits and accounts' tokens) is the backend that
/// OpenReservations opens for `memory:`, and for `sqlite:PATH` without a namespace. For any other
/// URL, and for a file that is opened for reading, it is an error that names the backend.
///
/// The backend owns the threads that it needs: it must not be destroyed on one of them, nor in a
/// callback. `clock` must outlive it, and must be a real clock unless the URL is `memory:`.
///
/// Returns kInvalidArgument, naming the valid forms, if `url` is not such a URL. Other errors are
/// those of OpenEmbedded; for a table, those of LocateService, OpenCheck and Namespaces::Resolve.
[[nodiscard]] WEIR_API Result<std::unique_ptr<Backend>> OpenBackend(
    std::string_view url, const Clock& clock, const BackendOptions& options = {});

}  // namespace weir
