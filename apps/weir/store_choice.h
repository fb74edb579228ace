// Which store a command works on. One rule for every command.
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

/// `option` (--store), else the variable WEIR_STORE, else the table that ZAEL_STACK names
/// (`dynamodb:`), else DefaultStoreUrl. A variable that is empty counts as not set.
/// kInvalidArgument: the option is given and empty, as an unset variable of a script leaves it.
[[nodiscard]] Result<StoreChoice> ChooseStore(const ProcessContext& process,
                                              const std::optional<std::string>& option);

/// The same for reservations: if neither the option nor WEIR_STORE names a store, and a variable of
/// rate-limiter-py names one of its tables, those tables (`rate-limiter-py:`).
[[nodiscard]] Result<StoreChoice> ChooseReservationStore(const ProcessContext& process,
                                                         const std::optional<std::string>& option);

/// The URL of the file in the state folder: $XDG_STATE_HOME, else ~/.local/state, then
/// weir/weir.db. A relative $XDG_STATE_HOME is ignored, as the XDG Base Directory Specification
/// says. kFailedPrecondition if neither variable names a folder.
[[nodiscard]] Result<std::string> DefaultStoreUrl(const ProcessContext& process);

/// kInvalidArgument for an empty text: the URL of a store that a command line names.
[[nodiscard]] Result<std::string> ParseStoreUrl(std::string_view text);

enum class Access {
  /// Not for buckets. A file is read also next to its owner; one that does not exist reads as an
  /// empty store and is not created.
  kRead,
  kReadBuckets,  ///< the same, with the buckets
  /// The file is owned, and created if need be, as is the folder of the default store.
  kWrite,
};

/// The URL to open for `choice`: `memory:` for a file that does not exist and is only read.
/// Creates the folder of the default store if it is to be written. kNotFound: the folder of the
/// file does not exist. kFailedPrecondition: the store is to be written and its URL says `mode=ro`.
[[nodiscard]] Result<std::string> UrlToOpen(const StoreChoice& choice, Access access);

/// The store as answers name it.
struct StoreName {
  std::string store;           ///< without the namespace of a file
  std::string namespace_name;  ///< or `id:ID`; empty: memory, which has no name for its namespace
};
/// kInvalidArgument if the URL is none.
[[nodiscard]] Result<StoreName> NameOfStore(const std::string& url, const ProcessContext& process);

/// The file of a URL as OpenBackend reads it, whichever namespace of it; nothing if it has none or
/// is not valid.
std::optional<std::string> FileOfUrl(std::string_view url);

}  // namespace weir::app
