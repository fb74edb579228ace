#include "weir/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "weir/base/done.h"

namespace weir {
namespace {

TEST(Code, HasTheNumberAndTheNameThatGrpcGivesIt) {
  const std::pair<int, std::string_view> names[] = {
      {1, "CANCELLED"},           {2, "UNKNOWN"},
      {3, "INVALID_ARGUMENT"},    {4, "DEADLINE_EXCEEDED"},
      {5, "NOT_FOUND"},           {6, "ALREADY_EXISTS"},
      {7, "PERMISSION_DENIED"},   {8, "RESOURCE_EXHAUSTED"},
      {9, "FAILED_PRECONDITION"}, {10, "ABORTED"},
      {11, "OUT_OF_RANGE"},       {12, "UNIMPLEMENTED"},
      {13, "INTERNAL"},           {14, "UNAVAILABLE"},
      {15, "DATA_LOSS"},          {16, "UNAUTHENTICATED"}};
  for (const auto& [number, name] : names) EXPECT_EQ(CodeName(Code{number}), name);
}

TEST(Code, ANumberThatIsNoneIsUnknown) {
  EXPECT_EQ(CodeName(Code{0}), "UNKNOWN");
  EXPECT_EQ(CodeName(Code{99}), "UNKNOWN");
}

TEST(Fail, FitsEveryResult) {
  const Result<int> number = Fail(Code::kNotFound, "no such limit");
  const Status status = Fail(Code::kNotFound, "no such limit");
  const Result<std::unique_ptr<int>> pointer =
      Fail(Error{Code::kUnavailable, "busy", std::chrono::milliseconds(7)});
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error(), (Error{Code::kNotFound, "no such limit"}));
  EXPECT_EQ(status.error(), number.error());
  EXPECT_EQ(pointer.error().retry_after, std::chrono::milliseconds(7));
}

TEST(Error, DiffersByEachOfItsParts) {
  const Error error{Code::kAborted, "lost the race"};
  EXPECT_EQ(error, (Error{Code::kAborted, "lost the race"}));
  EXPECT_NE(error, (Error{Code::kUnavailable, "lost the race"}));
  EXPECT_NE(error, (Error{Code::kAborted, "won the race"}));
  EXPECT_NE(error, (Error{Code::kAborted, "lost the race", std::chrono::milliseconds(0)}));
}

Status FirstError(const Status& first, const Status& second, int& reached) {
  WEIR_RETURN_IF_ERROR(first);
  ++reached;
  WEIR_RETURN_IF_ERROR(second);
  ++reached;
  return {};
}

TEST(ReturnIfError, LeavesAtTheFirstErrorAndNowhereElse) {
  const Status good, bad = Fail(Code::kDataLoss, "torn page"), worse = Fail(Code::kInternal, "x");
  int reached = 0;
  EXPECT_TRUE(FirstError(good, good, reached));
  EXPECT_EQ(reached, 2);
  reached = 0;
  EXPECT_EQ(FirstError(bad, worse, reached).error(), bad.error());
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(FirstError(good, bad, reached).error(), bad.error());
  EXPECT_EQ(reached, 1);
}

TEST(ReturnIfError, EvaluatesItsExpressionOnceAndNeedsNoBraces) {
  int calls = 0;
  const auto call = [&]() -> Status {
    ++calls;
    return {};
  };
  const auto run = [&](bool yes) -> Status {
    if (yes)
      WEIR_RETURN_IF_ERROR(call());
    else
      return Fail(Code::kCancelled, "no");
    return {};
  };
  EXPECT_TRUE(run(true));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(run(false));
}

Result<std::unique_ptr<int>> Make(int value) {
  if (value < 0) return Fail(Code::kOutOfRange, "negative");
  return std::make_unique<int>(value);
}

Result<int> Sum(int a, int b) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<int> left, Make(a));
  std::unique_ptr<int> right;
  WEIR_ASSIGN_OR_RETURN(right, Make(b));
  return *left + *right;
}

TEST(AssignOrReturn, NamesTheValueAlsoOneThatOnlyMoves) { EXPECT_EQ(Sum(20, 22), 42); }

TEST(AssignOrReturn, LeavesWithTheError) {
  ASSERT_FALSE(Sum(-1, 2));
  EXPECT_EQ(Sum(1, -2).error(), (Error{Code::kOutOfRange, "negative"}));
}

TEST(Done, TakesACallbackThatOnlyMovesAndGivesItTheResult) {
  int seen = 0;
  Done<int> done = [owned = std::make_unique<int>(2), &seen](Result<int> result) {
    seen = *owned * result.value();
  };
  Done<int> moved = std::move(done);
  moved(21);
  EXPECT_EQ(seen, 42);
}

}  // namespace
}  // namespace weir
