// Stored buckets: reading and listing them.
#include <algorithm>
#include <iterator>

#include "weir/store/testing/contract.h"

namespace weir {
namespace {

const Meter& MeterOf(const BucketRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.names, name);
  EXPECT_NE(found, record.names.end());
  return record.bucket.meters[static_cast<std::size_t>(found - record.names.begin())];
}

TEST_P(StoreContract, ReadGivesWhatIsKept) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(Ask({Tokens(acme, {4, 100})}, kStart).admitted);
  ASSERT_TRUE(store_.Adjust({Tokens(acme, {8, -30})}, kStart));
  const auto read = store_.Read({acme->key});
  ASSERT_TRUE(read && read->size() == 1 && read->front());
  const BucketRecord& record = *read->front();
  EXPECT_EQ(record.key, acme->key);
  EXPECT_EQ(record.bucket.time, kStart);
  ASSERT_EQ(record.names.size(), 2U);
  ASSERT_EQ(record.bucket.meters.size(), 2U);
  EXPECT_EQ(MeterOf(record, "rpm"), (Meter{.quota = PerMinute(10),
                                           .tokens = -2000,
                                           .remainder = 0,
                                           .remainder_period = 60'000,
                                           .consumed = 12'000}));
  EXPECT_EQ(MeterOf(record, "tpm").tokens, 930'000);
  EXPECT_EQ(MeterOf(record, "tpm").consumed, 70'000);
}

TEST_P(StoreContract, ReadAnswersInTheOrderOfItsKeys) {
  std::vector<TargetPtr> targets;
  for (int i = 0; i < 3; ++i) targets.push_back(FreshTarget({Rpm(10)}));
  for (const std::size_t used : {2U, 0U}) {
    ASSERT_TRUE(Ask({Tokens(targets[used], {1})}, kStart).admitted);
  }
  const auto read = store_.Read({targets[2]->key,
                                 targets[1]->key,
                                 targets[0]->key,
                                 targets[2]->key,
                                 {Fresh("nobody"), "gpt-4", 0}});
  ASSERT_TRUE(read && read->size() == 5);
  EXPECT_TRUE((*read)[0] && (*read)[0]->key == targets[2]->key);
  EXPECT_FALSE((*read)[1]);
  EXPECT_TRUE((*read)[2] && (*read)[2]->key == targets[0]->key);
  EXPECT_EQ((*read)[3], (*read)[0]);
  EXPECT_FALSE((*read)[4]);
  const auto none = store_.Read({});
  EXPECT_TRUE(none && none->empty());
}

// Two entities on two resources with two shards each.
std::vector<BucketKey> EightKeys(const std::string& first, const std::string& second) {
  std::vector<BucketKey> keys;
  for (const std::string& entity : {first, second}) {
    for (const char* resource : {"gpt-4", "gpt-5"}) {
      for (const std::uint32_t shard : {0U, 1U}) keys.push_back({entity, resource, shard});
    }
  }
  return keys;
}

std::vector<BucketKey> Matching(const std::vector<BucketKey>& keys, const BucketFilter& filter) {
  std::vector<BucketKey> matching;
  std::ranges::copy_if(keys, std::back_inserter(matching), [&](const BucketKey& key) {
    return key.entity == filter.entity.value_or(key.entity) &&
           key.resource == filter.resource.value_or(key.resource);
  });
  return matching;
}

// Returns the keys on all pages of a listing, sorted; a key that is listed twice is returned twice.
std::vector<BucketKey> AllBuckets(ContractClient& store, const BucketFilter& filter,
                                  std::size_t limit) {
  std::vector<BucketKey> listed;
  for (const BucketRecord& record :
       AllPages(limit, [&](const PageRequest& page) { return store.List(filter, page); })) {
    listed.push_back(record.key);
  }
  std::ranges::sort(listed);
  return listed;
}

TEST_P(StoreContract, ListingHasEachBucketThatMatchesOnce) {
  const std::string acme = Fresh("acme");
  const std::string globex = Fresh("globex");
  const std::vector<BucketKey> keys = EightKeys(acme, globex);
  for (const BucketKey& key : keys) {
    ASSERT_TRUE(Ask({Tokens(MakeTarget(key, {Rpm(10)}), {1})}, kStart).admitted);
  }
  const std::vector<BucketFilter> filters = {{.entity = {}, .resource = {}},
                                             {.entity = acme, .resource = {}},
                                             {.entity = {}, .resource = "gpt-5"},
                                             {.entity = globex, .resource = "gpt-4"},
                                             {.entity = Fresh("nobody"), .resource = {}},
                                             {.entity = acme, .resource = "gpt-6"}};
  for (const BucketFilter& filter : filters) {
    for (const std::size_t limit : {1U, 2U, 3U, 1000U}) {
      EXPECT_EQ(AllBuckets(store_, filter, limit), Matching(keys, filter))
          << filter.entity.value_or("*") << "/" << filter.resource.value_or("*") << " by " << limit;
    }
  }
}

TEST_P(StoreContract, ListingShowsWhatReadShows) {
  const TargetPtr acme = FreshTarget({Rpm(10), Tpm(1000)});
  ASSERT_TRUE(Ask({Tokens(acme, {4, 100})}, kStart).admitted);
  const std::vector<BucketRecord> kept = Kept({acme->key.entity});
  const auto read = store_.Read({acme->key});
  ASSERT_EQ(kept.size(), 1U);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front(), kept.front());
}

TEST_P(StoreContract, ListingOfBucketsRefusesBadPages) {
  const TargetPtr acme = FreshTarget({Rpm(10)});
  ASSERT_TRUE(Ask({Tokens(acme, {1})}, kStart).admitted);
  const std::vector<PageRequest> bad = {{.cursor = {}, .limit = 0},
                                        {.cursor = "no cursor", .limit = 1},
                                        {.cursor = "\n", .limit = 1},
                                        {.cursor = acme->key.entity, .limit = 1}};
  for (const PageRequest& page : bad) {
    SCOPED_TRACE(page.cursor);
    EXPECT_EQ(ErrorOf(store_.List({}, page)).code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace weir
