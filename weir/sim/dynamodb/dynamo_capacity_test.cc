// The write units that one partition key of the table and one of an index can consume, and the
// headers of responses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "weir/sim/dynamodb/dynamo_fixture.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::EndsWith;

class DynamoCapacity : public DynamoFixture {
 protected:
  DynamoCapacity() {
    dynamo.faults.range_writes = 10;
    dynamo.faults.burst = seconds(30);
  }
  DynamoResponse Add(const std::string& pk, const std::string& more = "") {
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

  DynamoResponse last;
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

const char* const kInGsi2 = R"("GSI2PK":{"S":"resource"},"GSI2SK":{"S":"x"})";

// The units of GSI2's partition key are spent by deletes, each of an item that the index contains.
class DynamoIndexDeletes : public DynamoCapacity {
 protected:
  DynamoIndexDeletes() {
    dynamo.faults.range_writes = 0;
    for (int i = 0; i < 20; ++i) Put(std::to_string(i), "1", kInGsi2);
    dynamo.faults.range_writes = 10;
  }
  // Returns how many deletes pass, each of the next item.
  int CountDeletes(const std::string& operation, const std::string& before_key,
                   const std::string& after_key) {
    int deleted = 0;
    return CountUntilThrottled([&] {
      return Call(operation, before_key + R"({"PK":{"S":")" + std::to_string(deleted++) +
                                 R"("},"SK":{"S":"1"}})" + after_key);
    });
  }
};

// Fails if: a delete does not charge the partition key of the entry that it removes.
TEST_F(DynamoIndexDeletes, ADeleteConsumesUnitsOfTheIndex) {
  EXPECT_EQ(CountDeletes("DeleteItem", R"({"Key":)", "}"), 10);
}

TEST_F(DynamoIndexDeletes, ADeleteInATransactionConsumesTwiceTheUnitsOfTheIndex) {
  EXPECT_EQ(CountDeletes("TransactWriteItems",
                         R"({"TransactItems":[{"Delete":{"TableName":"t","Key":)", "}}]}"),
            5);
}

// Fails if: a batch passes the partition key of an index that has no units left.
TEST_F(DynamoIndexDeletes, ADeleteInABatchConsumesUnitsOfTheIndex) {
  EXPECT_EQ(
      CountDeletes("BatchWriteItem", R"({"RequestItems":{"t":[{"DeleteRequest":{"Key":)", "}}]}}"),
      10);
  EXPECT_EQ(dynamo.counts().throttled_indexes, 1U);
  EXPECT_FALSE(Get("10", "1").is_null()) << "the write that is returned as unprocessed is not made";
}

TEST_F(DynamoCapacity, AnUpdateThatRemovesAnEntryConsumesUnitsOfTheIndex) {
  dynamo.faults.range_writes = 0;
  for (int i = 0; i < 20; ++i) Put(std::to_string(i), "1", kInGsi2);
  dynamo.faults.range_writes = 10;
  int updated = 0;
  const auto remove = [&] {
    return Call("UpdateItem", R"({"Key":{"PK":{"S":")" + std::to_string(updated++) +
                                  R"("},"SK":{"S":"1"}},"UpdateExpression":"REMOVE GSI2PK"})");
  };
  EXPECT_EQ(CountUntilThrottled(remove), 10);
}

class DynamoIncludedAttribute : public DynamoCapacity {
 protected:
  DynamoIncludedAttribute() {
    json table = LimitsTable();
    table["TableName"] = "included";
    table["GlobalSecondaryIndexes"][1]["Projection"] = {{"ProjectionType", "INCLUDE"},
                                                        {"NonKeyAttributes", {"n"}}};
    Ok("CreateTable", table.dump());
    dynamo.faults.range_writes = 0;
    for (int i = 0; i < 20; ++i) {
      Ok("PutItem", R"({"TableName":"included","Item":{"PK":{"S":")" + std::to_string(i) +
                        R"("},"SK":{"S":"1"},)" + kInGsi2 + "}}");
    }
    dynamo.faults.range_writes = 10;
  }
  int CountUpdatesOf(const std::string& attribute) {
    int updated = 0;
    return CountUntilThrottled([&] {
      return Call("UpdateItem", R"({"TableName":"included","Key":{"PK":{"S":")" +
                                    std::to_string(updated++ % 20) +
                                    R"("},"SK":{"S":"1"}},"UpdateExpression":"ADD )" + attribute +
                                    R"( :1","ExpressionAttributeValues":{":1":{"N":"1"}}})");
    });
  }
};

// Fails if: only a change of the keys counts as a write of the index.
TEST_F(DynamoIncludedAttribute, AChangeOfItIsThrottledByTheIndex) {
  EXPECT_EQ(CountUpdatesOf("n"), 10);
  EXPECT_EQ(Reason(), "IndexWriteKeyRangeThroughputExceeded");
}

TEST_F(DynamoIncludedAttribute, AChangeOfAnotherAttributeIsThrottledByTheTableOnly) {
  EXPECT_EQ(CountUpdatesOf("m"), 200);
  EXPECT_EQ(Reason(), "TableWriteKeyRangeThroughputExceeded");
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
