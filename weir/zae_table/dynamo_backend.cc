#include "weir/zae_table/dynamo_backend.h"

#include <fmt/format.h>

#include <utility>

#include "weir/runtime/await.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {
namespace {

// Close waits as long as a write may be in doubt (kMaxDoubt in actor/bucket_flights.cc).
constexpr nanoseconds kLongestClose = std::chrono::seconds(10);

}  // namespace

void ClosingClient::Call(JsonCall call, Deadline deadline, JsonDone done) {
  if (!closed_) return client_.Call(std::move(call), deadline, std::move(done));
  done(tl::unexpected(
      AwsFailure{.kind = FailureClass::kTransient,
                 .message = fmt::format("{}: the backend is closed", call.operation)}));
}

DynamoBackend::DynamoBackend(BackendParts parts)
    : scheduler_(parts.scheduler),
      client_(parts.client),
      table_(client_, parts.scheduler, std::move(parts.table), parts.sources.random(), ZaeLayout()),
      keys_(std::move(parts.namespace_id)),
      audit_(table_, keys_),
      usage_(table_, keys_),
      namespaces_(table_, parts.scheduler.clock(), parts.sources.random),
      buckets_(table_, keys_, parts.scheduler,
               {.seed = parts.sources.random(),
                .random = parts.sources.random,
                .refusal_age = parts.refusal_age,
                .repair_rest = parts.repair_rest,
                .log = parts.log}),
      config_(
          table_, keys_, std::move(parts.sources),
          [this](std::string_view entity) { buckets_.Forget(entity); }, &buckets_) {}

DynamoBackend::~DynamoBackend() {
  if (!client_.is_closed()) (void)Close();
  buckets_.AwaitRequests();
}

Status DynamoBackend::RegisterMetrics(Registry& registry) const {
  WEIR_RETURN_IF_ERROR(weir::RegisterMetrics(registry, client_, "dynamodb"));
  return registry.AddCounter(
      {.name = "weir_dynamodb_forfeits_total",
       .help = "Charges, returns and corrections of which it will never be known whether they were "
               "stored."},
      [this] { return static_cast<std::uint64_t>(buckets_.forfeits()); });
}

Status DynamoBackend::Close() {
  const Status drained = Await<void>([this](Done<void> done) {
    buckets_.Close(Deadline::After(scheduler_.clock(), kLongestClose), std::move(done));
  });
  client_.Close();
  return drained;
}

std::string DynamoBackend::Describe() const {
  return fmt::format("dynamodb://{}?namespace=id:{}", table_.name(), keys_.namespace_id());
}

}  // namespace weir::dynamo
