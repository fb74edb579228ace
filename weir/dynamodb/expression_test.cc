#include "weir/dynamodb/expression.h"

#include <gtest/gtest.h>

namespace weir::dynamo {
namespace {

std::string Text(const Expression& expression) {
  std::string body;
  expression.AppendTo(body);
  return body;
}

TEST(Expression, NumbersItsPlaceholders) {
  Expression e;
  e.Set("rf", Of(7)).Add("b_my-limit.x_tk", -5).Remove("ttl");
  e.RequireExists("PK").Require("b_my-limit.x_tk", ">=", 5);
  EXPECT_EQ(Text(e),
            R"(,"UpdateExpression":"SET #0 = :0 ADD #1 :1 REMOVE #2",)"
            R"("ConditionExpression":"attribute_exists(#3) AND #1 >= :2",)"
            R"("ExpressionAttributeNames":{"#0":"rf","#1":"b_my-limit.x_tk","#2":"ttl","#3":"PK"},)"
            R"("ExpressionAttributeValues":{":0":{"N":"7"},":1":{"N":"-5"},":2":{"N":"5"}})");
}

TEST(Expression, WhatIsUsedTwiceHasOnePlaceholder) {
  Expression e;
  e.Set("a", Of(1)).Set("b", Of(1)).RequireEqual("a", Of(1));
  EXPECT_EQ(Text(e),
            R"(,"UpdateExpression":"SET #0 = :0, #1 = :0","ConditionExpression":"#0 = :0",)"
            R"("ExpressionAttributeNames":{"#0":"a","#1":"b"},)"
            R"("ExpressionAttributeValues":{":0":{"N":"1"}})");
}

TEST(Expression, NothingIsWrittenOfWhatIsNotThere) {
  EXPECT_EQ(Text(Expression()), "");
  EXPECT_FALSE(Expression().changes_anything());
  Expression condition;
  condition.RequireAbsent("PK");
  EXPECT_EQ(Text(condition), R"x(,"ConditionExpression":"attribute_not_exists(#0)",)x"
                             R"("ExpressionAttributeNames":{"#0":"PK"})");
}

TEST(Expression, SetsGainAndLoseMembers) {
  Expression e;
  e.Add("resources", StringSet{{"gpt-4"}}).Delete("others", StringSet{{"x", "y"}});
  EXPECT_EQ(Text(e),
            R"(,"UpdateExpression":"ADD #0 :0 DELETE #1 :1",)"
            R"("ExpressionAttributeNames":{"#0":"resources","#1":"others"},)"
            R"("ExpressionAttributeValues":{":0":{"SS":["gpt-4"]},":1":{"SS":["x","y"]}})");
}

}  // namespace
}  // namespace weir::dynamo
