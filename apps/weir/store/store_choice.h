// Chooses the store of a command. All commands share this rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apps/weir/command.h"
#include "weir/base/result.h"

namespace weir::app {

enum class StoreSource { kOption, kEnvironment, kBaseName, kStack, kDefault };

struct StoreChoice {
  StoreSource source = StoreSource::kDefault;
  std::string url;
};

/// Returns `option` (--store), else the variable WEIR_STORE, else the table that ZAEL_STACK names
/// (`dynamodb:`), else DefaultStoreUrl. An empty variable counts as not set. Returns
/// kInvalidArgument if the option is given and empty, as happens with an unset variable of a
/// script.
[[nodiscard]] Result<StoreChoice> ChooseStore(const ProcessContext& process,
                                              const std::optional<std::string>& option);

/// Like ChooseStore, but for reservations: if neither the option nor WEIR_STORE names a store, but
/// a variable of rate-limiter-py names one of its tables, returns those tables
/// (`rate-limiter-py:`).
[[nodiscard]] Result<StoreChoice> ChooseReservationStore(const ProcessContext& process,
                                                         const std::optional<std::string>& option);

/// Returns the URL of the file in the state folder: $XDG_STATE_HOME, else ~/.local/state, then
/// weir/weir.db. A relative $XDG_STATE_HOME is ignored, as the XDG Base Directory Specification
/// requires. Returns kFailedPrecondition if neither variable names a folder.
[[nodiscard]] Result<std::string> DefaultStoreUrl(const ProcessContext& process);

/// Parses the URL of a store on a command line. Returns kInvalidArgument for an empty text.
[[nodiscard]] Result<std::string> ParseStoreUrl(std::string_view text);

enum class Access {
  /// Without buckets. A file can be read while another process owns it. A missing file reads as an
  /// empty store and is not created.
  kRead,
  kReadBuckets,  ///< as kRead, with the buckets
  /// Owns the file. Creates it if necessary, and the folder of the default store.
  kWrite,
};

/// Returns the URL to open for `choice`: `memory:` for a missing file that is only read. Creates
/// the folder of the default store for kWrite. Returns kNotFound if the folder of the file does not
/// exist, and kInvalidArgument for kWrite on a URL with `mode=ro`.
[[nodiscard]] Result<std::string> UrlToOpen(const StoreChoice& choice, Access access);

/// The name of a store in the output of verbs.
struct StoreName {
  std::string store;           ///< without the namespace of a file
  std::string namespace_name;  ///< or `id:ID`; empty for memory, whose namespace has no name
};
/// Returns kInvalidArgument if the URL is invalid.
[[nodiscard]] Result<StoreName> NameOfStore(const std::string& url, const ProcessContext& process);

/// Returns the path of the file that a URL names, without its namespace; nothing if the URL names
/// no file or is invalid.
std::optional<std::string> FileOfUrl(std::string_view url);

}  // namespace weir::app
