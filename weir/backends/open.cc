#include "weir/backends/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "weir/backends/open_reservations.h"
#include "weir/embedded/namespace_registry.h"
#include "weir/embedded/reading_backend.h"
#include "weir/model/namespace_name.h"
#include "weir/runtime/await.h"
#include "weir/runtime/loop.h"
#include "weir/store/config/namespace_store.h"
#include "weir/store/memory/memory_backend.h"
#include "weir/store/reservation/closing_reservations.h"
#include "weir/zae_table/connection.h"
#include "weir/zae_table/dynamo_backend.h"
#include "weir/zae_table/version.h"

namespace weir {
namespace {

constexpr std::string_view kForms = "write memory:, sqlite:PATH or dynamodb://TABLE";

// A file, the thread that writes it, and the thread that fires the deadlines of waiting calls.
class FileWithThreads final : public EmbeddedBackend {
 public:
  static Result<std::unique_ptr<Backend>> Open(const std::string& url, const Clock& clock,
                                               EmbeddedOptions options) {
    WEIR_ASSIGN_OR_RETURN(const FileUrl file, ParseFileUrl(url));
    std::unique_ptr<FileWithThreads> backend(new FileWithThreads(url, clock));
    options.timers = &backend->timers_;
    WEIR_ASSIGN_OR_RETURN(backend->file_, OpenEmbedded(file.path, backend->file_io_, options));
    return backend;
  }

  BucketStore& buckets() override { return file_->buckets(); }
  ConfigStore& config() override { return file_->config(); }
  AuditLog& audit() override { return file_->audit(); }
  UsageStore& usage() override { return file_->usage(); }
  NamespaceStore& namespaces() override { return file_->namespaces(); }
  Result<ReservationBackend*> reservations() override { return reservations_.Get(); }
  Status Close() override {
    reservations_.Close();
    return file_->Close();
  }
  std::string Describe() const override { return file_->Describe(); }
  EmbeddedStats stats() const override { return file_->stats(); }
  HistogramSnapshot CommitTime() const override { return file_->CommitTime(); }
  Status RegisterMetrics(Registry& registry) const override {
    return file_->RegisterMetrics(registry);
  }
  const DamageReport& damage() const override { return file_->damage(); }

 private:
  FileWithThreads(const std::string& url, const Clock& clock)
      : timers_(clock),
        file_io_(clock),
        reservations_([url, &clock] { return OpenReservations(url, clock, {}); }) {}

  // Destroyed after the file, whose tasks run on them.
  Loop timers_;
  Loop file_io_;
  std::unique_ptr<EmbeddedBackend> file_;
  LazyReservations reservations_;
};

Result<std::string> PathOf(std::string_view url, std::string_view rest) {
  if (rest.starts_with("///")) rest.remove_prefix(2);
  if (rest.starts_with("//")) return BadUrl(url, "the URL of a file has no host");
  if (rest.empty()) return BadUrl(url, "the path is missing");
  return std::string(rest);
}

Status SetNamespace(std::string_view url, std::string_view name, FileUrl& file) {
  const Status valid = CheckNameOrId(name);
  if (!valid) return BadUrl(url, valid.error().message);
  if (name != kDefaultNamespace) file.namespace_name = name;
  return {};
}

Status SetMode(std::string_view url, std::string_view mode, FileUrl& file) {
  if (mode != "ro" && mode != "rw") {
    return BadUrl(url, fmt::format("unknown mode '{}'; the modes are ro and rw", mode));
  }
  file.read_only = mode == "ro";
  return {};
}

Status ReadFileParameter(std::string_view url, std::string_view pair, FileUrl& file) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  const std::string_view name = pair.substr(0, equals);
  const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
  if (name == "namespace") return SetNamespace(url, value, file);
  if (name == "mode") return SetMode(url, value, file);
  return BadUrl(url, fmt::format("a file has no parameter '{}'; it has namespace and mode", name));
}

Status ReadFileQuery(std::string_view url, std::string_view query, FileUrl& file) {
  bool has_namespace = false;
  bool has_mode = false;
  while (true) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with("namespace=") && std::exchange(has_namespace, true)) {
      return BadUrl(url, "namespace is given twice");
    }
    if (pair.starts_with("mode=") && std::exchange(has_mode, true)) {
      return BadUrl(url, "mode is given twice");
    }
    WEIR_RETURN_IF_ERROR(ReadFileParameter(url, pair, file));
    if (end == query.npos) return {};
    query.remove_prefix(end + 1);
  }
}

// Returns an error for an unknown id, so that a mistyped id does not create a new file.
Status CheckId(const FileUrl& file, const std::string& vfs) {
  const auto id = ParseIdReference(file.namespace_name);
  if (!id) return {};
  WEIR_ASSIGN_OR_RETURN(const NamespaceTable table, NamespaceRegistry(file.path, vfs).Load());
  if (table.GetById(*id)) return {};
  return UnknownNamespaceId(*id);
}

Result<std::unique_ptr<Backend>> OpenFile(std::string_view url, const Clock& clock,
                                          const BackendOptions& options) {
  WEIR_ASSIGN_OR_RETURN(const FileUrl file, ParseFileUrl(url));
  WEIR_RETURN_IF_ERROR(CheckId(file, options.embedded.vfs));
  if (options.file_use != FileUse::kOwn) {
    return OpenToRead(file.path, clock,
                      {.buckets = options.file_use == FileUse::kReadBuckets,
                       .namespace_name = file.namespace_name,
                       .vfs = options.embedded.vfs});
  }
  EmbeddedOptions embedded = options.embedded;
  embedded.namespace_name = file.namespace_name;
  if (options.principal) embedded.principal = options.principal;
  if (options.log != nullptr) embedded.log = options.log;
  return FileWithThreads::Open(std::string(url), clock, embedded);
}

// A namespace of a table, and the connection to the table.
class TableBackend final : public Backend {
 public:
  static Result<std::unique_ptr<Backend>> Open(std::string_view url, const Clock& clock,
                                               const BackendOptions& options) {
    WEIR_ASSIGN_OR_RETURN(const dynamo::DynamoUrl table,
                          dynamo::ParseDynamoUrl(url, options.surroundings.environment));
    WEIR_ASSIGN_OR_RETURN(
        auto connection, dynamo::Connection::Open(table, clock, options.surroundings, options.log));
    const Deadline deadline = Deadline::After(clock, options.dynamo_wait);
    WEIR_ASSIGN_OR_RETURN(std::string id, NamespaceOf(*connection, clock, deadline));
    std::unique_ptr<TableBackend> backend(new TableBackend(std::move(connection)));
    backend->CreateBackend(std::move(id), options);
    return backend;
  }

  BucketStore& buckets() override { return backend_->buckets(); }
  ConfigStore& config() override { return backend_->config(); }
  AuditLog& audit() override { return backend_->audit(); }
  UsageStore& usage() override { return backend_->usage(); }
  NamespaceStore& namespaces() override { return backend_->namespaces(); }
  Result<ReservationBackend*> reservations() override {
    return Fail(Code::kUnimplemented,
                fmt::format("{}: a table of zae-limiter keeps no slots; the tables of "
                            "rate-limiter-py do (OpenReservations, rate-limiter-py://BASE)",
                            Describe()));
  }
  Status Close() override { return backend_->Close(); }
  Status RegisterMetrics(Registry& registry) const override {
    return backend_->RegisterMetrics(registry);
  }
  std::string Describe() const override { return ToText(connection_->url()); }

 private:
  explicit TableBackend(std::unique_ptr<dynamo::Connection> connection)
      : connection_(std::move(connection)) {}

  // Checks the table's version, and resolves the namespace of the connection's URL to its id.
  static Result<std::string> NamespaceOf(dynamo::Connection& connection, const Clock& clock,
                                         Deadline deadline) {
    WEIR_RETURN_IF_ERROR(Await<dynamo::VersionInfo>(
        [&](auto done) { dynamo::OpenCheck(connection.table(), deadline, std::move(done)); }));
    dynamo::Namespaces namespaces(connection.table(), clock, dynamo::Connection::Random());
    return Await<std::string>([&](auto done) {
      namespaces.Resolve(connection.url().namespace_name, deadline, std::move(done));
    });
  }

  // Creates the backend for the resolved namespace.
  void CreateBackend(std::string namespace_id, const BackendOptions& options) {
    backend_ = std::make_unique<dynamo::DynamoBackend>(dynamo::BackendParts{
        .client = connection_->client(),
        .scheduler = connection_->scheduler(),
        .table = connection_->table().name(),
        .namespace_id = std::move(namespace_id),
        .sources = {.random = dynamo::Connection::Random(), .principal = options.principal},
        .log = options.log});
  }

  std::unique_ptr<dynamo::Connection> connection_;
  std::unique_ptr<dynamo::DynamoBackend> backend_;
};

Result<std::string> ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(Code::kNotFound, fmt::format("cannot read {}", path));
  std::ostringstream text;
  text << in.rdbuf();
  if (text.bad()) return Fail(Code::kUnavailable, fmt::format("cannot read {} to its end", path));
  return text.str();
}

}  // namespace

tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why) {
  return Fail(Code::kInvalidArgument, fmt::format("backend '{}': {}; {}", url, why, kForms));
}

std::string NoScheme(std::string_view url) {
  return url.empty() ? "no scheme" : fmt::format("no scheme (for a file, write sqlite:{})", url);
}

HostEnvironment ProcessEnvironment() {
  return {.environment = [](std::string_view name) -> std::optional<std::string> {
            const char* value = std::getenv(std::string(name).c_str());
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .read_file = ReadWhole};
}

Result<FileUrl> ParseFileUrl(std::string_view url) {
  constexpr std::string_view kScheme = "sqlite:";
  if (!url.starts_with(kScheme)) return BadUrl(url, "it is not the URL of a file");
  const std::string_view rest = url.substr(kScheme.size());
  const std::size_t question = rest.find('?');
  FileUrl file;
  WEIR_ASSIGN_OR_RETURN(file.path, PathOf(url, rest.substr(0, question)));
  if (question != rest.npos) {
    WEIR_RETURN_IF_ERROR(ReadFileQuery(url, rest.substr(question + 1), file));
  }
  return file;
}

Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                             const BackendOptions& options) {
  const std::size_t colon = url.find(':');
  if (colon == url.npos) return BadUrl(url, NoScheme(url));
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = url.substr(colon + 1);
  if (scheme == "memory") {
    if (!rest.empty()) return BadUrl(url, kMemoryHasNoName);
    return MakeMemoryBackend({.log = options.log}, &clock);
  }
  if (scheme == "sqlite") return OpenFile(url, clock, options);
  if (scheme == "dynamodb") return TableBackend::Open(url, clock, options);
  if (scheme == "rate-limiter-py") {
    return BadUrl(url, "rate-limiter-py's tables keep slots and accounts' tokens, but no buckets");
  }
  return BadUrl(url, fmt::format("no backend is called '{}'", scheme));
}

}  // namespace weir
