#include "weir/service/rate_limit_server.h"

#include <functional>
#include <utility>

#include "weir/base/rng.h"
#include "weir/runtime/await.h"
#include "weir/service/admin_pages.h"
#include "weir/service/loop_service.h"
#include "weir/service/request_log.h"
#include "weir/service/service_metrics.h"
#include "weir/transport/event_loop.h"
#include "weir/transport/http1/admin_connections.h"
#include "weir/transport/server.h"
#include "weir/transport/server_metrics.h"

namespace weir::service {

/// An event loop and the services of its connections.
struct LoopPair {
  transport::EventLoop* loop;
  std::unique_ptr<LoopService> service;
};

class RateLimitServer::State {
 public:
  State(Limiter& limiter, const Clock& clock, RateLimitServerOptions options, Log& log)
      : limiter_(limiter), clock_(clock), options_(std::move(options)), log_(log) {}

  Status Listen() {
    WEIR_ASSIGN_OR_RETURN(loops_, transport::StartLoops(clock_, options_.threads));
    for (const auto& loop : loops_) {
      pairs_.push_back({loop.get(), std::make_unique<LoopService>(TermsOfLoop(), SystemSeed())});
    }
    grpc_ = std::make_unique<transport::Server>(
        loops_, options_.grpc,
        [this](transport::ConnectionContext context) {
          return ServiceOf(context.loop).Serve(std::move(context));
        },
        log_);
    WEIR_RETURN_IF_ERROR(grpc_->Listen());
    if (options_.admin.addresses.empty()) return {};
    admin_ = std::make_unique<transport::Server>(
        loops_, options_.admin, transport::MakeAdminConnections(AdminPages(pages_)), log_);
    return admin_->Listen();
  }

  Status Start(rules::RuleSet rules, const AccessTokensPtr& tokens) {
    if (grpc_ == nullptr) WEIR_RETURN_IF_ERROR(Listen());
    SetTokens(tokens);
    SetRules(std::move(rules));
    pages_.is_serving = true;
    PostToServices([](LoopService& service) { service.BeginServing(); });
    WEIR_RETURN_IF_ERROR(grpc_->Start());
    return admin_ ? admin_->Start() : Status();
  }

  void SetRules(rules::RuleSet rules) {
    const ActiveRulesPtr active = rule_counts_.Activate(std::move(rules));
    PostToServices([active](LoopService& service) { service.SetRules(active); });
  }

  void SetTokens(const AccessTokensPtr& tokens) {
    pages_.SetTokens(tokens);
    PostToServices([tokens](LoopService& service) { service.SetTokens(tokens); });
  }

  // The admin listener stays until the end: probes and metrics see the drain.
  Result<transport::DrainResult> Drain(Deadline deadline) {
    pages_.is_serving = false;
    PostToServices([](LoopService& service) { service.EndServing(); });
    return Await<transport::DrainResult>(
        [&](auto done) { grpc_->Drain(deadline, std::move(done)); });
  }

  Status ReloadTls() {
    // First the listener with more files: if a file cannot be used, both listeners keep the old
    // files.
    if (options_.grpc.tls) WEIR_RETURN_IF_ERROR(grpc_->ReloadTls());
    return options_.admin.tls && admin_ ? admin_->ReloadTls() : Status();
  }

  Status RegisterMetrics(Registry& registry) const {
    WEIR_RETURN_IF_ERROR(transport::RegisterMetrics(registry, *grpc_, "grpc"));
    if (admin_) WEIR_RETURN_IF_ERROR(transport::RegisterMetrics(registry, *admin_, "admin"));
    return RegisterServiceMetrics(registry, {counts_, server_counts_, rule_counts_});
  }

  bool IsIdle() const { return counts_.InFlight() == 0; }
  void ExportMetrics(const Registry& registry) { pages_.registry = &registry; }
  std::vector<std::string> grpc_addresses() const { return grpc_->addresses(); }
  std::vector<std::string> admin_addresses() const {
    return admin_ ? admin_->addresses() : std::vector<std::string>();
  }

 private:
  LoopService::Terms TermsOfLoop() {
    return {.limiter = limiter_,
            .counts = counts_,
            .log = request_log_,
            .service = options_.service,
            .connection = options_.connection,
            .age_jitter = options_.age_jitter,
            .calls = options_.calls,
            .server_counts = server_counts_};
  }
  void PostToServices(const std::function<void(LoopService&)>& function) {
    for (const LoopPair& pair : pairs_) {
      pair.loop->Post([service = pair.service.get(), function] { function(*service); });
    }
  }
  LoopService& ServiceOf(const Scheduler& loop) {
    for (const LoopPair& pair : pairs_) {
      if (pair.loop == &loop) return *pair.service;
    }
    std::unreachable();  // connections are served by these loops only
  }

  Limiter& limiter_;
  const Clock& clock_;
  const RateLimitServerOptions options_;
  Log& log_;
  ServiceCounts counts_;
  RequestLog request_log_{log_};
  grpc::ServerCounts server_counts_;
  RuleCountsByName rule_counts_;
  AdminState pages_{clock_, counts_, request_log_};
  // Destroyed in reverse: connections before the services that they call, and tasks of the loops
  // before the services as well.
  std::vector<LoopPair> pairs_;
  transport::EventLoops loops_;
  std::unique_ptr<transport::Server> grpc_;
  std::unique_ptr<transport::Server> admin_;
};

RateLimitServer::RateLimitServer(Limiter& limiter, const Clock& clock,
                                 const RateLimitServerOptions& options, Log& log)
    : state_(std::make_unique<State>(limiter, clock, options, log)) {}

RateLimitServer::~RateLimitServer() = default;

Status RateLimitServer::Listen() { return state_->Listen(); }

Status RateLimitServer::Start(rules::RuleSet rules, const AccessTokensPtr& tokens) {
  return state_->Start(std::move(rules), tokens);
}

void RateLimitServer::SetTokens(const AccessTokensPtr& tokens) { state_->SetTokens(tokens); }

void RateLimitServer::SetRules(rules::RuleSet rules) { state_->SetRules(std::move(rules)); }

Status RateLimitServer::ReloadTls() { return state_->ReloadTls(); }

Result<transport::DrainResult> RateLimitServer::Drain(Deadline deadline) {
  return state_->Drain(deadline);
}

void RateLimitServer::ExportMetrics(const Registry& registry) { state_->ExportMetrics(registry); }

bool RateLimitServer::IsIdle() const { return state_->IsIdle(); }

std::vector<std::string> RateLimitServer::grpc_addresses() const {
  return state_->grpc_addresses();
}

std::vector<std::string> RateLimitServer::admin_addresses() const {
  return state_->admin_addresses();
}

Status RateLimitServer::RegisterMetrics(Registry& registry) const {
  return state_->RegisterMetrics(registry);
}

}  // namespace weir::service
