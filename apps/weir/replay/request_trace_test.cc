#include "apps/weir/replay/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/weir/replay/replay.h"
#include "weir/model/limit.h"

namespace weir::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kOwnHeader = "id,when,tenant,api,tokens\n";
const std::string kOwnColumns = "time=when,entity=tenant,resource=api,rpm=1,tpm=tokens";

Result<std::vector<TracedRequest>> Requests(const std::string& text,
                                            const std::string& columns = kOwnColumns) {
  const auto parsed = ParseTraceColumns(columns);
  if (!parsed) return Fail(parsed.error());
  return ParseRequests(text, "t.csv", *parsed);
}

std::string RequestsError(const Result<std::vector<TracedRequest>>& requests) {
  return requests ? "no error" : requests.error().message;
}

std::string TextOfRequest(const TracedRequest& request) {
  std::string text =
      std::to_string(request.at.value) + " " + request.entity + "/" + request.resource;
  for (const Amount& amount : request.amounts) {
    text += " " + amount.limit + "=" + FormatTokens(amount.tokens.milli());
  }
  return text;
}

TEST(ParseRequests, ReadsTheColumnsThatAreNamed) {
  const auto requests = Requests(kOwnHeader +
                                 "1,2023-11-16T18:15:46.680Z,acme,chat,12.5\r\n"
                                 "2,1700158546681,bolt,search,0\n");
  ASSERT_TRUE(requests) << requests.error().message;
  ASSERT_EQ(requests->size(), 2U);
  EXPECT_EQ(TextOfRequest(requests->at(0)), "1700158546680 acme/chat rpm=1 tpm=12.5");
  EXPECT_EQ(TextOfRequest(requests->at(1)), "1700158546681 bolt/search rpm=1 tpm=0");
}

// Fails if: the quotes of a field, or the mark at the begin of a file, belong to the text.
TEST(ParseRequests, ReadsFieldsInQuotes) {
  const auto requests = Requests(
      "\xef\xbb\xbf\"id\",\"when\",\"tenant\",\"api\",\"tokens\"\r\n"
      "\"1, \"\"one\"\"\",\"2023-11-16T18:15:46.680Z\",\"acme\",chat,\"12.5\"\r\n");
  ASSERT_TRUE(requests) << requests.error().message;
  EXPECT_EQ(TextOfRequest(requests->at(0)), "1700158546680 acme/chat rpm=1 tpm=12.5");
}

TEST(ParseRequests, ColumnsMayHaveTheNamesThemselves) {
  const auto requests = Requests("time,entity,resource,rpm\n5,acme,llm,2\n", "rpm=rpm");
  ASSERT_TRUE(requests) << requests.error().message;
  EXPECT_EQ(TextOfRequest(requests->front()), "5 acme/llm rpm=2");
}

TEST(ParseRequests, NamesTheColumnThatIsWrong) {
  const std::string good = "1,5,acme,chat,12\n";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"1,5,acme,chat\n", "4 fields; write 5, as in the header"},
      {"\"1,5,acme,chat,1\n", "field 1 has no closing quote in its line"},
      {"1,noon,acme,chat,1\n", "column when: "},
      {"1,5,a b,chat,1\n", "column tenant: "},
      {"1,5,acme,-,1\n", "column api: "},
      {"1,5,acme,chat,x\n", "column tokens: 'x'"},
      {"1,5,acme,chat,-1\n", "column tokens: '-1'"},
      {"1,4,acme,chat,1\n", "earlier than the row above"}};
  for (const auto& [row, what] : bad) {
    EXPECT_THAT(RequestsError(Requests(kOwnHeader + good + row)), StartsWith("t.csv:3: " + what))
        << row;
  }
  EXPECT_THAT(RequestsError(Requests(kOwnHeader)), StartsWith("t.csv:1: no requests"));
  EXPECT_THAT(RequestsError(Requests("a,b\n")), HasSubstr("the header has no column 'when'"));
}

TEST(ParseTraceColumns, WantsALimitOnce) {
  for (const std::string columns : {"", "time=a", "rpm=1,rpm=2", "rpm", "rpm=", "=x", "a b=1"}) {
    EXPECT_FALSE(ParseTraceColumns(columns)) << columns;
  }
  EXPECT_THAT(RequestsError(Requests(kOwnHeader, kOwnColumns + ",x=none")), HasSubstr("'none'"));
}

TEST(TraceFromRequests, EachPairOfEntityAndResourceIsATenant) {
  const auto requests = Requests(kOwnHeader +
                                 "1,5,acme,chat,1\n2,6,acme,search,1\n"
                                 "3,7,acme,chat,2\n");
  ASSERT_TRUE(requests);
  const ReplayTrace trace = TraceFromRequests(*requests);
  EXPECT_EQ(trace.limits, (std::vector<std::string>{"rpm", "tpm"}));
  EXPECT_EQ(trace.measured, "tpm");
  ASSERT_EQ(trace.tenants.size(), 2U);
  EXPECT_EQ(trace.requests[2].tenant, 0U);
}

}  // namespace
}  // namespace weir::app
