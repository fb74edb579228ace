#include "weir/zae_table/migration/table_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Item At(const std::string& pk, const std::string& sk) { return {{"PK", Of(pk)}, {"SK", Of(sk)}}; }

Result<TableContents> Read(ZaeSimTable& sim, std::uint64_t most) {
  return sim.Ask<TableContents>(
      [&](auto done) { ReadContents(sim.table, most, Deadline::Never(), std::move(done)); });
}

TEST(TableContents, CountsTheItemsOfEarlierSchemas) {
  TableContents contents;
  AddTo(contents, At("ns/ENTITY#acme", "#LIMIT#gpt-4#rpm"));
  AddTo(contents, At("ns/ENTITY#acme", "#BUCKET#gpt-4"));
  AddTo(contents, At("ENTITY#acme", "#LIMIT#gpt-4#rpm"));
  AddTo(contents, At("ns/ENTITY#acme", "#META"));
  AddTo(contents, At("ns/SYSTEM#", "#RESOURCES"));
  EXPECT_EQ(contents.scanned, 5U);
  EXPECT_EQ(contents.legacy_limits, 1U);
  EXPECT_EQ(contents.legacy_buckets, 1U);
  EXPECT_EQ(contents.no_namespace, 1U);
  EXPECT_THAT(contents.unreadable.lines(), IsEmpty());
}

TEST(TableContents, NamesTheFeaturesThatAreNotSupported) {
  TableContents contents;
  Item limits = At("ns/RESOURCE#gpt-4", "#CONFIG");
  limits.insert({{"l_rpm_cp", Of(1)}, {"l_rpm_ra", Of(1)}, {"l_rpm_rp", Of(1)}});
  AddTo(contents, limits);
  limits.emplace("l_rpm_soft", Of(true));
  AddTo(contents, limits);
  Item bucket = At("ns/BUCKET#acme#gpt-4#0", "#STATE");
  bucket.insert({{"rf", Of(1)}, {"disabled", Of(true)}});
  AddTo(contents, bucket);
  EXPECT_THAT(
      contents.unreadable.lines(),
      ElementsAre(HasSubstr("namespace ns: "), HasSubstr("namespace ns: bucket acme/gpt-4")));
  EXPECT_THAT(contents.unreadable.lines()[0], HasSubstr("a soft limit"));
}

TEST(TableContents, AScanIsBounded) {
  ZaeSimTable sim;
  for (int i = 0; i < 5; ++i) sim.Put(At("ns/ENTITY#e" + std::to_string(i), "#LIMIT#r#rpm"));
  EXPECT_TRUE(Read(sim, 100)->complete);
  EXPECT_EQ(Read(sim, 100)->legacy_limits, 5U);
  EXPECT_FALSE(Read(sim, 3)->complete);
  EXPECT_EQ(Read(sim, 3)->scanned, 3U);
  EXPECT_FALSE(Read(sim, 0)->complete);
}

TEST(BoundedLines, CountsTheLinesThatItLeavesOut) {
  BoundedLines lines;
  for (std::size_t i = 0; i < BoundedLines::kMaxLines + 3; ++i) lines.Add("x");
  EXPECT_THAT(lines.lines(), SizeIs(BoundedLines::kMaxLines));
  EXPECT_EQ(lines.omitted(), 3U);
}

}  // namespace
}  // namespace weir::dynamo
