#include "weir/embedded/rows/config_snapshots.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

std::vector<ConfigChange> Created(const std::string& id) {
  return {CreateEntity{{.entity = {.id = id}}}};
}

class ConfigSnapshotsTest : public testing::Test {
 protected:
  bool Shows(const std::string& id) const {
    return snapshots_.Read(
        [&](const ConfigTable& table) { return table.GetEntity(id).has_value(); });
  }
  void Make(const std::vector<ConfigChange>& changes) {
    ASSERT_TRUE(snapshots_.Draft().Apply(changes, [](const std::string&) { return true; }));
    snapshots_.Publish(changes);
  }

  ConfigSnapshots snapshots_{ConfigTable()};
};

TEST_F(ConfigSnapshotsTest, AChangeIsSeenOnceItIsPublished) {
  const auto changes = Created("acme");
  ASSERT_TRUE(snapshots_.Draft().Apply(changes));
  EXPECT_FALSE(Shows("acme"));
  snapshots_.Publish(changes);
  EXPECT_TRUE(Shows("acme"));
}

// Fails if: the next draft lacks changes of the version before it.
TEST_F(ConfigSnapshotsTest, EachVersionHasTheChangesOfAllBefore) {
  for (const char* const id : {"a", "b", "c", "d"}) Make(Created(id));
  Make({DeleteEntity{"b"}, DeleteEntity{"nothing-but-buckets"}});
  for (const char* const id : {"a", "c", "d"}) EXPECT_TRUE(Shows(id)) << id;
  EXPECT_FALSE(Shows("b"));
}

// Fails if: a table is changed while it is read.
TEST_F(ConfigSnapshotsTest, WhoReadsKeepsTheVersionThatItBeganWith) {
  Make(Created("a"));
  snapshots_.Read([&](const ConfigTable& table) {
    Make(Created("b"));
    Make(Created("c"));
    EXPECT_FALSE(table.GetEntity("b"));
    EXPECT_FALSE(table.GetEntity("c"));
    return true;
  });
  for (const char* const id : {"a", "b", "c"}) EXPECT_TRUE(Shows(id)) << id;
  Make(Created("d"));
  for (const char* const id : {"a", "b", "c", "d"}) EXPECT_TRUE(Shows(id)) << id;
}

}  // namespace
}  // namespace weir
