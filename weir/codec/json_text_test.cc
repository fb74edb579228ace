#include "weir/codec/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace weir {
namespace {

std::string Written(std::string_view text) {
  return WriteSized([&](auto& sink) { WriteJson(sink, text); });
}

TEST(WriteJson, EscapesWhatMustBeAndNothingElse) {
  EXPECT_EQ(Written(""), R"("")");
  EXPECT_EQ(Written("plain /<\x7f\u00fc"), "\"plain /<\x7f\u00fc\"");
  EXPECT_EQ(Written("\"a\\\n\x1f"), R"("\"a\\\u000a\u001f")");
}

TEST(AppendJson, LeavesWhatStandsThere) {
  std::string out = "{";
  AppendJson(out, "a\"");
  AppendJson(out, "");
  EXPECT_EQ(out, R"({"a\"""")");
}

// Compares with another library. Fails if: the text behind an escape loses its first byte.
RC_GTEST_PROP(WriteJsonProperty, IsReadBackByOthers, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(nlohmann::json::parse(Written(text)) == text);
  std::string appended;
  AppendJson(appended, text);
  RC_ASSERT(appended == Written(text));
}

}  // namespace
}  // namespace weir
