#include "weir/rate_limiter_py/testing/slot_fixture.h"

#include <cstdlib>
#include <utility>

#include "weir/codec/iso_time.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Item;
using dynamo::Of;
using dynamo::Write;

constexpr Deadline kNever = Deadline::Never();

void Apply(dynamo::SimTable& sim, const Write& write) {
  bool is_done = false;
  sim.table.Apply(write, false, kNever, [&](const auto& result) { is_done = !!result; });
  if (!is_done) std::abort();
}

dynamo::QueryRequest AllOf(const AccountKey& key) {
  dynamo::QueryRequest request;
  request.partition = Coordinate(key.resource, key.account);
  return request;
}

}  // namespace

SlotTable::SlotTable(std::uint64_t seed)
    : layout(LayoutsOf({.tokens = {},
                        .limits = {},
                        .slots = {},
                        .resource_index = kResourceIndex,
                        .service_index = "services"})
                 .slots),
      sim(layout, false, seed) {}

void SlotTable::PyReserve(const AccountKey& key, const std::string& id, UnixMillis expires) {
  sim.Put({{std::string(kCoordinate), Of(Coordinate(key.resource, key.account))},
           {std::string(kReservationId), Of(id)},
           {std::string(kResourceId), Of(id)},
           {std::string(kResourceName), Of(key.resource)},
           {std::string(kAccountId), Of(key.account)},
           {std::string(kExpirationTime), Of(dynamo::WholeSeconds(expires))}});
}

void SlotTable::PyCreateToken(const AccountKey& key, const std::string& id,
                              const std::string& resource_id, UnixMillis expires) {
  Write update{.key = SlotKey({key, id}), .item = {}, .expression = {}};
  update.expression.Set(kExpirationTime, Of(dynamo::WholeSeconds(expires)))
      .Set(kResourceId, Of(resource_id));
  Apply(sim, update);
}

void SlotTable::PyDelete(const AccountKey& key, const std::string& id) {
  Apply(sim,
        {.kind = Write::Kind::kDelete, .key = SlotKey({key, id}), .item = {}, .expression = {}});
}

std::size_t SlotTable::PyCount(const AccountKey& key, UnixMillis now) {
  const auto items = sim.Ask<std::vector<Item>>(
      [&](auto done) { sim.table.QueryAll(AllOf(key), 100'000, kNever, std::move(done)); });
  if (!items) std::abort();
  std::size_t live = 0;
  for (const Item& item : *items) {
    const auto expires = dynamo::GetNumber(item, kExpirationTime);
    if (expires && *expires > dynamo::WholeSeconds(now)) ++live;
  }
  return live;
}

Roster SlotTable::RosterOf(const AccountKey& key) {
  const auto item = sim.Get(RosterKey(key));
  return item ? ReadRoster(*item).value() : Roster{};
}

std::map<std::int64_t, std::int64_t> SlotTable::OurRows(const AccountKey& key) {
  std::map<std::int64_t, std::int64_t> rows;
  for (const dynamo::TableKey& at : sim.AllKeys()) {
    if (at.pk != Coordinate(key.resource, key.account) || !IsOurs(at.sk)) continue;
    const auto slot = ReadHeld(*sim.Get(at), key, UnixMillis{-1}).value();
    if (slot) ++rows[SecondOf(*slot)];
  }
  return rows;
}

Result<ClaimResult> SlotClient::Claim(const SlotClaim& claim, UnixMillis now) {
  return sim_.Ask<ClaimResult>(
      [&](auto done) { store_.Claim(claim, now + ahead_, kNever, std::move(done)); });
}

Result<HeldSlot> SlotClient::Bind(const SlotRef& slot, const std::string& resource_id,
                                  milliseconds ttl, UnixMillis now) {
  return sim_.Ask<HeldSlot>([&](auto done) {
    store_.Bind(slot, resource_id, ttl, now + ahead_, kNever, std::move(done));
  });
}

Result<HeldSlot> SlotClient::Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now) {
  return sim_.Ask<HeldSlot>(
      [&](auto done) { store_.Renew(slot, ttl, now + ahead_, kNever, std::move(done)); });
}

Result<bool> SlotClient::Release(const SlotRef& slot, UnixMillis now) {
  return sim_.Ask<bool>(
      [&](auto done) { store_.Release(slot, now + ahead_, kNever, std::move(done)); });
}

Result<std::size_t> SlotClient::ReleaseResource(EndedResource ended, UnixMillis now) {
  return sim_.Ask<std::size_t>(
      [&](auto done) { store_.ReleaseResource(ended, now + ahead_, kNever, std::move(done)); });
}

Result<Page<HeldSlot>> SlotClient::List(const AccountKey& key, UnixMillis now,
                                        const PageRequest& page) {
  return sim_.Ask<Page<HeldSlot>>(
      [&](auto done) { store_.List(key, page, now + ahead_, kNever, std::move(done)); });
}

}  // namespace weir::rate_limiter_py
