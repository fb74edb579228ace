#include "weir/zae_table/table_creation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "weir/zae_table/table_features.h"
#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

// A table becomes active within seconds; polling more often does not make it active sooner.
constexpr milliseconds kFirstWait{100};
constexpr milliseconds kLongestWait{2000};

// One call of CreateTable. Each step starts the next one.
//
//   FindTable --> CompareWith --+--> AwaitActive --> SetTimeToLive --> SetRecovery --> WriteVersion
//      |                        |      |   ^                                 |          ^
//      +----> SendCreation -----+      +---+                                 v          |
//        no such table              not active                          TryRecovery ----+
//                                                                          |   ^
//                                                                          +---+
//                                                                       not ready yet
struct CreateCall : std::enable_shared_from_this<CreateCall> {
  CreateCall(Table& the_table, Scheduler& the_scheduler, TablePurpose the_purpose)
      : table(the_table), scheduler(the_scheduler), purpose(std::move(the_purpose)) {}

  Table& table;
  Scheduler& scheduler;
  const TablePurpose purpose;
  std::string by;
  Deadline deadline = Deadline::Never();
  Done<TableCreated> done;
  TableCreated result;
  milliseconds wait = kFirstWait;

  // Looks for the table.
  void FindTable();
  // Creates the table.
  void SendCreation();
  // Waits until the table is active.
  void AwaitActive();
  void SetTimeToLive();
  void SetRecovery();
  // Turns recovery on; tries again while the table is too young.
  void TryRecovery();
  void WriteVersion();

  // Compares the table that exists with the layout.
  void CompareWith(const TableDescription& description);
  // Runs `step` again after a pause. `what`: the state that is waited for.
  void RunLater(std::string_view what, void (CreateCall::*step)());

  // Returns a Done that ends the creation on an error, and calls `next` with a value.
  template <class T, class Next>
  Done<T> OrEnd(Next next) {
    return [self = shared_from_this(), next](Result<T> outcome) mutable {
      if (!outcome) return self->done(Fail(std::move(outcome.error())));
      next(*self, std::move(*outcome));
    };
  }
};

void CreateCall::FindTable() {
  DescribeTable(table, deadline, [self = shared_from_this()](Result<TableDescription> found) {
    if (found) return self->CompareWith(*found);
    if (found.error().code == Code::kNotFound) return self->SendCreation();
    self->done(Fail(std::move(found.error())));
  });
}

void CreateCall::CompareWith(const TableDescription& description) {
  const std::vector<std::string> differences =
      RelevantDifferences(description.layout, table.layout(), purpose);
  if (!differences.empty()) {
    return done(Fail(Code::kFailedPrecondition,
                     fmt::format("table {} exists with another layout ({}; {} differences in all): "
                                 "name another table, or see 'weir table check'",
                                 table.name(), differences.front(), differences.size())));
  }
  if (description.status == "DELETING") {
    return done(
        Fail(Code::kUnavailable,
             fmt::format("table {} is being deleted: try again when it is gone", table.name())));
  }
  AwaitActive();
}

void CreateCall::SendCreation() {
  const auto on_reply = [self = shared_from_this()](tl::expected<JsonReply, AwsFailure> reply) {
    // Another process created the table first, or the response to an earlier attempt was lost.
    const bool exists = !reply && reply.error().code == "ResourceInUseException";
    if (!reply && !exists) return self->done(Fail(ToError(reply.error())));
    self->result.created = !exists;
    self->AwaitActive();
  };
  table.CallForCode("CreateTable", CreateTableBody(table.name(), table.layout()), deadline,
                    on_reply);
}

void CreateCall::AwaitActive() {
  DescribeTable(table, deadline, [self = shared_from_this()](Result<TableDescription> found) {
    // A table that was created just now may not be known everywhere yet.
    const bool is_new = !found && found.error().code == Code::kNotFound;
    if (!found && !is_new) return self->done(Fail(std::move(found.error())));
    if (found && found->status == "ACTIVE") return self->SetTimeToLive();
    self->RunLater("active", &CreateCall::AwaitActive);
  });
}

void CreateCall::RunLater(std::string_view what, void (CreateCall::*step)()) {
  const Instant next = scheduler.clock().Now() + wait;
  if (deadline.ExpiredAt(next)) {
    return done(
        Fail(Code::kDeadlineExceeded,
             fmt::format("table {} was not {} in time: try again; the next call continues here",
                         table.name(), what)));
  }
  wait = std::min(wait * 2, kLongestWait);
  scheduler.At(next, [self = shared_from_this(), step] { ((*self).*step)(); });
}

void CreateCall::SetTimeToLive() {
  if (purpose.time_to_live.empty()) return SetRecovery();
  ReadTimeToLive(
      table, deadline, OrEnd<TimeToLive>([](CreateCall& self, const TimeToLive& found) {
        self.result.time_to_live = found.feature;
        if (found.feature == Feature::kNotOffered) return self.SetRecovery();
        if (found.feature == Feature::kOn && found.attribute == self.purpose.time_to_live) {
          return self.SetRecovery();
        }
        if (found.feature == Feature::kOn) {
          return self.done(
              Fail(Code::kFailedPrecondition,
                   fmt::format("table {}: time to live is on for attribute {}, should be "
                               "{}: turn it off first",
                               self.table.name(), found.attribute, self.purpose.time_to_live)));
        }
        TurnOnTimeToLive(self.table, self.purpose.time_to_live, self.deadline,
                         self.OrEnd<Feature>([](CreateCall& call, Feature feature) {
                           call.result.time_to_live = feature;
                           call.SetRecovery();
                         }));
      }));
}

void CreateCall::SetRecovery() {
  if (!purpose.recovery) return WriteVersion();
  wait = kFirstWait;
  ReadRecovery(table, deadline, OrEnd<Feature>([](CreateCall& self, Feature found) {
                 self.result.recovery = found;
                 if (found == Feature::kOff) return self.TryRecovery();
                 self.WriteVersion();
               }));
}

void CreateCall::TryRecovery() {
  TurnOnRecovery(
      table, deadline,
      OrEnd<std::optional<Feature>>([](CreateCall& self, std::optional<Feature> feature) {
        if (!feature) return self.RunLater("ready for recovery", &CreateCall::TryRecovery);
        self.result.recovery = *feature;
        self.WriteVersion();
      }));
}

void CreateCall::WriteVersion() {
  if (!purpose.version) return done(result);
  Write put{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
  put.item = NewVersionRecord(scheduler.clock().WallNow(), by);
  put.expression.RequireAbsent("PK");
  table.Apply(put, true, deadline,
              [self = shared_from_this()](tl::expected<WriteResponse, WriteFailure> written) {
                const bool exists = !written && written.error().kind == FailureClass::kConditional;
                if (!written && !exists) return self->done(Fail(written.error().error));
                self->result.wrote_version = !exists;
                self->done(self->result);
              });
}

}  // namespace

void CreateTable(Table& table, Scheduler& scheduler, TableCreation creation,
                 Done<TableCreated> done) {
  const auto call = std::make_shared<CreateCall>(table, scheduler, std::move(creation.purpose));
  call->by = std::move(creation.by);
  call->deadline = creation.deadline;
  call->done = std::move(done);
  call->FindTable();
}

}  // namespace weir::dynamo
