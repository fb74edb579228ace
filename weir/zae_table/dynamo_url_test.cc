#include "weir/zae_table/dynamo_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace weir::dynamo {
namespace {

using testing::HasSubstr;
using testing::Not;

Environment With(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

DynamoUrl Parsed(std::string_view url, std::map<std::string, std::string> variables = {}) {
  const auto read = ParseDynamoUrl(url, With(std::move(variables)));
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(DynamoUrl{});
}

Error Refused(std::string_view url, std::map<std::string, std::string> variables = {}) {
  const auto read = ParseDynamoUrl(url, With(std::move(variables)));
  EXPECT_FALSE(read) << url;
  return read ? Error{} : read.error();
}

TEST(DynamoUrl, NamesTableRegionEndpointAndNamespace) {
  const DynamoUrl expected{"limits", "eu-west-1", "http://localhost:8000", "team-a"};
  EXPECT_EQ(Parsed("dynamodb://limits?region=eu-west-1&endpoint=http://localhost:8000"
                   "&namespace=team-a"),
            expected);
  EXPECT_EQ(Parsed("dynamodb:limits?namespace=team%2Da&endpoint=http%3A%2F%2Flocalhost%3a8000"
                   "&region=eu-west-1"),
            expected);
}

TEST(DynamoUrl, WhatIsNotNamedComesFromTheEnvironment) {
  const std::map<std::string, std::string> variables{{"ZAEL_STACK", "prod"},
                                                     {"ZAEL_NAMESPACE", "team-b"}};
  EXPECT_EQ(Parsed("dynamodb:", variables), (DynamoUrl{"prod", "", "", "team-b"}));
  EXPECT_EQ(Parsed("dynamodb://?region=us-east-1", variables),
            (DynamoUrl{"prod", "us-east-1", "", "team-b"}));
  EXPECT_EQ(Parsed("dynamodb://limits?namespace=id:default", variables),
            (DynamoUrl{"limits", "", "", "id:default"}));
}

TEST(DynamoUrl, WhatTheEnvironmentDoesNotNameEitherIsTheUsual) {
  const DynamoUrl usual{"zae-limiter", "", "", "default"};
  EXPECT_EQ(Parsed("dynamodb:"), usual);
  EXPECT_EQ(Parsed("dynamodb:", {{"ZAEL_STACK", ""}, {"ZAEL_NAMESPACE", ""}}), usual);
}

TEST(DynamoUrl, RefusalsSayWhatIsWrong) {
  const std::map<std::string, std::string> refusals{
      {"sqlite:x", "scheme"},
      {"dynamodb:ab", "3 to 255"},
      {"dynamodb:limits/x", "3 to 255"},
      {"dynamodb://limits?", "a parameter without a name"},
      {"dynamodb://limits?region=a&", "a parameter without a name"},
      {"dynamodb://limits?=a", "a parameter without a name"},
      {"dynamodb://limits?zone=a", "'zone' is not one of its parameters"},
      {"dynamodb://limits?region=a&region=b", "region is given twice"},
      {"dynamodb://limits?region", "region has no value"},
      {"dynamodb://limits?region=", "region is empty"},
      {"dynamodb://limits?region=EU", "eu-west-1"},
      {"dynamodb://limits?namespace=a%2", "namespace has a %"},
      {"dynamodb://limits?namespace=a%zz", "namespace has a %"},
      {"dynamodb://li%mits", "its name has a %"},
      {"dynamodb://limits#x", "%23"},
      {"dynamodb://limits?namespace=_", "reserved"},
      {"dynamodb://limits?namespace=id:_", "reserved"},
      {"dynamodb://limits?namespace=a%0Ab", "\\x0a"},
      {"dynamodb://limits?endpoint=localhost:8000", "http://"},
      {"dynamodb://limits?endpoint=http://", "http://"},
      {"dynamodb://limits?endpoint=http://host/path", "http://"},
  };
  for (const auto& [url, why] : refusals) {
    const Error error = Refused(url);
    EXPECT_EQ(error.code, Code::kInvalidArgument) << url;
    EXPECT_THAT(error.message, HasSubstr(why)) << url;
    EXPECT_THAT(error.message, Not(HasSubstr("\n"))) << url;
  }
}

TEST(DynamoUrl, ABadVariableIsNamed) {
  EXPECT_THAT(Refused("dynamodb:", {{"ZAEL_STACK", "a b"}}).message,
              HasSubstr("'dynamodb:': the name comes from the environment variable ZAEL_STACK: "
                        "table 'a b': expected"));
  EXPECT_THAT(
      Refused("dynamodb://limits", {{"ZAEL_NAMESPACE", "_"}}).message,
      HasSubstr(
          "'dynamodb://limits': the name comes from the environment variable ZAEL_NAMESPACE: "));
}

TEST(DynamoUrl, APasswordInAnEndpointIsRefusedAndNotRepeated) {
  const Error error = Refused("dynamodb:limits?endpoint=http://me:secret@host");
  EXPECT_THAT(error.message, Not(HasSubstr("secret")));
  const Error other = Refused("dynamodb:limits?endpoint=http://me:secret@host&region=a&region=b");
  EXPECT_THAT(other.message, Not(HasSubstr("secret")));
}

// Fails if: ToText omits a field, or does not encode a character that has a meaning in a query.
RC_GTEST_PROP(DynamoUrl, ItsTextReadsBackAsTheSame, ()) {
  const auto word = [](const char* letters) {
    return rc::gen::nonEmpty(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string(letters))));
  };
  DynamoUrl url{"tab" + *word("aZ09_.-"), "", "", "n" + *word("aZ09_.-")};
  url.table.resize(std::min<std::size_t>(url.table.size(), 255));
  url.namespace_name.resize(std::min<std::size_t>(url.namespace_name.size(), 64));
  if (*rc::gen::arbitrary<bool>()) {
    url.region = "eu-west-" + std::to_string(*rc::gen::inRange(1, 9));
  }
  if (*rc::gen::arbitrary<bool>()) url.endpoint = "http://[::1]:8000";
  if (*rc::gen::arbitrary<bool>()) url.namespace_name = "id:default";
  RC_ASSERT(ParseDynamoUrl(ToText(url), With({})) == url);
}

}  // namespace
}  // namespace weir::dynamo
