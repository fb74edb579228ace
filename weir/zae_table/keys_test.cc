#include "weir/zae_table/keys.h"

#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

const Keys kKeys("ns1");

TEST(Keys, StandWhereZaeLimiterPutsThem) {
  EXPECT_EQ(kKeys.Entity("acme"), (TableKey{"ns1/ENTITY#acme", "#META"}));
  EXPECT_EQ(kKeys.Bucket({"acme", "gpt/4", 3}), (TableKey{"ns1/BUCKET#acme#gpt/4#3", "#STATE"}));
  EXPECT_EQ(kKeys.Config(Level::System()), (TableKey{"ns1/SYSTEM#", "#CONFIG"}));
  EXPECT_EQ(kKeys.Config(Level::Resource("gpt-4")), (TableKey{"ns1/RESOURCE#gpt-4", "#CONFIG"}));
  EXPECT_EQ(kKeys.Config(Level::EntityDefault("acme")),
            (TableKey{"ns1/ENTITY#acme", "#CONFIG#_default_"}));
  EXPECT_EQ(kKeys.Config(Level::Entity("acme", "gpt-4")),
            (TableKey{"ns1/ENTITY#acme", "#CONFIG#gpt-4"}));
  EXPECT_EQ(kKeys.ResourceRegistry(), (TableKey{"ns1/SYSTEM#", "#RESOURCES"}));
  EXPECT_EQ(kKeys.EntityConfigRegistry(), (TableKey{"ns1/SYSTEM#", "#ENTITY_CONFIG_RESOURCES"}));
  EXPECT_EQ(kKeys.AuditEvent("$SYSTEM", "01A"), (TableKey{"ns1/AUDIT#$SYSTEM", "#AUDIT#01A"}));
  EXPECT_EQ(VersionRecord(), (TableKey{"_/SYSTEM#", "#VERSION"}));
  EXPECT_EQ(NamespaceForward("prod"), (TableKey{"_/SYSTEM#", "#NAMESPACE#prod"}));
  EXPECT_EQ(NamespaceReverse("abc"), (TableKey{"_/SYSTEM#", "#NSID#abc"}));
}

TEST(Keys, ABucketIsInThreeIndexes) {
  const Item item = kKeys.BucketIndexes({"acme", "gpt-4", 1});
  const auto text = [&](std::string_view name) { return *GetText(item, name); };
  EXPECT_EQ(text("GSI2PK"), "ns1/RESOURCE#gpt-4");
  EXPECT_EQ(text("GSI2SK"), "BUCKET#acme#1");
  EXPECT_EQ(text("GSI3PK"), "ns1/ENTITY#acme");
  EXPECT_EQ(text("GSI3SK"), "BUCKET#gpt-4#1");
  EXPECT_EQ(text("GSI4PK"), "ns1");
  EXPECT_EQ(text("GSI4SK"), "BUCKET#acme#gpt-4#1");
  EXPECT_EQ(KeyOf(item), kKeys.Bucket({"acme", "gpt-4", 1}));
}

TEST(Keys, ABucketIsReadBackFromItsPartition) {
  for (const BucketKey& key : {BucketKey{"acme", "gpt-4", 0}, BucketKey{"a@b:c", "x/y/z", 31}}) {
    EXPECT_EQ(ParseBucketPartition(kKeys.Bucket(key).pk), key);
  }
  for (const char* pk : {"", "ns1", "ns1/ENTITY#acme", "ns1/BUCKET#acme", "ns1/BUCKET#acme#gpt-4",
                         "ns1/BUCKET#acme#gpt-4#x", "ns1/BUCKET#acme#gpt-4#", "BUCKET#a#b#0"}) {
    EXPECT_EQ(ParseBucketPartition(pk), std::nullopt) << pk;
  }
}

}  // namespace
}  // namespace weir::dynamo
