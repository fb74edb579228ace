#include "weir/store/contract_client.h"

#include <algorithm>

namespace weir {
namespace {

constexpr Deadline kNever = Deadline::Never();

}  // namespace

// Each argument moves into a local of the lambda, which ends before the first pump.

Result<Decision> ContractClient::Acquire(std::vector<Charge> charges, UnixMillis now) {
  return Call<Decision>([&](Done<Decision> done) {
    const std::vector<Charge> lent = std::move(charges);
    harness_.backend().buckets().Acquire(lent, now, kNever, std::move(done));
  });
}

Status ContractClient::Adjust(std::vector<Charge> charges, AdjustToken token, UnixMillis now) {
  return Call<void>([&](Done<void> done) {
    const std::vector<Charge> lent = std::move(charges);
    harness_.backend().buckets().Adjust(lent, token, now, kNever, std::move(done));
  });
}

Status ContractClient::Adjust(std::vector<Charge> charges, UnixMillis now) {
  return Adjust(std::move(charges), NewToken(), now);
}

Result<ContractClient::Records> ContractClient::Read(std::vector<BucketKey> keys) {
  return Call<Records>([&](Done<Records> done) {
    const std::vector<BucketKey> lent = std::move(keys);
    harness_.backend().buckets().Read(lent, kNever, std::move(done));
  });
}

Result<Page<BucketRecord>> ContractClient::List(BucketFilter filter, PageRequest page) {
  return Call<Page<BucketRecord>>([&](Done<Page<BucketRecord>> done) {
    const auto lent = std::pair(std::move(filter), std::move(page));
    harness_.backend().buckets().List(lent.first, lent.second, kNever, std::move(done));
  });
}

Result<std::vector<std::optional<LevelLimits>>> ContractClient::GetLimits(
    std::vector<Level> levels) {
  using Limits = std::vector<std::optional<LevelLimits>>;
  return Call<Limits>([&](Done<Limits> done) {
    const std::vector<Level> lent = std::move(levels);
    harness_.backend().config().GetLimits(lent, kNever, std::move(done));
  });
}

Result<Page<LevelRecord>> ContractClient::ListLimits(std::optional<Level::Kind> kind,
                                                     PageRequest page) {
  return Call<Page<LevelRecord>>([&](Done<Page<LevelRecord>> done) {
    const PageRequest lent = std::move(page);
    harness_.backend().config().ListLimits(kind, lent, kNever, std::move(done));
  });
}

Result<std::vector<std::optional<EntityRecord>>> ContractClient::GetEntities(
    std::vector<std::string> ids) {
  using Entities = std::vector<std::optional<EntityRecord>>;
  return Call<Entities>([&](Done<Entities> done) {
    const std::vector<std::string> lent = std::move(ids);
    harness_.backend().config().GetEntities(lent, kNever, std::move(done));
  });
}

Result<Page<EntityRecord>> ContractClient::ListEntities(std::optional<std::string> parent,
                                                        PageRequest page) {
  return Call<Page<EntityRecord>>([&](Done<Page<EntityRecord>> done) {
    const auto lent = std::pair(std::move(parent), std::move(page));
    harness_.backend().config().ListEntities(lent.first, lent.second, kNever, std::move(done));
  });
}

Status ContractClient::Apply(std::vector<ConfigChange> changes) {
  return Call<void>([&](Done<void> done) {
    harness_.backend().config().Apply(std::move(changes), kNever, std::move(done));
  });
}

std::size_t ContractClient::CountBadAnswers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(counts_, [](const auto& count) { return *count != 1; }));
}

}  // namespace weir
