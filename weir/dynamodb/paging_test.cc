#include "weir/dynamodb/paging.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/dynamodb/testing/sim_table.h"

namespace weir::dynamo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A partition with the sort keys 000, 001, ..., read as numbers.
struct Numbers {
  explicit Numbers(int count) {
    for (int i = 0; i < count; ++i)
      sim.Put(ToItem({"numbers", fmt::format("{:03}", i)}, PlainLayout().keys));
  }
  static int NumberOf(const Item& item) { return std::stoi(*GetText(item, "SK")); }
  PagedQuery<int> Query(std::size_t limit, std::function<bool(int)> wanted = nullptr) {
    PagedQuery<int> query;
    query.request.partition = "numbers";
    query.limit = limit;
    query.read = [wanted](const Item& item) -> Result<std::optional<int>> {
      const int number = NumberOf(item);
      if (wanted == nullptr || wanted(number)) return number;
      return std::nullopt;
    };
    query.cursor = [](int last) { return fmt::format("after {}", last); };
    return query;
  }
  Result<Page<int>> Read(PagedQuery<int> query) {
    return sim.Ask<Page<int>>([&](auto done) {
      ReadPage(sim.table, std::move(query), Deadline::Never(), std::move(done));
    });
  }

  SimTable sim{PlainLayout()};
};

TEST(Paging, APageEndsWhereTheNextBegins) {
  Numbers numbers(5);
  const auto page = numbers.Read(numbers.Query(2));
  ASSERT_TRUE(page);
  EXPECT_THAT(page->items, ElementsAre(0, 1));
  EXPECT_EQ(page->next, "after 1");
}

TEST(Paging, TheLastPageSaysSoEvenIfItIsFull) {
  Numbers numbers(4);
  EXPECT_EQ(numbers.Read(numbers.Query(4))->next, "");
  EXPECT_EQ(numbers.Read(numbers.Query(3))->next, "after 2");
  EXPECT_THAT(numbers.Read(numbers.Query(100))->items, SizeIs(4));
}

TEST(Paging, WhatIsLeftOutDoesNotShortenAPage) {
  Numbers numbers(100);
  const auto page = numbers.Read(numbers.Query(2, [](int number) { return number % 40 == 7; }));
  ASSERT_TRUE(page);
  EXPECT_THAT(page->items, ElementsAre(7, 47));
  EXPECT_EQ(page->next, "after 47");
  const auto last = numbers.Read(numbers.Query(3, [](int number) { return number % 40 == 7; }));
  EXPECT_THAT(last->items, ElementsAre(7, 47, 87));
  EXPECT_EQ(last->next, "");
}

TEST(Paging, WhereNothingIsWantedTheOnlyPageIsEmpty) {
  Numbers numbers(30);
  const auto page = numbers.Read(numbers.Query(1, [](int) { return false; }));
  ASSERT_TRUE(page);
  EXPECT_THAT(page->items, IsEmpty());
  EXPECT_EQ(page->next, "");
}

TEST(Paging, BehindTheEndNothingIsRead) {
  Numbers numbers(100);
  PagedQuery<int> query = numbers.Query(1000, [](int number) { return number != 3; });
  query.ends = [](const Item& item) { return Numbers::NumberOf(item) == 5; };
  EXPECT_THAT(numbers.Read(std::move(query))->items, ElementsAre(0, 1, 2, 4));
}

TEST(Paging, MoreAreAskedForAtOnceWhereFewAreWanted) {
  Numbers numbers(90);
  const auto few = [](int number) { return number == 89; };
  const auto before = numbers.sim.client.calls();
  PagedQuery<int> query = numbers.Query(1, few);
  query.least_at_once = 100;
  EXPECT_THAT(numbers.Read(std::move(query))->items, ElementsAre(89));
  EXPECT_EQ(numbers.sim.client.calls() - before, 1U);
}

TEST(Paging, AnItemThatCannotBeReadEndsIt) {
  Numbers numbers(3);
  PagedQuery<int> query = numbers.Query(10);
  query.read = [](const Item&) -> Result<std::optional<int>> {
    return Fail(Code::kDataLoss, "no number");
  };
  EXPECT_EQ(numbers.Read(std::move(query)).error().code, Code::kDataLoss);
}

// Fails if: one item that cannot be read hides all others.
TEST(Paging, ItemsThatCannotBeReadAreListedIfTheQuerySaysSo) {
  Numbers numbers(5);
  PagedQuery<int> query = numbers.Query(10);
  query.lists_unreadable = true;
  query.read = [](const Item& item) -> Result<std::optional<int>> {
    const int number = Numbers::NumberOf(item);
    if (number % 2 == 1) return Fail(Code::kDataLoss, "odd " + std::to_string(number));
    return number;
  };
  const auto page = numbers.Read(std::move(query));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(page->items, ElementsAre(0, 2, 4));
  EXPECT_THAT(page->unreadable, ElementsAre("odd 1", "odd 3"));
}

// Fails if: the items between two pages are reported with both.
TEST(Paging, AnItemThatCannotBeReadIsListedOnOnePage) {
  Numbers numbers(6);
  PagedQuery<int> query = numbers.Query(2);
  query.lists_unreadable = true;
  query.read = [](const Item& item) -> Result<std::optional<int>> {
    const int number = Numbers::NumberOf(item);
    if (number == 1 || number == 3) return Fail(Code::kDataLoss, std::to_string(number));
    return number;
  };
  const auto first = numbers.Read(query);
  EXPECT_THAT(first->items, ElementsAre(0, 2));
  EXPECT_THAT(first->unreadable, ElementsAre("1"));
  query.request.sort_prefix = "0";
  query.request.sort_from = "003";
  const auto last = numbers.Read(query);
  EXPECT_THAT(last->items, ElementsAre(4, 5));
  EXPECT_THAT(last->unreadable, ElementsAre("3"));
}

TEST(Paging, AFailureOnTheWayIsTheAnswer) {
  Numbers numbers(10);
  numbers.sim.client.FailFrom(2, DirectClient::Fault::kUnsent);
  const auto page = numbers.Read(numbers.Query(1, [](int number) { return number == 9; }));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Code::kUnavailable);
}

TEST(Paging, APageOfNothingIsRefused) {
  Numbers numbers(1);
  EXPECT_EQ(numbers.Read(numbers.Query(0)).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace weir::dynamo
