// The write units that one partition key of the table and one of an index can consume, and the
// headers of responses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "weir/sim/dynamodb/dynamo_fixture.h"

namespace weir::sim {
namespace {

using std::chrono::seconds;
using testing::EndsWith;

class DynamoCapacity : public DynamoFixture {
 protected:
  DynamoCapacity() {
    dynamo.faults.range_writes = 10;
    dynamo.faults.burst = seconds(30);
  }
  DynamoAnswer Add(const std::string& pk, const std::string& more = "") {
    return Call("UpdateItem", R"({"Key":{"PK":{"S":")" + pk + R"("},"SK":{"S":"1"}},)" + more +
                                  R"("UpdateExpression":"ADD n :1",)"
                                  R"("ExpressionAttributeValues":{":1":{"N":"1"}}})");
  }
  // Returns how many writes pass before one is throttled, or -1.
  template <class Write>
  int CountUntilThrottled(Write write) {
    for (int passed = 0; passed < 1'000; ++passed) {
      last = write();
      if (last.error == "ProvisionedThroughputExceededException" ||
          last.message.find("ThrottlingError") != std::string::npos) {
        return passed;
      }
    }
    return -1;
  }
  std::string Reason() const { return last.body["ThrottlingReasons"][0]["reason"]; }
  std::string Resource() const { return last.body["ThrottlingReasons"][0]["resource"]; }

  DynamoAnswer last;
};

TEST_F(DynamoCapacity, APartitionKeyBearsItsUnitsAndKeepsWhatIsUnusedForTheBurst) {
  EXPECT_EQ(CountUntilThrottled([&] { return Add("a"); }), 10);
  EXPECT_EQ(Reason(), "TableWriteKeyRangeThroughputExceeded");
  EXPECT_THAT(Resource(), EndsWith("table/t"));
  EXPECT_EQ(Add("b").status, 200) << "another one is not concerned";
  clock.Advance(seconds(1));
  EXPECT_EQ(CountUntilThrottled([&] { return Add("a"); }), 10);
  clock.Advance(seconds(1'000));
  EXPECT_EQ(CountUntilThrottled([&] { return Add("a"); }), 300);
  EXPECT_EQ(dynamo.counts().throttled_ranges, 3U);
}

TEST_F(DynamoCapacity, AConditionThatFailsConsumesAUnit) {
  const auto failing = [&] {
    return Add("a", R"x("ConditionExpression":"attribute_exists(absent)",)x");
  };
  EXPECT_EQ(CountUntilThrottled(failing), 10);
}

TEST_F(DynamoCapacity, AnItemOfFourKilobytesConsumesFourUnits) {
  const std::string large = R"({"Item":{"PK":{"S":"a"},"SK":{"S":"1"},"text":{"S":")" +
                            std::string(3'500, 'x') + R"("}}})";
  EXPECT_EQ(CountUntilThrottled([&] { return Call("PutItem", large); }), 3);
}

TEST_F(DynamoCapacity, ATransactionConsumesTwice) {
  const auto transact = [&] {
    return Call("TransactWriteItems",
                R"({"TransactItems":[{"Update":{"TableName":"t","Key":{"PK":{"S":"a"},)"
                R"("SK":{"S":"1"}},"UpdateExpression":"ADD n :1",)"
                R"("ExpressionAttributeValues":{":1":{"N":"1"}}}}]})");
  };
  EXPECT_EQ(CountUntilThrottled(transact), 5);
}

TEST_F(DynamoCapacity, AnIndexThatIsBehindThrottlesTheWritesOnTheTable) {
  int written = 0;
  const auto put = [&] {
    return Call("PutItem", R"({"Item":{"PK":{"S":")" + std::to_string(written++) +
                               R"("},"SK":{"S":"1"},"GSI2PK":{"S":"resource"},)"
                               R"("GSI2SK":{"S":"x"}}})");
  };
  EXPECT_EQ(CountUntilThrottled(put), 10);
  EXPECT_EQ(Reason(), "IndexWriteKeyRangeThroughputExceeded");
  EXPECT_THAT(Resource(), EndsWith("table/t/index/GSI2"));
  EXPECT_EQ(dynamo.counts().throttled_indexes, 1U);
  EXPECT_EQ(dynamo.counts().throttled_ranges, 0U);
  EXPECT_TRUE(Get("10", "1").is_null()) << "and are not applied";
  EXPECT_EQ(Add("a").status, 200) << "a write that the index does not see is not concerned";
}

TEST_F(DynamoCapacity, WithoutALimitNothingIsThrottled) {
  dynamo.faults.range_writes = 0;
  EXPECT_EQ(CountUntilThrottled([&] { return Add("a"); }), -1);
}

using DynamoHeaders = DynamoFixture;

TEST_F(DynamoHeaders, AResponseSaysWhenItWasMadeIfAsked) {
  const HttpRequest request = DynamoRequest("DescribeTable", {{"TableName", "t"}});
  EXPECT_EQ(dynamo.Handle(request).Header("date"), nullptr);
  dynamo.faults.sends_date = true;
  const HttpResponse response = dynamo.Handle(request);
  ASSERT_NE(response.Header("date"), nullptr);
  EXPECT_EQ(*response.Header("date"), "Thu, 01 Jan 2026 00:00:00 GMT");
}

TEST_F(DynamoHeaders, SomeChecksumsAreWrongIfAsked) {
  const HttpRequest request = DynamoRequest("DescribeTable", {{"TableName", "t"}});
  EXPECT_EQ(dynamo.Handle(request).Header("x-amz-crc32"), nullptr);
  dynamo.faults.wrong_checksum = 0.5;
  std::map<std::string, int> checksums;
  for (int i = 0; i < 100; ++i) ++checksums[*dynamo.Handle(request).Header("x-amz-crc32")];
  EXPECT_EQ(checksums.size(), 2U);
  const std::uint64_t wrong = dynamo.counts().wrong_checksums;
  EXPECT_GT(wrong, 20U);
  EXPECT_LT(wrong, 80U);
}

}  // namespace
}  // namespace weir::sim
