#include "weir/rate_limiter_py/testing/token_fixture.h"

#include <fmt/format.h>

#include <cstdlib>

namespace weir::rate_limiter_py {
namespace {

using dynamo::Of;

TableNames AcmeNames() {
  return FindNames("acme", [](const std::string&) { return std::nullopt; }).value();
}

}  // namespace

TokenSim::TokenSim()
    : layouts(LayoutsOf(AcmeNames())), sim(layouts.tokens), ours(sim.table, {.seed = 1}) {}

Result<TokenResult> TokenSim::Take(TokenTable& process, std::int64_t later, std::int64_t count,
                                   const AccountLimit& limit) {
  return sim.Ask<TokenResult>([&](auto done) {
    process.Take(kKey, limit, count, kStart + milliseconds(later), Deadline::Never(),
                 std::move(done));
  });
}

std::int64_t TokenSim::Number(std::string_view attribute) {
  const auto item = Item();
  const auto number = item ? dynamo::GetNumber(*item, attribute) : std::nullopt;
  if (!number) std::abort();
  return *number;
}

void TokenSim::Put(std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers) {
  dynamo::Item item = dynamo::ToItem(TableKeyOf(kKey), layouts.tokens.keys);
  for (const auto& [attribute, number] : numbers) {
    item.insert_or_assign(std::string(attribute), Of(number));
  }
  sim.Put(std::move(item));
}

std::optional<dynamo::Item> PyClient::Apply(dynamo::Write write) {
  write.key = TableKeyOf(kKey);
  write.want_new = true;
  std::optional<dynamo::Item> item;
  sim_.sim.table.Apply(write, false, Deadline::Never(), [&](auto outcome) {
    if (outcome) item = std::move(outcome->item);
    if (!outcome && outcome.error().kind != FailureClass::kConditional) std::abort();
  });
  return item;
}

std::optional<dynamo::Item> PyClient::TakeStep(std::int64_t later) {
  const std::int64_t now = kStart.value + later;
  const std::int64_t token_time =
      std::max<std::int64_t>(1, milliseconds(limit_.window).count() / limit_.limit);
  dynamo::Write write{.key = {}, .item = {}, .expression = {}};
  auto& e = write.expression;
  e.Add(kTokens, -1).Set(kLastToken, Of(now));
  e.Require(fmt::format("({0} > {1} OR {2} < {3} OR attribute_not_exists({0}))", e.Name(kTokens),
                        e.Of(Of(0)), e.Name(kLastToken), e.Of(Of(now - token_time))));
  return Apply(std::move(write));
}

void PyClient::RefillStep(const dynamo::Item& taken, std::int64_t later) {
  const std::int64_t now = kStart.value + later;
  const std::string_view attribute = release_ == Release::kPublished ? "last_refill" : kLastRefill;
  const std::int64_t since = now - dynamo::GetNumber(taken, attribute).value_or(0);
  const double rate =
      static_cast<double>(limit_.limit) / static_cast<double>(milliseconds(limit_.window).count());
  const auto earned = static_cast<std::int64_t>(rate * static_cast<double>(since));
  const std::int64_t left = std::max<std::int64_t>(0, *dynamo::GetNumber(taken, kTokens));
  dynamo::Write write{.key = {}, .item = {}, .expression = {}};
  auto& e = write.expression;
  e.Set(kTokens, Of(std::min(limit_.limit - 1, left + earned))).Set(kLastRefill, Of(now));
  e.Require(
      fmt::format("({0} < {1} OR attribute_not_exists({0}))", e.Name(kLastRefill), e.Of(Of(now))));
  Apply(std::move(write));
}

bool PyClient::GetToken(std::int64_t later) {
  const std::optional<dynamo::Item> taken = TakeStep(later);
  if (taken) RefillStep(*taken, later);
  return taken.has_value();
}

TokenModel::TokenModel(const AccountLimit& limit)
    : limit_{.quota = QuotaOf(limit), .level = Fraction(limit.limit)} {}

ReferenceLimit TokenModel::At(std::int64_t later, const AccountLimit& limit) const {
  ReferenceLimit then = limit_;
  then.Pass(later - at_);
  then.level = then.level + Fraction(limit.limit - then.quota.capacity);
  then.quota = QuotaOf(limit);
  return then;
}

bool TokenModel::Take(std::int64_t later, std::int64_t count, const AccountLimit& limit) {
  ReferenceLimit then = At(later, limit);
  const bool admitted = then.Admits(count);
  if (admitted) then.Change(count);
  if (!admitted && then.quota == limit_.quota) return false;
  limit_ = then;
  at_ = std::max(at_, later);
  return admitted;
}

std::int64_t TokenModel::AvailableAt(std::int64_t later, const AccountLimit& limit) const {
  return static_cast<std::int64_t>(At(later, limit).level.floor());
}

}  // namespace weir::rate_limiter_py
