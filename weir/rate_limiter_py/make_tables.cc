#include "weir/rate_limiter_py/make_tables.h"

#include <memory>
#include <utility>

namespace weir::rate_limiter_py {
namespace {

using dynamo::TableAdmin;
using dynamo::TableCreated;
using dynamo::TablePurpose;

struct Part {
  dynamo::Table Tables::* table;
  TableCreated TablesMade::* made;
  std::string_view time_to_live;
  bool recovery;
};
constexpr Part kParts[] = {
    {&Tables::tokens, &TablesMade::tokens, "", false},
    {&Tables::limits, &TablesMade::limits, "", true},
    {&Tables::slots, &TablesMade::slots, kExpirationTime, false},
};

TablePurpose PurposeOf(const Part& part) {
  return {.time_to_live = std::string(part.time_to_live),
          .recovery = part.recovery,
          .version = false,
          .exact = false};
}

// One call of MakeTables. The callback of the creation in progress owns it.
struct Making {
  Tables& tables;
  Scheduler& scheduler;
  Deadline deadline;
  Done<TablesMade> done;
  TablesMade made{};
  std::size_t next = 0;

  static void MakeNext(std::unique_ptr<Making> self) {
    if (self->next == std::size(kParts)) return self->done(self->made);
    const Part& part = kParts[self->next++];
    TableAdmin admin(self->tables.*part.table, self->scheduler, PurposeOf(part));
    const Deadline deadline = self->deadline;
    admin.Create("", deadline, [&part, self = std::move(self)](Result<TableCreated> reply) mutable {
      if (!reply) return self->done(Fail(std::move(reply.error())));
      self->made.*part.made = *reply;
      MakeNext(std::move(self));
    });
  }
};

}  // namespace

Tables::Tables(JsonClient& client, Scheduler& scheduler, TableNames table_names, std::uint64_t seed)
    : names(std::move(table_names)),
      layouts(LayoutsOf(names)),
      tokens(client, scheduler, names.tokens, seed, layouts.tokens),
      limits(client, scheduler, names.limits, seed, layouts.limits),
      slots(client, scheduler, names.slots, seed, layouts.slots) {}

void MakeTables(Tables& tables, Scheduler& scheduler, Deadline deadline, Done<TablesMade> done) {
  Making::MakeNext(std::make_unique<Making>(Making{tables, scheduler, deadline, std::move(done)}));
}

}  // namespace weir::rate_limiter_py
