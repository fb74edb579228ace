#include "weir/sim/dynamodb/expression/dynamo_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "weir/sim/dynamodb/dynamo_fixture.h"
#include "weir/sim/dynamodb/expression/dynamo_apply.h"

namespace weir::sim {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Placeholders UpdatePlaceholders() {
  return Placeholders({{"#ttl", "ttl"}, {"#n", "n"}}, ItemFrom(R"({
      ":1": {"N":"1"}, ":5": {"N":"5"}, ":x": {"S":"x"}, ":t": {"BOOL":true},
      ":null": {"NULL":true}, ":b": {"B":"AQI="},
      ":m": {"M":{"k":{"N":"7"}}}, ":l": {"L":[{"S":"new"}]}, ":ss": {"SS":["a","z"]},
      ":one": {"SS":["a"]}, ":ns": {"NS":["1","9"]},
      ":big": {"N":"1e125"}})"));
}

Result<Update> UpdateOf(const std::string& text) {
  Placeholders placeholders = UpdatePlaceholders();
  return ParseUpdate(text, placeholders);
}

const char* const kOld = R"({
    "n": {"N":"10"}, "s": {"S":"text"}, "ttl": {"N":"3"}, "big": {"N":"9e125"},
    "tags": {"SS":["a","b"]}, "nums": {"NS":["1","2"]}, "single": {"SS":["a"]},
    "m": {"M":{"k":{"N":"1"},"deep":{"M":{"x":{"S":"y"}}}}},
    "l": {"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"q":{"N":"4"}}}]}})";

struct UpdateCase {
  std::string text;
  std::string changes;  ///< a merge patch on the old item: null removes
};

TEST(Update, DoesWhatDynamoDbDoes) {
  const UpdateCase cases[] = {
      {"SET a = :1", R"({"a":{"N":"1"}})"},
      {"set a = :1", R"({"a":{"N":"1"}})"},
      {"SET n = :x", R"({"n":{"N":null,"S":"x"}})"},
      {"SET n = n + :5", R"({"n":{"N":"15"}})"},
      {"SET n = n - :5", R"({"n":{"N":"5"}})"},
      {"SET n = :5 - #n", R"({"n":{"N":"-5"}})"},
      {"SET n = (n + :5)", R"({"n":{"N":"15"}})"},
      {"SET a = n", R"({"a":{"N":"10"}})"},
      {"SET n = if_not_exists(n, :1)", "{}"},
      {"SET a = if_not_exists(a, :1)", R"({"a":{"N":"1"}})"},
      {"SET a = if_not_exists(a, n)", R"({"a":{"N":"10"}})"},
      {"SET a = if_not_exists(a, :1) + :5", R"({"a":{"N":"6"}})"},
      {"SET l = list_append(l, :l)",
       R"({"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"q":{"N":"4"}}},{"S":"new"}]}})"},
      {"SET a = list_append(if_not_exists(a, :l), :l)", R"({"a":{"L":[{"S":"new"},{"S":"new"}]}})"},
      {"SET m.k = :5", R"({"m":{"M":{"k":{"N":"5"}}}})"},
      {"SET m.fresh = :5", R"({"m":{"M":{"fresh":{"N":"5"}}}})"},
      {"SET m.deep.x = m.k", R"({"m":{"M":{"deep":{"M":{"x":{"S":null,"N":"1"}}}}}})"},
      {"SET l[1] = :x", R"({"l":{"L":[{"N":"0"},{"S":"x"},{"N":"2"},{"M":{"q":{"N":"4"}}}]}})"},
      {"SET l[9] = :x, l[8] = :1",
       R"({"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"q":{"N":"4"}}},{"N":"1"},{"S":"x"}]}})"},
      {"SET l[3].q = :1", R"({"l":{"L":[{"N":"0"},{"N":"1"},{"N":"2"},{"M":{"q":{"N":"1"}}}]}})"},
      {"ADD n :5", R"({"n":{"N":"15"}})"},
      {"ADD a :5", R"({"a":{"N":"5"}})"},
      {"ADD m.k :5, m.fresh :1", R"({"m":{"M":{"k":{"N":"6"},"fresh":{"N":"1"}}}})"},
      {"ADD tags :ss", R"({"tags":{"SS":["a","b","z"]}})"},
      {"ADD nums :ns", R"({"nums":{"NS":["1","2","9"]}})"},
      {"ADD a :ss", R"({"a":{"SS":["a","z"]}})"},
      {"DELETE tags :ss", R"({"tags":{"SS":["b"]}})"},
      {"DELETE single :one", R"({"single":null})"},
      {"DELETE absent :ss", "{}"},
      {"REMOVE n, absent", R"({"n":null})"},
      {"REMOVE m.deep.x", R"({"m":{"M":{"deep":{"M":{"x":null}}}}})"},
      {"REMOVE l[0], l[2]", R"({"l":{"L":[{"N":"1"},{"M":{"q":{"N":"4"}}}]}})"},
      {"REMOVE l[17]", "{}"},
      {"REMOVE #ttl", R"({"ttl":null})"},
      // Every action reads the old item, whatever the order of the actions.
      {"SET a = n, n = :1", R"({"a":{"N":"10"},"n":{"N":"1"}})"},
      {"SET n = s, s = n", R"({"n":{"N":null,"S":"text"},"s":{"S":null,"N":"10"}})"},
      {"REMOVE n SET a = n", R"({"a":{"N":"10"},"n":null})"},
      {"ADD n :5 SET a = n", R"({"a":{"N":"10"},"n":{"N":"15"}})"},
      {"SET l[0] = l[1] REMOVE l[1]", R"({"l":{"L":[{"N":"1"},{"N":"2"},{"M":{"q":{"N":"4"}}}]}})"},
      {"ADD n :1 SET s = :x REMOVE #ttl DELETE tags :one",
       R"({"n":{"N":"11"},"s":{"S":"x"},"ttl":null,"tags":{"SS":["b"]}})"},
  };
  for (const auto& [text, changes] : cases) {
    const auto update = UpdateOf(text);
    ASSERT_TRUE(update.has_value()) << text << ": " << update.error().message;
    const auto item = Apply(*update, ItemFrom(kOld));
    ASSERT_TRUE(item.has_value()) << text << ": " << item.error().message;
    json expected = json::parse(kOld);
    expected.merge_patch(json::parse(changes));
    EXPECT_EQ(WriteItem(*item), WriteItem(ItemFrom(expected.dump()))) << text;
  }
}

TEST(Update, RefusesWhatAwsRefusesWhateverTheItem) {
  const RefusedExpression cases[] = {
      {"", "can not be empty"},
      {"a = :1", "Syntax error; token: \"a\""},
      {"SET", "<EOF>"},
      {"SET a", "<EOF>"},
      {"SET a = :1,", "<EOF>"},
      {"SET a = :1 :5", "Syntax error; token: \":5\""},
      {"SET a = :1 + :5 + :1", "Syntax error; token: \"+\""},
      {"SET a = :1 * :5", "Syntax error; token: \"*\""},
      {"SET a = (:1", "<EOF>"},
      {"SET a = :1 SET b = :1", "The \"SET\" section can only be used once"},
      {"REMOVE a REMOVE b", "The \"REMOVE\" section can only be used once"},
      {"REMOVE a = :1", "Syntax error"},
      {"ADD n = :1", "Syntax error"},
      {"ADD n s", "Syntax error; token: \"s\""},
      {"ADD n", "<EOF>"},
      {"SET a = :nowhere", "attribute value: :nowhere"},
      {"SET #nowhere = :1", "attribute name: #nowhere"},
      {"SET ttl = :1", "reserved keyword: ttl"},
      {"SET status = :1", "reserved keyword: status"},
      {"SET a = attribute_exists(b)", "Invalid function name; function: attribute_exists"},
      {"SET a = if_not_exists(a)", "Incorrect number of operands"},
      {"SET a = if_not_exists(:1, :1)", "requires a document path"},
      {"SET a = list_append(l, :1)", "function: list_append, operand type: N"},
      {"SET a = n + :x", "function: +, operand type: S"},
      {"SET a = :t - n", "function: -, operand type: BOOL"},
      {"ADD a :x", "operator: ADD, operand type: STRING"},
      {"ADD a :m", "operator: ADD, operand type: MAP"},
      {"DELETE tags :1", "operator: DELETE, operand type: NUMBER"},
      {"DELETE tags :null", "operator: DELETE, operand type: NULL"},
      {"ADD a :b", "operator: ADD, operand type: BINARY"},
      {"DELETE tags :b", "operator: DELETE, operand type: BINARY"},
      {"SET a = :1, a = :5", "paths overlap"},
      {"SET n = :1 REMOVE #n", "path one: [n], path two: [n]"},
      {"SET m = :m, m.k = :1", "path one: [m], path two: [m, k]"},
      {"SET m.k = :1 ADD m :1", "paths overlap"},
      {"SET m.k = :1, m[0] = :1", "paths conflict"},
  };
  for (const auto& [text, why] : cases) {
    const auto update = UpdateOf(text);
    ASSERT_FALSE(update.has_value()) << text;
    EXPECT_EQ(update.error().code, Code::kInvalidArgument);
    EXPECT_THAT(update.error().message, HasSubstr("Invalid UpdateExpression: ")) << text;
    EXPECT_THAT(update.error().message, HasSubstr(why)) << text;
  }
}

TEST(Update, RefusesWhatDoesNotFitTheItem) {
  const char* const missing = "refers to an attribute that does not exist in the item";
  const char* const wrong = "incorrect data type";
  const char* const invalid = "document path provided in the update expression is invalid";
  const RefusedExpression cases[] = {
      {"SET a = absent", missing},
      {"SET a = absent + :1", missing},
      {"SET a = m.absent", missing},
      {"SET a = s + :1", wrong},
      {"SET a = list_append(s, :l)", wrong},
      {"ADD s :1", wrong},
      {"ADD n :ss", wrong},
      {"ADD tags :ns", wrong},
      {"DELETE n :ss", wrong},
      {"DELETE nums :ss", wrong},
      {"SET absent.k = :1", invalid},
      {"SET n.k = :1", invalid},
      {"SET m[0] = :1", invalid},
      {"SET l.k = :1", invalid},
      {"REMOVE absent.k", invalid},
      {"ADD absent.k :1", invalid},
      {"ADD big :big", "Number overflow"},
  };
  for (const auto& [text, why] : cases) {
    const auto item = Apply(UpdateOf(text).value(), ItemFrom(kOld));
    ASSERT_FALSE(item.has_value()) << text;
    EXPECT_THAT(item.error().message, HasSubstr(why)) << text;
  }
}

TEST(Update, OperatorsAreLimitedAsOnAws) {
  const auto additions = [](int count) {
    std::string text = "SET";
    for (int i = 0; i < count; ++i) {
      text += (i == 0 ? " a" : ",a") + std::to_string(i) + "=n+:1";
    }
    return text;
  };
  EXPECT_TRUE(UpdateOf(additions(300)).has_value());
  EXPECT_THAT(UpdateOf(additions(301)).error().message, HasSubstr("operator count: 301"));
}

TEST(Projection, TakesWhatIsNamedAndThere) {
  Placeholders placeholders = UpdatePlaceholders();
  const auto paths = ParseProjection("n, m.deep.x, absent, m.k, #ttl", placeholders).value();
  EXPECT_EQ(Project(ItemFrom(kOld), paths).value(), ItemFrom(R"({"n":{"N":"10"},"ttl":{"N":"3"},
                         "m":{"M":{"k":{"N":"1"},"deep":{"M":{"x":{"S":"y"}}}}}})"));
  EXPECT_THAT(ParseProjection("n, m.k, m", placeholders).error().message,
              HasSubstr("Invalid ProjectionExpression: Two document paths overlap"));
  EXPECT_THAT(ParseProjection("n m", placeholders).error().message, HasSubstr("Syntax error"));
  const auto list = ParseProjection("l[0]", placeholders).value();
  EXPECT_THAT(Project(ItemFrom(kOld), list).error().message, HasSubstr("not simulated"));
}

// Fails if: ADD starts from a value other than 0, loses a sign, or rounds.
RC_GTEST_PROP(UpdateProperty, AddingAgainAndAgainIsTheSum, ()) {
  const auto amounts = *rc::gen::arbitrary<std::vector<std::int32_t>>();
  Item item;
  std::int64_t sum = 0;
  for (const std::int64_t amount : amounts) {
    Placeholders placeholders({}, Item{{":n", Value(Decimal(amount))}});
    item = Apply(ParseUpdate("ADD taken :n", placeholders).value(), item).value();
    sum += amount;
  }
  if (!amounts.empty()) RC_ASSERT(item.at("taken") == Value(Decimal(sum)));
}

}  // namespace
}  // namespace weir::sim
