#include "apps/weir/entity_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

EntityRecord EntityNamed(const std::string& id, const std::string& name,
                         std::optional<std::string> parent = {}) {
  EntityRecord record;
  record.entity.id = id;
  record.entity.name = name;
  record.entity.parent = std::move(parent);
  return record;
}

/// org, its children team-1 and team-2, and guest, which has limits only.
Declared Organisation() {
  Declared declared;
  declared.entities["org"] = EntityNamed("org", "The organisation");
  declared.entities["team-1"] = EntityNamed("team-1", "Blue", "org");
  declared.entities["team-2"] = EntityNamed("team-2", "team-2", "org");
  declared.levels[Level::EntityDefault("guest")] = {.limits = {{"rpm", PerMinute(1)}},
                                                    .on_unavailable = {}};
  return declared;
}

std::vector<std::string> IdsOf(const EntityPage& page) {
  std::vector<std::string> ids;
  for (const EntityView& view : page.entities) ids.push_back(view.id);
  return ids;
}

EntityPage ListOf(const EntityListOptions& options) {
  return PageOf(ViewsOf(Organisation()), options);
}

// Fails if: metadata that a user chose reads as a further line, such as another parent.
TEST(EntityText, NamesAndMetadataStayOnTheirLines) {
  EntityView view{
      .id = "acme", .record = EntityNamed("acme", "Acme\nparent    none"), .levels = {}};
  view.record->entity.metadata = {{"plan", "gold\nlimits    llm: rpm:1\x1b[2J"}};
  const std::string text = TextOf(view);
  EXPECT_THAT(text, HasSubstr("name      Acme parent    none\n"));
  EXPECT_THAT(text, HasSubstr("metadata  plan=gold limits    llm: rpm:1\\x1b[2J\n"));
}

TEST(EntityList, WithoutOptionsItHasAll) {
  EXPECT_THAT(IdsOf(ListOf({})), ElementsAre("guest", "org", "team-1", "team-2"));
  EXPECT_EQ(ListOf({}).next, "");
}

TEST(EntityList, AParentSelectsItsChildren) {
  EXPECT_THAT(IdsOf(ListOf({.parent = "org"})), ElementsAre("team-1", "team-2"));
  EXPECT_THAT(IdsOf(ListOf({.parent = "team-1"})), IsEmpty());
}

TEST(EntityList, LimitsOnAResourceSelectTheirEntities) {
  EXPECT_THAT(IdsOf(ListOf({.limits_on = "_default_"})), ElementsAre("guest"));
  EXPECT_THAT(IdsOf(ListOf({.limits_on = "llm"})), IsEmpty());
}

TEST(EntityList, ResourcesAreCountedByEntity) {
  const std::vector<LevelRecord> levels{{Level::Resource("llm"), {}},
                                        {Level::Entity("acme", "llm"), {}},
                                        {Level::Entity("bolt", "llm"), {}},
                                        {Level::EntityDefault("bolt"), {}}};
  EXPECT_EQ(EntitiesByResource(levels),
            (std::map<std::string, std::size_t>{{"_default_", 1}, {"llm", 2}}));
}

TEST(EntityList, APrefixIsOfTheIdOrOfTheName) {
  EXPECT_THAT(IdsOf(ListOf({.prefix = "team-"})), ElementsAre("team-1", "team-2"));
  EXPECT_THAT(IdsOf(ListOf({.prefix = "Bl"})), ElementsAre("team-1"));
  EXPECT_THAT(IdsOf(ListOf({.prefix = "gu"})), ElementsAre("guest"));
  EXPECT_THAT(IdsOf(ListOf({.prefix = "eam"})), IsEmpty());
}

TEST(EntityList, AllOptionsHoldTogether) {
  EXPECT_THAT(IdsOf(ListOf({.parent = "org", .prefix = "team", .after = "team-1"})),
              ElementsAre("team-2"));
}

TEST(EntityList, ALastPageThatIsFullNamesNoNext) {
  EXPECT_EQ(ListOf({.count = 4}).next, "");
  EXPECT_EQ(ListOf({.count = 3}).next, "team-1");
}

TEST(EntityList, TheAnswersNameTheNextPage) {
  const EntityPage page = ListOf({.count = 1});
  EXPECT_EQ(TextOf(page),
            "entity  parent  cascade  limits on\n"
            "guest   -       no       _default_\n"
            "more: --after guest\n");
  EXPECT_EQ(ToJson(page)["next"], "guest");
  EXPECT_FALSE(ToJson(ListOf({})).contains("next"));
}

// Fails if: PageOf returns the entity that did not fit as `next`, or `after` includes its entity.
RC_GTEST_PROP(EntityListProperty, PagesJoinToTheWhole, ()) {
  Declared declared;
  for (const auto& id : *rc::gen::container<std::vector<std::string>>(
           rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab"))))) {
    if (!id.empty()) declared.entities[id] = EntityNamed(id, id);
  }
  EntityListOptions options{.prefix = *rc::gen::element<std::string>("", "a", "b")};
  const std::vector<EntityView> views = ViewsOf(declared);
  const std::vector<std::string> whole = IdsOf(PageOf(views, options));
  options.count = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<std::string> joined;
  for (std::size_t pages = 0; pages <= whole.size(); ++pages) {
    const EntityPage page = PageOf(views, options);
    RC_ASSERT(page.entities.size() <= options.count);
    std::ranges::copy(IdsOf(page), std::back_inserter(joined));
    if (page.next.empty()) break;
    options.after = page.next;
  }
  RC_ASSERT(joined == whole);
}

}  // namespace
}  // namespace weir::app
