#include "apps/weir/context.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "weir/backends/open.h"
#include "weir/embedded/file_namespaces.h"

namespace weir::app {
namespace {

constexpr std::string_view kSqliteScheme = "sqlite:";
constexpr std::chrono::seconds kStoreWait{30};
constexpr std::chrono::seconds kHundredChanges{5};

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

FileUse UseOf(Access access) {
  switch (access) {
    case Access::kRead:
      return FileUse::kRead;
    case Access::kReadBuckets:
      return FileUse::kReadBuckets;
    case Access::kWrite:
      break;
  }
  return FileUse::kOwn;
}

}  // namespace

Surroundings SurroundingsOf(const World& world) {
  Surroundings surroundings = ProcessSurroundings();
  surroundings.environment = [environment = world.environment](std::string_view name) {
    return environment(std::string(name));
  };
  return surroundings;
}

Result<std::string> DefaultStoreUrl(const World& world) {
  std::optional<std::string> state = world.environment("XDG_STATE_HOME");
  if (!state || state->empty()) {
    const std::optional<std::string> home = world.environment("HOME");
    if (!home || home->empty()) {
      return Fail(Code::kFailedPrecondition,
                  "no place for the default store: neither XDG_STATE_HOME nor HOME is set; name a "
                  "store with --store sqlite:PATH");
    }
    state = *home + "/.local/state";
  }
  return fmt::format("{}{}/weir/weir.db", kSqliteScheme, *state);
}

std::optional<std::string> FileOfUrl(std::string_view url) {
  Result<FileUrl> file = ParseFileUrl(url);
  if (!file) return std::nullopt;
  return std::move(file->path);
}

std::optional<std::string> Context::NamedStore() const {
  if (!common_.store.empty()) return common_.store;
  std::optional<std::string> named = world_.environment("WEIR_STORE");
  if (named && named->empty()) return std::nullopt;
  return named;
}

Result<std::unique_ptr<Backend>> Context::Open(Access access, const std::string& fallback) {
  std::string url = NamedStore().value_or(fallback);
  const bool is_default = url.empty();
  if (is_default) {
    WEIR_ASSIGN_OR_RETURN(url, DefaultStoreUrl(world_));
  }
  const std::optional<std::string> file = FileOfUrl(url);
  // Of a namespace the registry says whether there is one.
  const bool is_whole = file && ParseFileUrl(url)->namespace_name.empty();
  if (is_whole && access != Access::kWrite && !std::filesystem::exists(*file)) url = "memory:";
  if (file && access == Access::kWrite && is_default) {
    WEIR_RETURN_IF_ERROR(MakeFolderOf(*file));
  }
  BackendOptions options;
  options.file_use = UseOf(access);
  options.embedded.durability = common_.durability;
  options.embedded.lock_wait.longest = common_.lock_wait;
  options.surroundings = SurroundingsOf(world_);
  Result<std::unique_ptr<Backend>> backend = OpenBackend(url, world_.clock, options);
  if (!backend && backend.error().code == Code::kInvalidArgument) failure = Exit::kUsage;
  return backend;
}

Result<Exit> Context::WithBackend(Access access, const Work& work, const std::string& fallback) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Open(access, fallback));
  Result<Exit> done = work(*backend);
  const Status closed = backend->Close();
  if (!done || closed) return done;
  if (!answer_stands) return Fail(closed.error());
  Warn(closed.error().message);
  return Exit::kFailed;
}

Result<std::string> Context::StoreUrl(Access access) const {
  if (const std::optional<std::string> named = NamedStore()) return *named;
  WEIR_ASSIGN_OR_RETURN(std::string url, DefaultStoreUrl(world_));
  if (access == Access::kWrite) WEIR_RETURN_IF_ERROR(MakeFolderOf(*FileOfUrl(url)));
  return url;
}

Result<Exit> Context::WithNamespaces(Access access, const NamespaceWork& work) {
  WEIR_ASSIGN_OR_RETURN(const std::string url, StoreUrl(access));
  const std::optional<std::string> file = FileOfUrl(url);
  if (!file) {
    return WithBackend(access, [&](Backend& backend) { return work(backend.namespaces()); });
  }
  FileNamespaces spaces(NamespaceRegistry(*file, ""), world_.clock);
  return work(spaces);
}

Deadline Context::StoreDeadline(nanoseconds wait) const {
  return Deadline::After(world_.clock, wait + kStoreWait);
}

Deadline Context::ApplyDeadline(std::size_t changes) const {
  return StoreDeadline(kHundredChanges * static_cast<std::int64_t>(changes / 100));
}

void Context::Answer(const nlohmann::ordered_json& json, std::string_view text) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  answer_ = common_.json ? json.dump(-1, ' ', false, Handler::replace) : std::string(text);
  if (!answer_.empty() && answer_.back() != '\n') answer_ += '\n';
}

}  // namespace weir::app
