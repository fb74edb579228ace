#include "weir/zae_table/namespace/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/codec/iso_time.h"
#include "weir/zae_table/testing/namespace_fixture.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> NamesIn(const Result<Page<Namespace>>& page) {
  std::vector<std::string> names;
  for (const Namespace& space : page.value().items) names.push_back(space.name);
  return names;
}

TEST(Namespaces, RegisteringWritesBothRecords) {
  NamespaceRig t;
  const auto space = t.Register("team-a");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->id.size(), 11U);
  const auto forward = t.sim.Get(NamespaceForward("team-a"));
  const auto reverse = t.sim.Get(NamespaceReverse(space->id));
  ASSERT_TRUE(forward && reverse);
  for (const Item& record : {*forward, *reverse}) {
    EXPECT_EQ(*GetText(record, "namespace_id"), space->id);
    EXPECT_EQ(*GetText(record, "namespace_name"), "team-a");
    EXPECT_EQ(*GetText(record, "status"), "active");
    EXPECT_EQ(*GetText(record, "created_at"), FormatIso(t.sim.scheduler.clock().WallNow()));
    EXPECT_EQ(*GetText(record, "GSI4PK"), "_");
    EXPECT_EQ(*GetText(record, "GSI4SK"), "_/SYSTEM#");
  }
  EXPECT_THAT(t.sim.AllKeys(), SizeIs(2));
}

TEST(Namespaces, RegisteringTwiceAnswersTheSameId) {
  NamespaceRig t;
  const auto first = t.Register("team-a");
  const auto second = t.Register("team-a");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id, second->id);
  EXPECT_THAT(t.sim.AllKeys(), SizeIs(2));
}

TEST(Namespaces, NamesThatNobodyMayHaveAreRefused) {
  NamespaceRig t;
  for (const char* name : {"_", "", "a b"}) {
    EXPECT_EQ(t.Register(name).error().code, Code::kInvalidArgument) << name;
  }
  EXPECT_THAT(t.sim.AllKeys(), IsEmpty());
}

TEST(Namespaces, AnIdNeverBeginsWithADash) {
  NamespaceRig t;
  t.next_random = 0xF800'0000'0000'0000;
  const auto space = t.Register("team-a");
  ASSERT_TRUE(space);
  EXPECT_NE(space->id[0], '-');
}

TEST(Namespaces, TheIdOfAnotherIsNotTakenOver) {
  NamespaceRig t;
  const Namespace first = *t.Register("team-a");
  t.next_random = 0x1234'5678'9ABC'DEF1;  // as the first one was drawn
  const auto second = t.Register("team-b");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->id, first.id);
}

TEST(Namespaces, WhoRegistersAtTheSameTimeGetsTheSameId) {
  NamespaceRig t;
  std::optional<Namespace> other;
  t.sim.client.before_each = [&](const JsonCall& call) {
    if (call.operation == "TransactWriteItems" && !other) other = *t.Register("team-a");
  };
  const auto space = t.Register("team-a");
  ASSERT_TRUE(space && other);
  EXPECT_EQ(space->id, other->id);
}

TEST(Namespaces, ConflictsThatDoNotEndAreToldAsSuch) {
  NamespaceRig t;
  t.sim.server.faults.conflict = 1;
  EXPECT_EQ(t.Register("team-a").error().code, Code::kAborted);
}

TEST(Namespaces, AreListedInOrderPageByPage) {
  NamespaceRig t;
  for (const char* name : {"delta", "alpha", "charlie", "bravo"}) ASSERT_TRUE(t.Register(name));
  EXPECT_THAT(NamesIn(t.List()), ElementsAre("alpha", "bravo", "charlie", "delta"));
  const auto first = t.List({.cursor = "", .limit = 2});
  EXPECT_THAT(NamesIn(first), ElementsAre("alpha", "bravo"));
  const auto second = t.List({.cursor = first->next, .limit = 2});
  EXPECT_THAT(NamesIn(second), ElementsAre("charlie", "delta"));
  EXPECT_EQ(second->next, "");
  EXPECT_EQ(t.List({.cursor = "", .limit = 0}).error().code, Code::kInvalidArgument);
}

TEST(Namespaces, GetTellsWhatIsRegistered) {
  NamespaceRig t;
  const Namespace space = *t.Register("team-a");
  const auto found = t.Get("team-a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, space.id);
  EXPECT_EQ((*found)->status, NamespaceStatus::kActive);
  EXPECT_EQ(*t.Get("team-b"), std::nullopt);
}

TEST(Namespaces, DeletingFreesTheNameAndKeepsTheData) {
  NamespaceRig t;
  const Namespace space = *t.Register("team-a");
  t.PutItem(Keys(space.id).Entity("acme"), space.id);
  const auto deleted = t.Delete("team-a");
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(deleted->status, NamespaceStatus::kDeleted);
  EXPECT_EQ(*t.Get("team-a"), std::nullopt);
  const Item reverse = *t.sim.Get(NamespaceReverse(space.id));
  EXPECT_EQ(*GetText(reverse, "status"), "deleted");
  EXPECT_EQ(*GetText(reverse, "deleted_at"), FormatIso(t.sim.scheduler.clock().WallNow()));
  EXPECT_TRUE(t.sim.Get(Keys(space.id).Entity("acme")));
  const Namespace successor = *t.Register("team-a");
  EXPECT_NE(successor.id, space.id);
}

TEST(Namespaces, DeletingWhatIsNotRegisteredIsNotFound) {
  NamespaceRig t;
  const auto unknown = t.Delete("team-a");
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("'weir namespace list' lists"));
}

// Fails if: the error of a failed read of the deleted namespaces replaces the cause.
TEST(Namespaces, AnUnregisteredNameIsReportedWithoutTheRightToListNamespaces) {
  NamespaceRig t;
  t.sim.client.before_each = [&](const JsonCall& call) {
    t.sim.client.refusal = call.operation == "Query" ? "AccessDeniedException" : "";
  };
  EXPECT_THAT(t.Resolve("team-a").error().message, HasSubstr("weir namespace register team-a"));
}

// Fails if: the error names a namespace that is being purged, or one that was deleted earlier.
TEST(Namespaces, ADeletedNameIsReportedWithTheIdToRecover) {
  NamespaceRig t;
  ASSERT_TRUE(t.Register("team-a") && t.Delete("team-a"));
  t.sim.scheduler.Advance(std::chrono::seconds(1));
  const Namespace later = *t.Register("team-a");
  ASSERT_TRUE(t.Delete("team-a"));
  t.sim.scheduler.Advance(std::chrono::seconds(1));
  Namespace purging = *t.Register("team-a");
  purging = *t.Delete("team-a");
  purging.status = NamespaceStatus::kPurging;
  t.SetReverse(purging);
  const std::string remedy = "'weir namespace recover " + later.id + "' restores it";
  EXPECT_THAT(t.Resolve("team-a").error().message, HasSubstr(remedy));
  EXPECT_THAT(t.Delete("team-a").error().message, HasSubstr(remedy));
}

TEST(Namespaces, OrphansAreThoseThatNoNameLeadsTo) {
  NamespaceRig t;
  const Namespace kept = *t.Register("kept");
  const Namespace gone = *t.Register("gone");
  const Namespace purged = *t.Register("purged");
  ASSERT_TRUE(t.Delete("gone"));
  ASSERT_TRUE(t.Delete("purged"));
  Namespace purging = purged;
  purging.status = NamespaceStatus::kPurging;
  t.SetReverse(purging);
  // Python was stopped between its two writes.
  const Namespace half = *t.Register("half");
  t.DeleteItem(NamespaceForward("half"));

  const auto orphans = t.Orphans();
  ASSERT_TRUE(orphans);
  std::map<std::string, NamespaceStatus> by_name;
  for (const Namespace& space : orphans->items) by_name[space.name] = space.status;
  EXPECT_EQ(by_name,
            (std::map<std::string, NamespaceStatus>{{"gone", NamespaceStatus::kDeleted},
                                                    {"half", NamespaceStatus::kDeleted},
                                                    {"purged", NamespaceStatus::kPurging}}));

  std::vector<std::string> paged;
  PageRequest request{.cursor = "", .limit = 1};
  do {
    const auto page = t.Orphans(request);
    ASSERT_THAT(page->items, SizeIs(1));
    paged.push_back(page->items[0].id);
    request.cursor = page->next;
  } while (!request.cursor.empty());
  EXPECT_THAT(paged, SizeIs(3));
  EXPECT_TRUE(std::ranges::is_sorted(paged));
  EXPECT_EQ(t.Orphans({.cursor = "", .limit = 0}).error().code, Code::kInvalidArgument);
}

TEST(Namespaces, RecoveringGivesTheNameBack) {
  NamespaceRig t;
  const Namespace space = *t.Register("team-a");
  ASSERT_TRUE(t.Delete("team-a"));
  const auto recovered = t.Recover(space.id);
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_EQ(recovered->name, "team-a");
  EXPECT_EQ(*t.Resolve("team-a"), space.id);
  const Item reverse = *t.sim.Get(NamespaceReverse(space.id));
  EXPECT_EQ(*GetText(reverse, "status"), "active");
  EXPECT_FALSE(reverse.contains("deleted_at"));
  EXPECT_EQ((*t.Get("team-a"))->created_at, UnixMillis{space.created_at.value / 1000 * 1000});
}

TEST(Namespaces, WhatCannotBeRecoveredIsRefusedAndStays) {
  NamespaceRig t;
  EXPECT_EQ(t.Recover("unknown").error().code, Code::kNotFound);
  EXPECT_EQ(t.Recover("_").error().code, Code::kInvalidArgument);

  const Namespace space = *t.Register("team-a");
  EXPECT_THAT(t.Recover(space.id).error().message, HasSubstr("is active"));

  ASSERT_TRUE(t.Delete("team-a"));
  const Namespace successor = *t.Register("team-a");
  const auto taken = t.Recover(space.id);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(taken.error().message, HasSubstr(successor.id));
  EXPECT_EQ(*t.Resolve("team-a"), successor.id);

  Namespace purging = space;
  purging.status = NamespaceStatus::kPurging;
  t.SetReverse(purging);
  EXPECT_THAT(t.Recover(space.id).error().message, HasSubstr("purged"));
}

TEST(Namespaces, WhatPythonLeftHalfDoneIsCompleted) {
  NamespaceRig t;
  Namespace space = *t.Register("team-a");
  space.status = NamespaceStatus::kDeleted;
  t.SetReverse(space);  // recovered by name, and not yet by id
  ASSERT_TRUE(t.Recover(space.id));
  EXPECT_EQ(*GetText(*t.sim.Get(NamespaceReverse(space.id)), "status"), "active");

  t.DeleteItem(NamespaceForward("team-a"));  // deleted by name, and not yet by id
  ASSERT_TRUE(t.Recover(space.id));
  EXPECT_EQ(*t.Resolve("team-a"), space.id);
}

TEST(Namespaces, WhatOthersDoBetweenTwoReadsIsNotTakenForHalfDone) {
  NamespaceRig t;
  const Namespace space = *t.Register("team-a");
  ASSERT_TRUE(t.Delete("team-a"));
  int reads = 0;
  int writes = 0;
  t.sim.client.before_each = [&](const JsonCall& call) {
    // The id is read as deleted, then its name as registered, and both change back.
    if (call.operation == "GetItem" && ++reads == 2) {
      ASSERT_TRUE(t.Recover(space.id));
    }
    if (call.operation == "TransactWriteItems" && ++writes == 1) {
      ASSERT_TRUE(t.Delete("team-a"));
    }
  };
  ASSERT_TRUE(t.Recover(space.id));
  EXPECT_EQ(writes, 2);
  EXPECT_EQ(*t.Resolve("team-a"), space.id);
  EXPECT_THAT(t.Orphans()->items, IsEmpty());
}

TEST(Namespaces, ANameResolvesToItsIdAndNothingIsRegistered) {
  NamespaceRig t;
  const auto unknown = t.Resolve("team-a");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("weir namespace register team-a"));
  EXPECT_THAT(t.sim.AllKeys(), IsEmpty());
  EXPECT_EQ(*t.Resolve("id:default"), "default");
  EXPECT_EQ(t.Resolve("id:_").error().code, Code::kInvalidArgument);
}

TEST(Namespaces, TheIdOfADeletedOneDoesNotResolve) {
  NamespaceRig t;
  const Namespace space = *t.Register("team-a");
  EXPECT_EQ(*t.Resolve("id:" + space.id), space.id);
  ASSERT_TRUE(t.Delete("team-a"));
  const auto resolved = t.Resolve("id:" + space.id);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(resolved.error().message, HasSubstr("deleted"));
}

TEST(Namespaces, ADamagedRecordIsNamed) {
  NamespaceRig t;
  Item record = ToItem(NamespaceForward("team-a"));
  record.emplace("namespace_id", Of("x"));
  t.sim.Put(record);
  const auto found = t.Get("team-a");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kDataLoss);
  EXPECT_THAT(found.error().message, HasSubstr("#NAMESPACE#team-a"));
}

// Fails if: one namespace that cannot be read hides all others.
TEST(Namespaces, ADamagedRecordIsListedAsSuch) {
  NamespaceRig t;
  ASSERT_TRUE(t.Register("team-b"));
  Item record = ToItem(NamespaceForward("team-a"));
  record.emplace("namespace_id", Of("x"));
  t.sim.Put(record);
  const auto page = t.sim.Ask<Page<Namespace>>(
      [&](auto done) { t.spaces.List({}, Deadline::Never(), std::move(done)); });
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].name, "team-b");
  ASSERT_EQ(page->unreadable.size(), 1U);
  EXPECT_THAT(page->unreadable[0], HasSubstr("#NAMESPACE#team-a"));
}

// At whatever call a change is interrupted, both records agree: it happened or it did not.
TEST(Namespaces, NoChangeIsEverHalfDone) {
  for (const auto fault : {DirectClient::Fault::kUnsent, DirectClient::Fault::kLostResponse}) {
    for (int change = 0; change < 3; ++change) {
      bool succeeded = false;
      for (std::uint64_t nth = 1; !succeeded; ++nth) {
        ASSERT_LT(nth, 10U);
        NamespaceRig t;
        std::string id;
        if (change > 0) id = t.Register("team-a")->id;
        if (change > 1) {
          ASSERT_TRUE(t.Delete("team-a"));
        }
        t.sim.client.FailFrom(nth, fault);
        if (change == 0) succeeded = t.Register("team-a").has_value();
        if (change == 1) succeeded = t.Delete("team-a").has_value();
        if (change == 2) succeeded = t.Recover(id).has_value();
        t.sim.client.Heal();
        const auto forward = *t.Get("team-a");
        const auto orphans = t.Orphans();
        EXPECT_EQ(t.sim.AllKeys().size(), forward ? 2U : orphans->items.size());
        if (forward) {
          const Item reverse = *t.sim.Get(NamespaceReverse(forward->id));
          EXPECT_EQ(*GetText(reverse, "status"), "active");
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::dynamo
