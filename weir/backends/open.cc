#include "weir/backends/open.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weir/runtime/loop.h"
#include "weir/store/memory_backend.h"

namespace weir {
namespace {

constexpr std::string_view kForms = "write memory: or sqlite:PATH";

tl::unexpected<Error> BadUrl(std::string_view url, std::string_view why) {
  return Fail(Code::kInvalidArgument, fmt::format("backend '{}': {}; {}", url, why, kForms));
}

// A file together with the thread that writes it.
class FileBackend final : public EmbeddedBackend {
 public:
  static Result<std::unique_ptr<Backend>> Open(const std::string& path, const Clock& clock,
                                               const EmbeddedOptions& options) {
    std::unique_ptr<FileBackend> backend(new FileBackend(clock));
    WEIR_ASSIGN_OR_RETURN(backend->file_, OpenEmbedded(path, backend->loop_, options));
    return backend;
  }

  BucketStore& buckets() override { return file_->buckets(); }
  ConfigStore& config() override { return file_->config(); }
  Status Close() override { return file_->Close(); }
  std::string Describe() const override { return file_->Describe(); }
  EmbeddedStats stats() const override { return file_->stats(); }

 private:
  explicit FileBackend(const Clock& clock) : loop_(clock) {}

  Loop loop_;  // outlives the file, whose tasks run on it
  std::unique_ptr<EmbeddedBackend> file_;
};

Result<std::string> PathOf(std::string_view url, std::string_view rest) {
  if (rest.starts_with("///")) rest.remove_prefix(2);
  if (rest.starts_with("//")) return BadUrl(url, "a file is on this machine, so there is no host");
  if (rest.empty()) return BadUrl(url, "the path is missing");
  return std::string(rest);
}

}  // namespace

Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                             const BackendOptions& options) {
  const std::size_t colon = url.find(':');
  if (colon == url.npos) return BadUrl(url, "no scheme");
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = url.substr(colon + 1);
  if (scheme == "memory") {
    if (!rest.empty()) return BadUrl(url, "memory has no name");
    return MakeMemoryBackend();
  }
  if (scheme == "sqlite") {
    WEIR_ASSIGN_OR_RETURN(const std::string path, PathOf(url, rest));
    return FileBackend::Open(path, clock, options.embedded);
  }
  return BadUrl(url, fmt::format("no backend is called '{}'", scheme));
}

}  // namespace weir
