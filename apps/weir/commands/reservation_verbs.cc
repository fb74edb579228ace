// weir reservation list|bind|release: the slots of an account.
#include "apps/weir/commands/reservation_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/weir/arguments.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"
#include "weir/model/quoted.h"
#include "weir/reservation/reservation_limiter.h"
#include "weir/runtime/await.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::app {
namespace {

constexpr char kSlotHelp[] = "the ID of the slot, or the resource that the slot is bound to";

struct SlotOptions {
  AccountKey key;
  std::string slot;
  std::string resource_id;
  std::optional<nanoseconds> ttl;
};

Json ToJson(const HeldSlot& slot) {
  Json json = {{"id", slot.id}, {"bound_to", slot.bound() ? Json(slot.resource_id) : Json()}};
  json["claimed"] = slot.claimed.value == 0 ? Json() : Json(FormatTime(slot.claimed));
  json["expires"] = FormatTime(slot.expires);
  return json;
}

Result<std::vector<HeldSlot>> AllSlots(const AccountKey& key, Context& context,
                                       ReservationBackend& backend) {
  std::vector<HeldSlot> slots;
  PageRequest request;
  do {
    WEIR_ASSIGN_OR_RETURN(Page<HeldSlot> page, Await<Page<HeldSlot>>([&](auto done) {
                            backend.slots().List(key, request, backend.Now(context.process().clock),
                                                 context.StoreDeadline(), std::move(done));
                          }));
    std::ranges::move(page.items, std::back_inserter(slots));
    request.cursor = std::move(page.next);
  } while (!request.cursor.empty());
  return slots;
}

Result<Exit> ListHeldSlots(const SlotOptions& options, Context& context,
                           const OpenedReservations& opened) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<HeldSlot> slots,
                        AllSlots(options.key, context, opened.backend));
  Json json = Json::array();
  Table table({"slot", "bound to", "claimed", "expires"});
  for (const HeldSlot& slot : slots) {
    json.push_back(ToJson(slot));
    table.Row({slot.id, slot.bound() ? slot.resource_id : "-",
               slot.claimed.value == 0 ? "-" : FormatTime(slot.claimed), FormatTime(slot.expires)});
  }
  context.WriteResult({{"held", slots.size()}, {"slots", json}},
                      table.empty() ? "no slot is held\n" : table.Text());
  return Exit::kDone;
}

/// Returns the slot with the id in the options, or else all slots that are bound to the resource
/// with this id. Returns kNotFound if there are none.
Result<std::vector<HeldSlot>> FindSlots(const SlotOptions& options, Context& context,
                                        ReservationBackend& backend) {
  WEIR_ASSIGN_OR_RETURN(std::vector<HeldSlot> slots, AllSlots(options.key, context, backend));
  const auto named = std::ranges::find(slots, options.slot, &HeldSlot::id);
  if (named != slots.end()) return std::vector{*named};
  std::erase_if(slots, [&](const HeldSlot& slot) { return slot.resource_id != options.slot; });
  if (!slots.empty()) return slots;
  return Fail(Code::kNotFound,
              fmt::format("{}: no slot {} is held; see {}", Describe(options.key),
                          Quoted(options.slot), context.QuotedCommand("reservation list")));
}

/// As FindSlots; kFailedPrecondition if several slots are bound to the resource.
Result<HeldSlot> FindOneSlot(const SlotOptions& options, Context& context,
                             ReservationBackend& backend) {
  WEIR_ASSIGN_OR_RETURN(const auto slots, FindSlots(options, context, backend));
  if (slots.size() == 1) return slots.front();
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}: {} slots are bound to {}: give the ID of one of them; see {}",
                          Describe(options.key), slots.size(), Quoted(options.slot),
                          context.QuotedCommand("reservation list")));
}

Result<Exit> BindNamedSlot(const SlotOptions& options, Context& context,
                           const OpenedReservations& opened) {
  ReservationStore& store = opened.backend.slots();
  WEIR_ASSIGN_OR_RETURN(const HeldSlot found, FindOneSlot(options, context, opened.backend));
  const milliseconds ttl =
      options.ttl ? std::chrono::ceil<milliseconds>(*options.ttl) : ReservationOptions().token_ttl;
  WEIR_ASSIGN_OR_RETURN(const HeldSlot bound, Await<HeldSlot>([&](auto done) {
                          store.Bind({found.key, found.id}, options.resource_id, ttl,
                                     opened.backend.Now(context.process().clock),
                                     context.StoreDeadline(), std::move(done));
                        }));
  context.WriteResult(ToJson(bound), fmt::format("bound {} to {} until {}", bound.id,
                                                 bound.resource_id, FormatTime(bound.expires)));
  return Exit::kDone;
}

Result<Exit> ReleaseNamedSlots(const SlotOptions& options, Context& context,
                               const OpenedReservations& opened) {
  ReservationStore& store = opened.backend.slots();
  WEIR_ASSIGN_OR_RETURN(const auto slots, FindSlots(options, context, opened.backend));
  Json ids = Json::array();
  std::string text;
  for (const HeldSlot& slot : slots) {
    const auto released = Await<bool>([&](auto done) {
      store.Release({slot.key, slot.id}, opened.backend.Now(context.process().clock),
                    context.StoreDeadline(), std::move(done));
    });
    if (!released && ids.empty()) return Fail(released.error());
    if (!released) {
      return Fail(released.error().code,
                  fmt::format("{}; {} of {} slots were released", released.error().message,
                              ids.size(), slots.size()));
    }
    ids.push_back(slot.id);
    text += fmt::format("released {}\n", slot.id);
  }
  context.WriteResult({{"released", slots.front().id}, {"slots", ids}}, text);
  return Exit::kDone;
}

using SlotVerb = Result<Exit> (*)(const SlotOptions&, Context&, const OpenedReservations&);

}  // namespace

void AddAccount(CLI::App& verb, AccountKey& key) {
  const auto resource = [](const std::string& text) { return Check(AccountKey{text, "-"}); };
  AddParsed(verb, "RESOURCE", key.resource, CheckedUnlessEmpty(resource), "the limited resource")
      ->required()
      ->option_text(" ");
  const auto account = [](const std::string& text) { return Check(AccountKey{"-", text}); };
  AddParsed(verb, "ACCOUNT", key.account, CheckedUnlessEmpty(account), "the limited account")
      ->required()
      ->option_text(" ");
}

void AddReservation(CLI::App& app, Action& chosen, const WithReservations& with_reservations) {
  CLI::App& group =
      AddGroup(app, "reservation", "Held slots, events that release them, and accounts' limits");
  const auto add = [&](const std::string& name, const std::string& what, SlotVerb run,
                       const std::shared_ptr<SlotOptions>& options) -> CLI::App& {
    CLI::App& verb =
        AddVerb(group, name, what, options, chosen, OnReservations(with_reservations, run));
    AddAccount(verb, options->key);
    return verb;
  };
  const auto listed = std::make_shared<SlotOptions>();
  const auto list = OnReservations(with_reservations, ListHeldSlots);
  AddAccount(AddVerb(group, "list", "List the held slots of an account", listed, chosen,
                     [list](const SlotOptions& given, Context& context) {
                       context.reservation_access = Access::kRead;
                       return list(given, context);
                     }),
             listed->key);
  const auto bound = std::make_shared<SlotOptions>();
  CLI::App& bind =
      add("bind", "Bind a slot to the resource that was created", BindNamedSlot, bound);
  bind.add_option("SLOT", bound->slot, kSlotHelp)->required()->option_text(" ");
  AddParsed(bind, "ID", bound->resource_id, CheckedUnlessEmpty(CheckResourceId),
            "the created resource: a cluster, a job")
      ->required()
      ->option_text(" ");
  AddParsed(bind, "--ttl", bound->ttl, ParsePositiveDuration,
            "maximum time that the slot is held (default: 8h)")
      ->option_text("DURATION");
  const auto released = std::make_shared<SlotOptions>();
  add("release", "Release a slot, or all slots that are bound to a resource", ReleaseNamedSlots,
      released)
      .add_option("SLOT", released->slot, kSlotHelp)
      ->required()
      ->option_text(" ");
  AddLoadLimits(group, chosen, with_reservations);
  AddReservationEvents(group, chosen, with_reservations);
}

}  // namespace weir::app
