#include "weir/aws/http/crt_runtime.h"

#include <aws/auth/auth.h>
#include <aws/common/error.h>
#include <aws/common/shutdown_types.h>
#include <aws/common/thread.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/event_loop.h>
#include <aws/io/host_resolver.h>
#include <aws/io/tls_channel_handler.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/aws/http/crt/crt_handle.h"

namespace weir {
namespace internal {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string CrtError(int error_code) {
  std::string text = fmt::format("{} ({})", aws_error_str(error_code), aws_error_name(error_code));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string LastCrtError() { return CrtError(aws_last_error()); }

}  // namespace internal

namespace {

using internal::CrtHandle;
using internal::LastCrtError;
using internal::ShutdownSignal;

/// The C libraries have global state: the first user in the process initialises it, and the last
/// one cleans up.
class Library {
 public:
  Library() {
    const MutexLock lock(mutex);
    if (users++ == 0) aws_auth_library_init(aws_default_allocator());
  }
  ~Library() {
    const MutexLock lock(mutex);
    if (--users == 0) aws_auth_library_clean_up();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  static inline Mutex mutex;
  static inline int users WEIR_GUARDED_BY(mutex) = 0;
};

const char* PathOrNull(const std::string& path) { return path.empty() ? nullptr : path.c_str(); }

bool TrustsOthers(const CrtOptions& options) {
  return !options.ca_file.empty() || !options.ca_folder.empty();
}

std::string TrustedIn(const CrtOptions& options) {
  if (!TrustsOthers(options)) return "the system's files";
  if (options.ca_file.empty()) return fmt::format("'{}'", options.ca_folder);
  if (options.ca_folder.empty()) return fmt::format("'{}'", options.ca_file);
  return fmt::format("'{}' and '{}'", options.ca_file, options.ca_folder);
}

/// Options of a TLS context, which must be cleaned up in any case.
class TlsOptions {
 public:
  TlsOptions() { aws_tls_ctx_options_init_default_client(&options_, aws_default_allocator()); }
  ~TlsOptions() { aws_tls_ctx_options_clean_up(&options_); }
  TlsOptions(const TlsOptions&) = delete;
  TlsOptions& operator=(const TlsOptions&) = delete;

  Status TrustCertificates(const CrtOptions& options) {
    if (aws_tls_ctx_options_override_default_trust_store_from_path(
            &options_, PathOrNull(options.ca_folder), PathOrNull(options.ca_file)) == 0) {
      return {};
    }
    return Fail(Code::kInvalidArgument,
                fmt::format("authorities to trust in {}: {}", TrustedIn(options), LastCrtError()));
  }
  void TrustAnyone() { aws_tls_ctx_options_set_verify_peer(&options_, false); }
  aws_tls_ctx* NewContext() { return aws_tls_client_ctx_new(aws_default_allocator(), &options_); }

 private:
  aws_tls_ctx_options options_{};
};

}  // namespace

class CrtRuntime::State {
 public:
  Status Start(const CrtOptions& options);
  ~State();

  aws_event_loop* loop() const { return aws_event_loop_group_get_loop_at(loops_.get(), 0); }
  aws_client_bootstrap* bootstrap() const { return bootstrap_.get(); }
  aws_host_resolver* resolver() const { return resolver_.get(); }
  aws_tls_ctx* tls() const { return tls_.get(); }
  const CrtOptions& options() const { return options_; }

 private:
  Status StartTls(const CrtOptions& options);
  bool StartLoop();
  bool StartResolver();
  bool StartBootstrap();

  CrtOptions options_;
  Library library_;
  ShutdownSignal loops_gone_;
  ShutdownSignal bootstrap_gone_;
  CrtHandle<aws_tls_ctx, aws_tls_ctx_release> tls_;
  CrtHandle<aws_event_loop_group, aws_event_loop_group_release> loops_;
  CrtHandle<aws_host_resolver, aws_host_resolver_release> resolver_;
  CrtHandle<aws_client_bootstrap, aws_client_bootstrap_release> bootstrap_;
};

Status CrtRuntime::State::Start(const CrtOptions& options) {
  options_ = options;
  WEIR_RETURN_IF_ERROR(StartTls(options));
  if (StartLoop() && StartResolver() && StartBootstrap()) return {};
  return Fail(Code::kUnavailable, fmt::format("AWS's runtime does not start: {}", LastCrtError()));
}

Status CrtRuntime::State::StartTls(const CrtOptions& options) {
  TlsOptions tls;
  if (TrustsOthers(options)) WEIR_RETURN_IF_ERROR(tls.TrustCertificates(options));
  if (!options.verify_certificate) tls.TrustAnyone();
  tls_.reset(tls.NewContext());
  if (tls_ != nullptr) return {};
  return Fail(Code::kInvalidArgument, fmt::format("no TLS context with the authorities in {}: {}",
                                                  TrustedIn(options), LastCrtError()));
}

bool CrtRuntime::State::StartLoop() {
  const aws_shutdown_callback_options gone{.shutdown_callback_fn = &ShutdownSignal::Raise,
                                           .shutdown_callback_user_data = &loops_gone_};
  aws_event_loop_group_options options{};
  options.loop_count = 1;
  options.shutdown_options = &gone;
  loops_.reset(aws_event_loop_group_new(aws_default_allocator(), &options));
  return loops_ != nullptr;
}

bool CrtRuntime::State::StartResolver() {
  aws_host_resolver_default_options options{};
  options.max_entries = 16;
  options.el_group = loops_.get();
  resolver_.reset(aws_host_resolver_new_default(aws_default_allocator(), &options));
  return resolver_ != nullptr;
}

bool CrtRuntime::State::StartBootstrap() {
  aws_client_bootstrap_options options{};
  options.event_loop_group = loops_.get();
  options.host_resolver = resolver_.get();
  options.on_shutdown_complete = &ShutdownSignal::Raise;
  options.user_data = &bootstrap_gone_;
  bootstrap_.reset(aws_client_bootstrap_new(aws_default_allocator(), &options));
  return bootstrap_ != nullptr;
}

CrtRuntime::State::~State() {
  if (bootstrap_ != nullptr) {
    bootstrap_.reset();
    bootstrap_gone_.Wait();
  }
  resolver_.reset();
  if (loops_ != nullptr) {
    loops_.reset();
    loops_gone_.Wait();
  }
  tls_.reset();
}

Result<std::unique_ptr<CrtRuntime>> CrtRuntime::Start(const CrtOptions& options) {
  auto state = std::make_unique<State>();
  WEIR_RETURN_IF_ERROR(state->Start(options));
  return std::unique_ptr<CrtRuntime>(new CrtRuntime(std::move(state)));
}

CrtRuntime::CrtRuntime(std::unique_ptr<State> state) : state_(std::move(state)) {}
CrtRuntime::~CrtRuntime() = default;

aws_allocator* CrtRuntime::allocator() const { return aws_default_allocator(); }
aws_event_loop* CrtRuntime::loop() const { return state_->loop(); }
aws_client_bootstrap* CrtRuntime::bootstrap() const { return state_->bootstrap(); }
aws_host_resolver* CrtRuntime::resolver() const { return state_->resolver(); }
aws_tls_ctx* CrtRuntime::tls() const { return state_->tls(); }
const CrtOptions& CrtRuntime::options() const { return state_->options(); }

}  // namespace weir
