#include "weir/codec/json_members.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace weir {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

Result<Texts> Read(std::string_view body) {
  Texts texts;
  WEIR_RETURN_IF_ERROR(ReadMembers(body, [&](std::string_view name, JsonValue value) {
    texts.emplace_back(name, TextOf(value));
  }));
  return texts;
}

std::string FaultOf(std::string_view body) {
  const auto read = Read(body);
  if (read) return "";
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  return read.error().message;
}

TEST(JsonMembers, ComeInTheirOrderWithoutEscapesAndNullIsEmpty) {
  EXPECT_EQ(Read(R"( {"b\n":"1\"","long name of a member":null,"b\n":"\u00fc"} )"),
            (Texts{{"b\n", "1\""}, {"long name of a member", ""}, {"b\n", "\u00fc"}}));
  EXPECT_EQ(Read("{}"), Texts());
}

TEST(JsonMembers, AFaultIsToldWithItsByte) {
  EXPECT_EQ(FaultOf(R"({"a":"x","b":7})").substr(0, 9), "byte 13: ");
  EXPECT_EQ(FaultOf(R"({"a":"x"} {})"), "byte 10: more than one object");
  for (const char* const body : {"", "[]", "7", "null", "{\"a\":\"\xff\"}"}) {
    EXPECT_EQ(FaultOf(body).substr(0, 8), "byte 0: ") << body;
  }
}

TEST(JsonMembers, WhatIsNotExpectedIsAFaultToo) {
  const Status read = ReadMembers(R"({"a":{"b":"1"},"c":"2"})", [](std::string_view, JsonValue a) {
    ForMembers(a.get_object(), [](std::string_view name, JsonValue) {
      throw UnexpectedJson{"no member is called " + std::string(name)};
    });
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), (Error{Code::kDataLoss, "byte 10: no member is called b"}));
}

// Compares with another library.
RC_GTEST_PROP(JsonMembersProperty, AreWhatAnotherReads, (const std::vector<bool>& nulls)) {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  Texts expected;
  for (std::size_t i = 0; i < nulls.size(); ++i) {
    const std::string name = std::to_string(i) + "." + *text;  // each name once
    expected.emplace_back(name, nulls[i] ? "" : *text);
    if (!nulls[i]) object[name] = expected.back().second;
    if (nulls[i]) object[name] = nullptr;
  }
  const std::string body = object.dump();
  RC_ASSERT(Read(body) == expected);
  RC_ASSERT(!Read(body.substr(0, body.size() - 1)));
}

}  // namespace
}  // namespace weir
