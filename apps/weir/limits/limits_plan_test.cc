#include "apps/weir/limits/limits_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "apps/weir/terminal/json.h"
#include "apps/weir/testing/instants_fixture.h"
#include "weir/model/limits_file_text.h"
#include "weir/model/testing/generators.h"
#include "weir/store/memory/memory_backend.h"

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LimitsFile Parse(const std::string& yaml) {
  Result<LimitsFile> file = ParseLimitsFile("namespace: default\n" + yaml, "f.yaml");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? *std::move(file) : LimitsFile();
}

/// A store in which changes are really made.
class PlanTest : public testing::Test {
 protected:
  Declared Live() { return *ReadDeclared(backend_->config(), Deadline::Never); }
  Plan PlanFor(const LimitsFile& file) { return MakePlan(file, Live(), kNow); }
  void Apply(const LimitsFile& file) {
    const Status applied = ApplyPlan(PlanFor(file), backend_->config(), Deadline::Never());
    ASSERT_TRUE(applied) << applied.error().message;
  }
  void Change(std::vector<ConfigChange> changes) {
    const Status changed = ApplyChanges(backend_->config(), std::move(changes), Deadline::Never());
    ASSERT_TRUE(changed) << changed.error().message;
  }

  std::unique_ptr<Backend> backend_ = MakeMemoryBackend();
};

LevelLimits ByHand(std::int64_t rate) {
  return {.limits = {{"rpm", PerMinute(rate)}}, .on_unavailable = {}, .managed = false};
}

std::vector<std::string> ActionsOf(const Plan& plan) {
  std::vector<std::string> actions;
  for (const PlannedChange& planned : plan.changes) {
    const std::string sign = &"+\0~\0-\0=\0"[static_cast<std::size_t>(planned.action) * 2];
    actions.push_back(sign + planned.target);
  }
  return actions;
}

const char kYaml[] =
    "system: {on_unavailable: allow, limits: {rpm: 5}}\n"
    "resources: {llm: {limits: {rpm: 60, tpm: 1000}}}\n"
    "entities:\n"
    "  acme: {parent: org, cascade: true, resources: {_default_: {limits: {rpm: 7}}}}\n"
    "  org: {resources: {llm: {limits: {tpm: 9000}}}}\n";

TEST_F(PlanTest, AnEmptyStoreGetsEverything) {
  EXPECT_THAT(ActionsOf(PlanFor(Parse(kYaml))),
              ElementsAre("+system", "+resource llm", "+entity acme", "+entity org, resource llm",
                          "+parent of acme"));
}

TEST_F(PlanTest, PlanningChangesNothing) {
  PlanFor(Parse(kYaml));
  EXPECT_THAT(Live().levels, IsEmpty());
}

TEST_F(PlanTest, WhatWasAppliedIsUnchanged) {
  Apply(Parse(kYaml));
  const Plan plan = PlanFor(Parse(kYaml));
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_EQ(plan.unchanged, 5U);
}

TEST_F(PlanTest, AppliedRecordsAreMarkedAsManagedAndDated) {
  Apply(Parse(kYaml));
  const Declared live = Live();
  EXPECT_TRUE(live.levels.at(Level::System()).managed);
  EXPECT_TRUE(live.entities.at("acme").managed);
  EXPECT_EQ(live.entities.at("acme").entity.created_at, kNow);
}

TEST_F(PlanTest, OnlyWhatDiffersIsUpdated) {
  Apply(Parse(kYaml));
  LimitsFile file = Parse(kYaml);
  file.resources["llm"][0].quota = PerMinute(61);
  EXPECT_THAT(ActionsOf(PlanFor(file)), ElementsAre("~resource llm"));
}

TEST_F(PlanTest, WhatTheFileDroppedIsDeletedAndTheRestIsLeft) {
  Apply(Parse(kYaml));
  Change({PutLimits{Level::Resource("images"), ByHand(3)}});
  EXPECT_THAT(ActionsOf(PlanFor(Parse(""))),
              ElementsAre("-system", "=resource images", "-resource llm", "-entity acme",
                          "-entity org, resource llm", "-entity acme (with its buckets)"));
  Apply(Parse(""));
  EXPECT_THAT(Live().entities, IsEmpty());
  ASSERT_EQ(Live().levels.size(), 1U);
  EXPECT_EQ(Live().levels.begin()->first, Level::Resource("images"));
}

TEST_F(PlanTest, ARecordSetByHandIsTakenOver) {
  Change({PutLimits{Level::Resource("llm"), ByHand(60)}});
  const LimitsFile file = Parse("resources: {llm: {limits: {rpm: 60}}}\n");
  EXPECT_THAT(ActionsOf(PlanFor(file)), ElementsAre("~resource llm"));
  Apply(file);
  EXPECT_TRUE(Live().levels.at(Level::Resource("llm")).managed);
  EXPECT_THAT(PlanFor(file).changes, IsEmpty());
}

// Fails if: a file that only says what happens if the store fails removes the limits of the system
// without a question.
TEST_F(PlanTest, LimitsOfTheSystemThatTheFileLacksAreDeleted) {
  Change({PutLimits{Level::System(), ByHand(60)}});
  const LimitsFile file = Parse("system: {on_unavailable: block}\n");
  EXPECT_THAT(ActionsOf(PlanFor(file)), ElementsAre("-limits of the system"));
  Apply(file);
  EXPECT_THAT(Live().levels.at(Level::System()).limits, IsEmpty());
  EXPECT_THAT(PlanFor(file).changes, IsEmpty());
}

TEST_F(PlanTest, AParentTakenOutOfTheFileIsTakenOffTheEntity) {
  Apply(Parse(kYaml));
  LimitsFile file = Parse(kYaml);
  file.entities["acme"].parent.reset();
  file.entities["acme"].cascade = false;
  EXPECT_THAT(ActionsOf(PlanFor(file)), ElementsAre("~parent of acme"));
  Apply(file);
  EXPECT_FALSE(Live().entities.at("acme").entity.parent);
  EXPECT_THAT(PlanFor(file).changes, IsEmpty());
}

TEST_F(PlanTest, NamesAndMetadataStay) {
  EntityRecord record;
  record.entity.id = "acme";
  record.entity.name = "Acme Ltd";
  record.entity.metadata = {{"tier", "gold"}};
  Change({CreateEntity{record}});
  Apply(Parse(kYaml));
  const Entity acme = Live().entities.at("acme").entity;
  EXPECT_EQ(acme.name, "Acme Ltd");
  EXPECT_EQ(acme.metadata.at("tier"), "gold");
  EXPECT_EQ(acme.parent, "org");
  EXPECT_TRUE(Live().entities.at("acme").managed);
}

TEST_F(PlanTest, AnEntityWithLimitsSetByHandIsNotDeleted) {
  Apply(Parse(kYaml));
  Change({PutLimits{Level::Entity("acme", "images"), ByHand(3)}});
  EXPECT_THAT(ActionsOf(PlanFor(Parse(""))), testing::Contains("=parent of acme"));
  Apply(Parse(""));
  EXPECT_TRUE(Live().levels.contains(Level::Entity("acme", "images")));
}

TEST_F(PlanTest, EntitiesWithoutParentAreNothingToAFile) {
  EntityRecord record;
  record.entity.id = "bolt";
  Change({CreateEntity{record}});
  EXPECT_THAT(PlanFor(Parse("")).changes, IsEmpty());
  EXPECT_THAT(Differences(Parse(""), Live()), IsEmpty());
}

TEST_F(PlanTest, ApplyingIsAllOrNothing) {
  EntityRecord record;
  record.entity.id = "org";
  record.entity.parent = "acme";
  Change({CreateEntity{record}});
  // org below acme and acme below org: the last of the changes fails.
  const Plan plan = PlanFor(Parse(kYaml));
  EXPECT_FALSE(ApplyPlan(plan, backend_->config(), Deadline::Never()));
  EXPECT_THAT(Live().levels, IsEmpty());
}

/// Returns entities e<first> to e<last-1>, each the cascading child of the next.
std::vector<ConfigChange> ChainOf(int first, int last) {
  std::vector<ConfigChange> changes;
  for (int i = first; i < last; ++i) {
    EntityRecord record;
    record.entity.id = "e" + std::to_string(i);
    record.entity.parent = "e" + std::to_string(i + 1);
    record.entity.cascade = true;
    changes.emplace_back(CreateEntity{record});
  }
  return changes;
}

// Fails if: only the parents in the file are checked, or those that the file replaces are.
TEST_F(PlanTest, ACascadeOverTooManyOfTheFileAndTheStoreIsAFault) {
  Change(ChainOf(1, 8));
  const LimitsFile longer = Parse("entities: {e0: {parent: e1, cascade: true}}\n");
  const auto fault = ParentFaultIntroducedBy(PlanFor(longer), Live());
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->entity, "e0");
  EXPECT_THAT(fault->message, testing::HasSubstr("more than 8 entities: e0 -> e1 -> "));
  const LimitsFile same = Parse("entities: {e0: {parent: e2, cascade: true}}\n");
  EXPECT_FALSE(ParentFaultIntroducedBy(PlanFor(same), Live()));
  const LimitsFile cut =
      Parse("entities: {e0: {parent: e1, cascade: true}, e3: {parent: e4, cascade: false}}\n");
  EXPECT_FALSE(ParentFaultIntroducedBy(PlanFor(cut), Live()));
}

TEST_F(PlanTest, ACycleOfTheFileAndTheStoreIsAFault) {
  Change(ChainOf(1, 3));
  const auto fault =
      ParentFaultIntroducedBy(PlanFor(Parse("entities: {e3: {parent: e1}}\n")), Live());
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, testing::HasSubstr("parents form a cycle: e1 -> e2 -> e3 -> e1"));
}

TEST_F(PlanTest, AFaultThatTheStoreHasAlreadyDoesNotStopAPlan) {
  Change(ChainOf(0, 9));
  EXPECT_FALSE(
      ParentFaultIntroducedBy(PlanFor(Parse("resources: {llm: {limits: {rpm: 1}}}\n")), Live()));
}

TEST_F(PlanTest, AnExportedStoreReadsBackTheSame) {
  Apply(Parse(kYaml));
  const LimitsFile exported = FileOf(Live(), "default");
  const auto read = ParseLimitsFile(FormatLimitsFile(exported), "exported.yaml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Parse(kYaml));
  EXPECT_THAT(Differences(*read, Live()), IsEmpty());
}

TEST_F(PlanTest, DifferencesNameTheFields) {
  Apply(Parse(kYaml));
  LimitsFile file = Parse(kYaml);
  file.on_unavailable = OnUnavailable::kBlock;
  file.resources["llm"] = {{"rpm", PerSecond(60).Burst(80)}};
  file.entities["acme"].cascade = false;
  file.entities.erase("org");
  file.resources["images"] = {{"rpm", PerMinute(1)}};
  const std::string text = TextOf(Differences(file, Live()));
  EXPECT_EQ(text,
            "entity org, resource llm only in the store: tpm.capacity=9000 tpm.refill_amount=9000 "
            "tpm.refill_period=60s\n"
            "parent of acme cascade: yes -> no\n"
            "resource images only in the file: rpm.capacity=1 rpm.refill_amount=1 "
            "rpm.refill_period=60s\n"
            "resource llm rpm.capacity: 60 -> 80\n"
            "resource llm rpm.refill_period: 60s -> 1s\n"
            "resource llm tpm.capacity: 1000 -> -\n"
            "resource llm tpm.refill_amount: 1000 -> -\n"
            "resource llm tpm.refill_period: 60s -> -\n"
            "system on_unavailable: allow -> block\n");
}

TEST_F(PlanTest, DifferencesAsJson) {
  const LimitsFile file = Parse("system: {on_unavailable: allow}\n");
  EXPECT_EQ(ToJson(Differences(file, Live())).dump(),
            R"({"different":true,"differences":[{"target":"system","field":null,"live":null,)"
            R"("file":"on_unavailable=allow"}]})");
  Apply(file);
  EXPECT_EQ(ToJson(Differences(file, Live())).dump(), R"({"different":false,"differences":[]})");
}

TEST_F(PlanTest, ThePlanReadsAsText) {
  Apply(Parse("resources: {llm: {limits: {rpm: 60}}, old: {limits: {rpm: 1}}}\n"));
  Change({PutLimits{Level::Resource("images"), ByHand(3)}});
  const LimitsFile file = Parse("resources: {llm: {limits: {rpm: 61}}, new: {limits: {rpm: 2}}}\n");
  EXPECT_EQ(TextOf(PlanFor(file)),
            "~ update resource llm: rpm:60 -> rpm:61\n"
            "+ create resource new: rpm:2\n"
            "  leave resource images: rpm:3\n"
            "- delete resource old: rpm:1\n"
            "create 1, update 1, delete 1, leave 1, unchanged 0\n");
}

TEST_F(PlanTest, ThePlanAsJsonHasNumbersAndUnitsAsMembers) {
  Change({PutLimits{Level::Resource("llm"), ByHand(60)}});
  const Plan plan =
      PlanFor(Parse("resources: {llm: {limits: {rpm: 2.5/sec:9~500ms}}}\n"
                    "entities: {acme: {parent: org, cascade: true}}\n"));
  EXPECT_EQ(ToJson(plan)["changes"].dump(),
            R"([{"action":"update","target":"resource llm",)"
            R"("live":{"level":"resource","resource":"llm","limits":[{"name":"rpm","capacity":60,)"
            R"("refill_amount":60,"refill_period_ms":60000}],"managed":false},)"
            R"("file":{"level":"resource","resource":"llm","limits":[{"name":"rpm","capacity":9,)"
            R"("refill_amount":2.5,"refill_period_ms":1000,"allowance_ms":500}],"managed":true}},)"
            R"({"action":"create","target":"parent of acme","live":null,)"
            R"("file":{"entity":"acme","parent":"org","cascade":true,"managed":true}}])");
}

// Fails if: a plan rounds the amounts of the file.
TEST_F(PlanTest, ThePlanAsJsonHasTheExactAmounts) {
  const Plan plan =
      PlanFor(Parse("resources: {llm: {limits: {a: 9007199254740.993, b: 8796093022207.999}}}\n"));
  EXPECT_EQ(ToJson(plan)["changes"][0]["file"]["limits"].dump(),
            R"([{"name":"a","capacity":"9007199254740.993","refill_amount":"9007199254740.993",)"
            R"("refill_period_ms":60000},{"name":"b","capacity":8796093022207.999,)"
            R"("refill_amount":8796093022207.999,"refill_period_ms":60000}])");
}

TEST_F(PlanTest, AnExportAsJsonIsALimitsFile) {
  EXPECT_EQ(
      ToJson(Parse("system: {on_unavailable: allow, limits: {rpm: 2.5/250ms:9~500ms}}\n"
                   "resources: {llm: {limits: {rpm: 9999999999999.999}}}\n"
                   "entities: {acme: {parent: org, cascade: true}}\n"))
          .dump(),
      R"({"namespace":"default","system":{"on_unavailable":"allow","limits":{"rpm":{"capacity":9,)"
      R"("refill_amount":2.5,"refill_period":0.25,"allowance":"500ms"}}},"resources":{"llm":{)"
      R"("limits":{"rpm":{"capacity":"9999999999999.999","refill_amount":"9999999999999.999",)"
      R"("refill_period":60}}}},"entities":{"acme":{"parent":"org","cascade":true,)"
      R"("resources":{}}}})");
  EXPECT_EQ(ToJson(Parse("")).dump(), R"({"namespace":"default","resources":{},"entities":{}})");
}

// Fails if: ToJson(LimitsFile) writes another tree than the file's, or rounds a number.
RC_GTEST_PROP(LimitsFileJsonProperty, ReadsBackAsItWas, ()) {
  const LimitsFile file = *AnyLimitsFile();
  const std::string text = ToJson(file).dump();
  const auto again = ParseLimitsFile(text, "f.json");
  RC_LOG(text);
  if (!again) RC_FAIL(again.error().message);
  RC_ASSERT(*again == file);
}

/// Returns a file with up to four resources, four entities, and parents.
LimitsFile AnyFile() {
  LimitsFile file;
  file.namespace_name = "default";
  const auto any_rate = [] { return PerMinute(*rc::gen::inRange<std::int64_t>(1, 4)); };
  for (const std::string name : {"a", "b", "c", "d"}) {
    if (*rc::gen::arbitrary<bool>()) file.resources[name] = {{"rpm", any_rate()}};
    if (!*rc::gen::arbitrary<bool>()) continue;
    EntityDeclaration& entity = file.entities[name];
    if (*rc::gen::arbitrary<bool>()) entity.parent = "z" + name;
    entity.cascade = entity.parent && *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) entity.resources["a"] = {{"rpm", any_rate()}};
  }
  return file;
}

// Fails if: DropLevel or PlanDrop leaves records that an earlier file set.
RC_GTEST_PROP(PlanProperty, AfterAnyFilesTheStoreSaysWhatTheLastOneSays, ()) {
  const std::unique_ptr<Backend> backend = MakeMemoryBackend();
  ConfigStore& store = backend->config();
  const auto count = *rc::gen::inRange(1, 4);
  LimitsFile file;
  for (int i = 0; i < count; ++i) {
    file = AnyFile();
    const Declared live = *ReadDeclared(store, Deadline::Never);
    RC_ASSERT(ApplyPlan(MakePlan(file, live, kNow), store, Deadline::Never()).has_value());
  }
  const Declared live = *ReadDeclared(store, Deadline::Never);
  RC_ASSERT(MakePlan(file, live, kNow).changes.empty());
  RC_ASSERT(Differences(file, live).empty());
  RC_ASSERT(live.levels == DeclaredBy(file).levels);
}

}  // namespace
}  // namespace weir::app
