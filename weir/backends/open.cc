#include "weir/backends/open.h"

#include <fmt/format.h>

#include <utility>

#include "weir/runtime/loop.h"
#include "weir/store/memory_backend.h"

namespace weir {
namespace {

// The embedded backend with the thread that runs its commits.
class FileBackend final : public Backend {
 public:
  static Result<std::unique_ptr<Backend>> Open(const std::string& path, const Clock& clock,
                                               const EmbeddedOptions& options) {
    auto loop = std::make_unique<Loop>(clock);
    auto opened = OpenEmbedded(path, *loop, options);
    if (!opened) return Fail(std::move(opened.error()));
    return std::unique_ptr<Backend>(new FileBackend(std::move(loop), std::move(*opened)));
  }

  BucketStore& buckets() override { return inner_->buckets(); }
  ConfigStore& config() override { return inner_->config(); }
  Status Close() override { return inner_->Close(); }
  std::string Describe() const override { return inner_->Describe(); }

 private:
  FileBackend(std::unique_ptr<Loop> loop, std::unique_ptr<EmbeddedBackend> inner)
      : loop_(std::move(loop)), inner_(std::move(inner)) {}

  std::unique_ptr<Loop> loop_;  // before what runs on it
  std::unique_ptr<EmbeddedBackend> inner_;
};

// `sqlite:PATH` as people type it, `sqlite:///ABSOLUTE/PATH` as a URL.
std::string_view PathOf(std::string_view rest) {
  if (rest.starts_with("///")) rest.remove_prefix(2);
  return rest;
}

}  // namespace

Result<std::unique_ptr<Backend>> OpenBackend(std::string_view url, const Clock& clock,
                                             const BackendOptions& options) {
  const std::size_t colon = url.find(':');
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = colon == url.npos ? "" : url.substr(colon + 1);
  if (scheme == "memory" && colon != url.npos && rest.empty()) return MakeMemoryBackend();
  if (scheme == "sqlite" && !rest.empty() && (!rest.starts_with("//") || rest.starts_with("///"))) {
    return FileBackend::Open(std::string(PathOf(rest)), clock, options.embedded);
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("store '{}': use memory:, sqlite:PATH or sqlite:///ABSOLUTE/PATH", url));
}

}  // namespace weir
