#include "weir/zae_table/namespace/namespace_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/keys.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Namespace Space(std::string id, NamespaceStatus status = NamespaceStatus::kActive) {
  return {.id = std::move(id), .name = "team-a", .status = status, .created_at = {1000}};
}

NamespaceRecords Active() { return {Space("x"), Space("x")}; }
NamespaceRecords Deleted() { return {{}, Space("x", NamespaceStatus::kDeleted)}; }
NamespaceRecords Purging() { return {{}, Space("x", NamespaceStatus::kPurging)}; }
NamespaceRecords Stranded() { return {{}, Space("x")}; }
NamespaceRecords Succeeded() { return {Space("y"), Space("x", NamespaceStatus::kDeleted)}; }
NamespaceRecords HalfRecovered() { return {Space("x"), Space("x", NamespaceStatus::kDeleted)}; }

// Returns the changes and conditions of a write as they are sent.
std::string TextOf(const Write& write) {
  std::string text;
  write.expression.AppendTo(text);
  return text;
}

Code CodeOf(const DecidedWrites& decided) {
  return decided ? Code::kUnknown : decided.error().code;
}

TEST(NamespaceChange, ARegistrationPutsBothWhereNeitherIs) {
  NamespaceRecords records;
  const auto writes = DecideRegister(Space("x"), records);
  ASSERT_TRUE(writes);
  ASSERT_THAT(*writes, SizeIs(2));
  for (const Write& write : *writes) {
    EXPECT_EQ(write.kind, Write::Kind::kPut);
    EXPECT_THAT(TextOf(write), HasSubstr("attribute_not_exists(#0)"));
  }
  EXPECT_EQ(KeyOf((*writes)[0].item), NamespaceForward("team-a"));
  EXPECT_EQ(KeyOf((*writes)[1].item), NamespaceReverse("x"));
  EXPECT_EQ(records.forward, Space("x"));
}

TEST(NamespaceChange, WhatIsRegisteredIsLeftAsItIs) {
  NamespaceRecords records = Active();
  const auto writes = DecideRegister(Space("other"), records);
  ASSERT_TRUE(writes);
  EXPECT_THAT(*writes, IsEmpty());
  EXPECT_EQ(records.forward, Space("x"));
}

TEST(NamespaceChange, ADeletionRequiresWhatWasRead) {
  NamespaceRecords records = Active();
  const auto writes = DecideDelete("team-a", records, kNewYear);
  ASSERT_TRUE(writes);
  ASSERT_THAT(*writes, SizeIs(2));
  EXPECT_EQ((*writes)[0].kind, Write::Kind::kDelete);
  EXPECT_EQ((*writes)[0].key, NamespaceForward("team-a"));
  EXPECT_THAT(TextOf((*writes)[0]), HasSubstr(R"(":0":{"S":"x"})"));
  EXPECT_EQ((*writes)[1].kind, Write::Kind::kUpdate);
  EXPECT_EQ((*writes)[1].key, NamespaceReverse("x"));
  EXPECT_THAT(TextOf((*writes)[1]), HasSubstr(R"("ConditionExpression":"#0 = :0")"));
  EXPECT_THAT(TextOf((*writes)[1]), HasSubstr("2026-01-01T00:00:00Z"));
  EXPECT_EQ(records.reverse->status, NamespaceStatus::kDeleted);
  EXPECT_EQ(records.reverse->deleted_at, kNewYear);
}

TEST(NamespaceChange, WhatIsBeingPurgedStaysSoWhenItsNameIsFreed) {
  NamespaceRecords records{Space("x"), Space("x", NamespaceStatus::kPurging)};
  const auto writes = DecideDelete("team-a", records, kNewYear);
  ASSERT_TRUE(writes);
  ASSERT_THAT(*writes, SizeIs(1));
  EXPECT_EQ((*writes)[0].key, NamespaceForward("team-a"));
  EXPECT_EQ(records.reverse->status, NamespaceStatus::kPurging);
}

TEST(NamespaceChange, WhatIsMissingCannotBeDeleted) {
  NamespaceRecords none;
  EXPECT_EQ(CodeOf(DecideDelete("team-a", none, kNewYear)), Code::kNotFound);
  NamespaceRecords half{Space("x"), {}};
  EXPECT_EQ(CodeOf(DecideDelete("team-a", half, kNewYear)), Code::kDataLoss);
}

TEST(NamespaceChange, RecoveryDependsOnTheState) {
  const auto code = [](NamespaceRecords records) { return CodeOf(DecideRecover("x", records)); };
  EXPECT_EQ(code({}), Code::kNotFound);
  EXPECT_EQ(code(Active()), Code::kFailedPrecondition);
  EXPECT_EQ(code(Purging()), Code::kFailedPrecondition);
  EXPECT_EQ(code(Succeeded()), Code::kFailedPrecondition);
  EXPECT_EQ(code(Deleted()), Code::kUnknown);
  EXPECT_EQ(code(Stranded()), Code::kUnknown);
  EXPECT_EQ(code(HalfRecovered()), Code::kUnknown);
}

TEST(NamespaceChange, ARecoveryPutsTheNameBackOrChecksThatItStands) {
  NamespaceRecords deleted = Deleted();
  const auto put = DecideRecover("x", deleted);
  ASSERT_TRUE(put);
  EXPECT_EQ((*put)[0].kind, Write::Kind::kPut);
  EXPECT_EQ(*GetText((*put)[0].item, "status"), "active");
  EXPECT_EQ(*GetText((*put)[0].item, "created_at"), "1970-01-01T00:00:01Z");
  EXPECT_THAT(TextOf((*put)[1]), HasSubstr("REMOVE"));

  NamespaceRecords half = HalfRecovered();
  const auto check = DecideRecover("x", half);
  ASSERT_TRUE(check);
  EXPECT_EQ((*check)[0].kind, Write::Kind::kCheck);
  EXPECT_EQ((*check)[0].key, NamespaceForward("team-a"));
}

TEST(NamespaceChange, APurgeBeginsWithAnOrphanOnly) {
  const auto code = [](NamespaceRecords records) { return CodeOf(DecidePurge("x", records)); };
  EXPECT_EQ(code({}), Code::kNotFound);
  EXPECT_EQ(code(Active()), Code::kFailedPrecondition);
  EXPECT_EQ(code(HalfRecovered()), Code::kFailedPrecondition);
  for (NamespaceRecords orphan : {Deleted(), Stranded(), Succeeded()}) {
    const auto writes = DecidePurge("x", orphan);
    ASSERT_TRUE(writes);
    ASSERT_THAT(*writes, SizeIs(2));
    EXPECT_EQ((*writes)[0].kind, Write::Kind::kCheck);
    EXPECT_THAT(TextOf((*writes)[0]), HasSubstr("(attribute_not_exists(#0) OR #1 <> :0)"));
    EXPECT_THAT(TextOf((*writes)[1]), HasSubstr("purging"));
    EXPECT_EQ(orphan.reverse->status, NamespaceStatus::kPurging);
  }
  NamespaceRecords purging = Purging();
  EXPECT_THAT(DecidePurge("x", purging).value(), IsEmpty());
}

TEST(NamespaceChange, OrphansAreNeverActive) {
  const std::vector<Namespace> by_id = {Space("a"), Space("b"),
                                        Space("c", NamespaceStatus::kDeleted)};
  EXPECT_THAT(
      OrphansAmong(by_id, {Space("a")}),
      ElementsAre(Space("b", NamespaceStatus::kDeleted), Space("c", NamespaceStatus::kDeleted)));
}

}  // namespace
}  // namespace weir::dynamo
