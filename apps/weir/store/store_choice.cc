#include "apps/weir/store/store_choice.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "weir/backends/open.h"
#include "weir/model/namespace_name.h"
#include "weir/rate_limiter_py/tables_url.h"
#include "weir/zae_table/dynamo_url.h"

namespace weir::app {
namespace {

constexpr std::string_view kSqliteScheme = "sqlite:";
constexpr std::string_view kTableScheme = "dynamodb:";

std::optional<std::string> ReadVariableOf(const ProcessContext& process, const std::string& name) {
  std::optional<std::string> value = process.environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Status MakeFolderOf(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (!problem) return {};
  return Fail(Code::kPermissionDenied,
              fmt::format("cannot create the folder {} for the default store: {}; name another "
                          "with --store",
                          folder.string(), problem.message()));
}

// A path that cannot be examined (a cycle of links, a name that is too long) does not count as
// missing: opening it reports the cause.
bool IsMissing(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  return status.type() == std::filesystem::file_type::not_found;
}

Status CheckFolderOf(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) return {};
  std::error_code problem;
  if (std::filesystem::is_regular_file(folder, problem)) {
    return Fail(Code::kNotFound, fmt::format("{}{}: {} is a file, not a folder; name another file",
                                             kSqliteScheme, file, folder.string()));
  }
  if (!IsMissing(folder)) return {};
  if (file.starts_with('~')) {
    return Fail(
        Code::kNotFound,
        fmt::format("{}{}: there is no folder {}: ~ is not expanded in a URL; write the path "
                    "of the home folder, as in {}$HOME/...",
                    kSqliteScheme, file, folder.string(), kSqliteScheme));
  }
  return Fail(Code::kNotFound, fmt::format("{}{}: there is no folder {}; create it, or name "
                                           "another file",
                                           kSqliteScheme, file, folder.string()));
}

Status CheckAccess(const FileUrl& file, std::string_view url, Access access) {
  if (access != Access::kWrite || !file.read_only) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: this command writes, and mode=ro says that nothing is to be "
                          "written; omit mode=ro",
                          url));
}

}  // namespace

Result<StoreChoice> ChooseStore(const ProcessContext& process,
                                const std::optional<std::string>& option) {
  if (option) {
    WEIR_ASSIGN_OR_RETURN(std::string url, ParseStoreUrl(*option));
    return StoreChoice{StoreSource::kOption, std::move(url)};
  }
  if (auto named = ReadVariableOf(process, "WEIR_STORE")) {
    return StoreChoice{StoreSource::kEnvironment, *std::move(named)};
  }
  if (ReadVariableOf(process, "ZAEL_STACK")) {
    return StoreChoice{StoreSource::kStack, std::string(kTableScheme)};
  }
  WEIR_ASSIGN_OR_RETURN(std::string url, DefaultStoreUrl(process));
  return StoreChoice{StoreSource::kDefault, std::move(url)};
}

Result<StoreChoice> ChooseReservationStore(const ProcessContext& process,
                                           const std::optional<std::string>& option) {
  Result<StoreChoice> choice = ChooseStore(process, option);
  const bool is_named = choice && (choice->source == StoreSource::kOption ||
                                   choice->source == StoreSource::kEnvironment);
  if (option || is_named || !rate_limiter_py::NamesTables(process.environment)) return choice;
  return StoreChoice{StoreSource::kBaseName, std::string(rate_limiter_py::kUrlScheme)};
}

Result<std::string> DefaultStoreUrl(const ProcessContext& process) {
  std::optional<std::string> state = ReadVariableOf(process, "XDG_STATE_HOME");
  if (!state || !state->starts_with('/')) {
    const std::optional<std::string> home = ReadVariableOf(process, "HOME");
    if (!home) {
      return Fail(Code::kFailedPrecondition,
                  "no folder for the default store: neither XDG_STATE_HOME nor HOME names one; "
                  "name a store with --store sqlite:PATH");
    }
    state = *home + "/.local/state";
  }
  return fmt::format("{}{}/weir/weir.db", kSqliteScheme, *state);
}

Result<std::string> ParseStoreUrl(std::string_view text) {
  if (!text.empty()) return std::string(text);
  return Fail(Code::kInvalidArgument,
              "the URL of the store is empty; write memory:, sqlite:PATH or dynamodb://TABLE, or "
              "omit the option for the default store");
}

Result<std::string> UrlToOpen(const StoreChoice& choice, Access access) {
  if (!choice.url.starts_with(kSqliteScheme)) return choice.url;
  WEIR_ASSIGN_OR_RETURN(const FileUrl file, ParseFileUrl(choice.url));
  WEIR_RETURN_IF_ERROR(CheckAccess(file, choice.url, access));
  if (choice.source != StoreSource::kDefault) {
    WEIR_RETURN_IF_ERROR(CheckFolderOf(file.path));
  } else if (access == Access::kWrite) {
    WEIR_RETURN_IF_ERROR(MakeFolderOf(file.path));
  }
  // Only the registry of a file records which namespaces exist.
  const bool is_whole = file.namespace_name.empty();
  // A link to a missing file is not an empty store: a volume may not be mounted.
  std::error_code problem;
  const bool is_link = std::filesystem::is_symlink(file.path, problem);
  const bool is_absent = !is_link && IsMissing(file.path);
  if (is_whole && access != Access::kWrite && is_absent) return "memory:";
  return choice.url;
}

Result<StoreName> NameOfStore(const std::string& url, const ProcessContext& process) {
  if (url.starts_with(kSqliteScheme)) {
    WEIR_ASSIGN_OR_RETURN(FileUrl file, ParseFileUrl(url));
    if (file.namespace_name.empty()) file.namespace_name = kDefaultNamespace;
    return StoreName{std::string(kSqliteScheme) + file.path, std::move(file.namespace_name)};
  }
  if (!url.starts_with(kTableScheme)) return StoreName{url, ""};
  WEIR_ASSIGN_OR_RETURN(const dynamo::DynamoUrl table,
                        dynamo::ParseDynamoUrl(url, process.environment));
  return StoreName{dynamo::ToText(table), table.namespace_name};
}

std::optional<std::string> FileOfUrl(std::string_view url) {
  Result<FileUrl> file = ParseFileUrl(url);
  if (!file) return std::nullopt;
  return std::move(file->path);
}

}  // namespace weir::app
