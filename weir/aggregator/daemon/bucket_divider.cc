#include "weir/aggregator/daemon/bucket_divider.h"

#include <utility>

namespace weir::dynamo {
namespace {

constexpr std::chrono::seconds kDivisionTime{10};

/// Stores nothing: a division uses only the images that it reads itself.
class NoImages final : public BucketImageCache {
 public:
  void Learn(BucketImage) override {}
  void Forget(const BucketKey&) override {}
  std::uint32_t ShardsOf(const BucketKey&) override { return 0; }
  std::optional<BucketImage> FindSince(const BucketKey&, Instant) override { return std::nullopt; }
};

}  // namespace

struct BucketDivider::Namespace {
  Namespace(const Parts& parts, std::string id, std::uint64_t seed)
      : keys(std::move(id)),
        splitter(std::make_shared<ShardSplitter>(
            ShardSplitter::Parts{parts.table, keys, parts.scheduler, images, parts.log}, seed)) {}
  ~Namespace() { splitter->Stop(); }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;

  NoImages images;
  const Keys keys;
  const std::shared_ptr<ShardSplitter> splitter;
};

BucketDivider::BucketDivider(const Parts& parts, std::uint64_t seed) : parts_(parts), seed_(seed) {}
BucketDivider::~BucketDivider() = default;

std::shared_ptr<void> BucketDivider::Reserve() {
  ++*in_flight_;
  return {nullptr, [counter = in_flight_](std::nullptr_t) { --*counter; }};
}

void BucketDivider::Divide(const Division& division) {
  if (*in_flight_ >= kMaxInFlight) {
    ++dropped_;
    return;
  }
  const std::string& id = division.namespace_id;
  if (namespaces_.Find(id) == nullptr) {
    namespaces_.Put(id, std::make_shared<Namespace>(parts_, id, ++seed_));
  }
  ShardSplitter& splitter = *(*namespaces_.Find(id))->splitter;
  auto done = [reserved = Reserve()](const Result<std::uint32_t>&) {};
  if (!division.was_begun) return splitter.Double(division.image, std::move(done));
  const Deadline deadline = Deadline::After(parts_.scheduler.clock(), kDivisionTime);
  splitter.Complete(division.image.key, parts_.table.Now(), deadline, std::move(done));
}

}  // namespace weir::dynamo
