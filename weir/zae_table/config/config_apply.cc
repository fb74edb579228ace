#include "weir/zae_table/config/config_apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_reader.h"
#include "weir/zae_table/config/entity_eraser.h"

namespace weir::dynamo {
namespace {

constexpr int kMaxTries = 10;

// One call of ApplyConfig. Pending requests own it.
//
//   Start --> Round: read the state <---------------------+--------------------------------+
//               |                                         | conflict                       |
//               v                                         |                                |
//             Choose: plan as many changes as fit --> Write: transaction                   |
//                                                         | applied                        |
//                                                         v                                |
//             EraseNext: erase records --> DropNext --> PropagateNext --> StartNextStep ---+
//               |
//               +-- plan_.partial: more limits to delete --> Round
//
// Round completes the call when all changes are made; End completes it with an error.
class ConfigApplication : public std::enable_shared_from_this<ConfigApplication> {
 public:
  ConfigApplication(Table& table, Keys keys, ConfigSources sources,
                    std::vector<ConfigChange> changes)
      : table_(table),
        keys_(std::move(keys)),
        sources_(std::move(sources)),
        changes_(std::move(changes)) {}

  void Start(Deadline deadline, Done<void> done) {
    deadline_ = deadline;
    done_ = std::move(done);
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      const Status valid = Check(changes_[i]);
      if (valid) continue;
      return done_(Fail(valid.error().code, fmt::format("change {} of {}, {}", i + 1,
                                                        changes_.size(), valid.error().message)));
    }
    Round();
  }

 private:
  // Returns the changes that this round may plan. Only the first round plans the whole list, to
  // check it.
  std::span<const ConfigChange> Window() const {
    const std::span<const ConfigChange> todo = std::span(changes_).subspan(made_);
    return made_ == 0 ? todo : todo.first(std::min(todo.size(), kMaxActions));
  }

  void Round() {
    if (made_ == changes_.size()) return done_({});
    ReadConfigState(table_, keys_, Window(), deadline_,
                    [self = shared_from_this()](Result<ConfigState> state) {
                      if (!state) return self->End(std::move(state.error()));
                      state->first_is_audited = self->first_is_audited_;
                      const Status chosen = self->Choose(*state);
                      if (!chosen) return self->End(chosen.error());
                      self->Write();
                    });
  }

  // Plans as many of the changes as fit into one transaction, in order.
  Status Choose(const ConfigState& state) {
    std::span<const ConfigChange> part = Window();
    WEIR_ASSIGN_OR_RETURN(plan_, MakePlan(keys_, part, state, sources_));
    while (plan_.writes.size() > kMaxActions) {
      if (part.size() == 1) return TooMuch(part.front());
      // The number that fits if all changes need the same number of actions.
      const std::size_t fit = part.size() * kMaxActions / plan_.writes.size();
      part = part.first(std::clamp<std::size_t>(fit, 1, part.size() - 1));
      WEIR_ASSIGN_OR_RETURN(plan_, MakePlan(keys_, part, state, sources_));
    }
    part_ = part.size();
    return {};
  }

  Status TooMuch(const ConfigChange& change) const {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: it needs {} actions and a transaction holds {}; shorten the chain "
                            "of parents",
                            Describe(change), plan_.writes.size(), kMaxActions));
  }

  void Write() {
    if (plan_.writes.empty()) return EraseNext();
    const std::string token = Hex(sources_.random()) + Hex(sources_.random());
    table_.TransactPatiently(
        plan_.writes, token, deadline_,
        [self = shared_from_this()](tl::expected<WriteResponse, WriteFailure> result) {
          if (result) return self->EraseNext();
          self->TryAgain(result.error());
        });
  }

  void TryAgain(const WriteFailure& failure) {
    if (!IsWorthAnotherTry(failure)) return End(failure.error);
    if (++tries_ < kMaxTries) return Round();
    End({.code = Code::kAborted,
         .message = fmt::format("other writers changed the same items during each of {} tries; "
                                "apply the list again ({})",
                                kMaxTries, failure.error.message)});
  }

  // After the transaction: erases the other records of deleted entities, one entity after the
  // other.
  void EraseNext() {
    tries_ = 0;
    if (plan_.partial) {
      first_is_audited_ = true;
      dropped_ += plan_.dropped;
      return Round();
    }
    dropped_ = 0;
    if (plan_.erased_entities.empty()) return DropNext();
    std::string id = std::move(plan_.erased_entities.back());
    plan_.erased_entities.pop_back();
    EraseRecords(table_, keys_, id, deadline_,
                 [self = shared_from_this(), id](Status erased) mutable {
                   if (erased) return self->EraseNext();
                   self->EndErasing(id, std::move(erased.error()));
                 });
  }

  // Deletes the items of deleted entities, one after the other.
  void DropNext() {
    if (plan_.deleted_items.empty()) return PropagateNext();
    table_.Apply(
        plan_.deleted_items.back(), true, deadline_,
        [self = shared_from_this()](const tl::expected<WriteResponse, WriteFailure>& result) {
          self->OnDropped(result);
        });
  }

  void OnDropped(const tl::expected<WriteResponse, WriteFailure>& result) {
    const FailureClass kind = result ? FailureClass::kPermanent : result.error().kind;
    // If the condition failed, another client has deleted the entity too, and may have created it
    // again.
    if (result || kind == FailureClass::kConditional) {
      plan_.deleted_items.pop_back();
      return DropNext();
    }
    if (kind == FailureClass::kConflict && ++tries_ < kMaxTries) return DropNext();
    const std::string& pk = plan_.deleted_items.back().key.pk;
    EndErasing(pk.substr(pk.find('#') + 1), result.error().error);
  }

  // Copies parent and cascade of entities into their buckets, one entity after the other.
  void PropagateNext() {
    if (plan_.propagated.empty()) return StartNextStep();
    PropagationTarget target = std::move(plan_.propagated.back());
    plan_.propagated.pop_back();
    PropagateParent(table_, keys_, std::move(target), deadline_,
                    [self = shared_from_this()](Status copied) {
                      if (copied) return self->PropagateNext();
                      self->End(std::move(copied.error()));
                    });
  }

  void StartNextStep() {
    made_ += part_;
    first_is_audited_ = false;
    Round();
  }

  void EndErasing(const std::string& what, Error error) {
    error.message = fmt::format(
        "entity {}: its limits are deleted, some of its other records are not; "
        "delete it again: {}",
        what, error.message);
    End(std::move(error));
  }

  // The message says "at least" because a transaction whose response was lost may have deleted
  // more.
  void NoteDropped(Error& error) const {
    if (dropped_ == 0) return;
    error.message = fmt::format(
        "{}: at least {} of its limits are deleted, its other records are not; delete it again to "
        "continue: {}",
        Describe(changes_[made_]), dropped_, error.message);
  }

  void End(Error error) {
    NoteDropped(error);
    if (made_ > 0) {
      error.message = fmt::format(
          "changes 1 to {} of {} are made; apply the list again to make "
          "the others, which failed: {}",
          made_, changes_.size(), error.message);
    }
    done_(Fail(std::move(error)));
  }

  Table& table_;
  const Keys keys_;
  const ConfigSources sources_;
  const std::vector<ConfigChange> changes_;
  Deadline deadline_ = Deadline::Never();
  Done<void> done_;
  std::size_t made_ = 0;  // the number of changes that are made
  std::size_t part_ = 0;  // the number of changes in plan_
  ConfigPlan plan_;
  int tries_ = 0;
  bool first_is_audited_ = false;  // the event of the first change that is not made yet is stored
  std::size_t dropped_ = 0;        // limits deleted by earlier transactions of this change
};

}  // namespace

bool IsWorthAnotherTry(const WriteFailure& failure) {
  if (failure.kind == FailureClass::kConflict) return true;
  if (failure.kind != FailureClass::kConditional) return false;
  static constexpr std::array<std::string_view, 5> kPassing = {
      "None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError",
      "ProvisionedThroughputExceeded"};
  return std::ranges::all_of(failure.reasons, [](const CancellationReason& reason) {
    return std::ranges::find(kPassing, reason.code) != kPassing.end();
  });
}

void ApplyConfig(Table& table, const Keys& keys, const ConfigSources& sources,
                 std::vector<ConfigChange> changes, Deadline deadline, Done<void> done) {
  std::make_shared<ConfigApplication>(table, keys, sources, std::move(changes))
      ->Start(deadline, std::move(done));
}

}  // namespace weir::dynamo
