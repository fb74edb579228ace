#include "weir/telemetry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Registry, WithoutMetricsHasNoText) { EXPECT_EQ(Registry().Text(), ""); }

TEST(Registry, TellsEveryKindInOrderOfNamesAndLabels) {
  Counter admitted, refused;
  Gauge waiting;
  Histogram sizes;
  admitted.Add(12);
  refused.Add(3);
  waiting.Set(-4);
  for (const int size : {1, 2, 3, 9}) sizes.Record(size);
  Registry registry;
  const std::string help = "Decisions taken.";
  ASSERT_TRUE(registry.Add({"weir_decisions_total", help, {{"verdict", "refused"}}}, refused));
  ASSERT_TRUE(registry.Add({"weir_waiting", "Requests that wait now."}, waiting));
  ASSERT_TRUE(registry.Add({"weir_decisions_total", help, {{"verdict", "admitted"}}}, admitted));
  ASSERT_TRUE(registry.Add({"weir_batch_size", "Changes in a commit."}, sizes,
                           {.units = 1, .lowest = 1, .highest = 8}));
  ASSERT_TRUE(registry.AddGauge({"weir_ratio", "Read when told."}, [] { return 0.25; }));
  ASSERT_TRUE(registry.AddCounter({"weir_calls_total", "Kept elsewhere."}, [] { return 7U; }));
  EXPECT_EQ(registry.Text(),
            "# HELP weir_batch_size Changes in a commit.\n"
            "# TYPE weir_batch_size histogram\n"
            "weir_batch_size_count 4\n"
            "weir_batch_size_sum 15\n"
            "weir_batch_size_bucket{le=\"1\"} 1\n"
            "weir_batch_size_bucket{le=\"3\"} 3\n"
            "weir_batch_size_bucket{le=\"7\"} 3\n"
            "weir_batch_size_bucket{le=\"15\"} 4\n"
            "weir_batch_size_bucket{le=\"+Inf\"} 4\n"
            "# HELP weir_calls_total Kept elsewhere.\n"
            "# TYPE weir_calls_total counter\n"
            "weir_calls_total 7\n"
            "# HELP weir_decisions_total Decisions taken.\n"
            "# TYPE weir_decisions_total counter\n"
            "weir_decisions_total{verdict=\"admitted\"} 12\n"
            "weir_decisions_total{verdict=\"refused\"} 3\n"
            "# HELP weir_ratio Read when told.\n"
            "# TYPE weir_ratio gauge\n"
            "weir_ratio 0.25\n"
            "# HELP weir_waiting Requests that wait now.\n"
            "# TYPE weir_waiting gauge\n"
            "weir_waiting -4\n");
}

TEST(Registry, EscapesHelpAndLabelValues) {
  Counter counter;
  Registry registry;
  ASSERT_TRUE(registry.Add({"x", "one\ntwo \\ \"three\"", {{"path", "a\"b\\c\nd"}}}, counter));
  EXPECT_EQ(registry.Text(),
            "# HELP x one\\ntwo \\\\ \"three\"\n"
            "# TYPE x counter\n"
            "x{path=\"a\\\"b\\\\c\\nd\"} 0\n");
}

TEST(Registry, TellsNanosecondsAsSecondsFromAMicrosecondToAMinute) {
  Histogram latency;
  latency.Record(1'500);
  latency.Record(2'000'000'000);
  Registry registry;
  ASSERT_TRUE(registry.Add({"weir_seconds", "How long."}, latency, kNanosAsSeconds));
  const std::string text = registry.Text();
  EXPECT_THAT(text,
              AllOf(HasSubstr("weir_seconds_count 2\n"), HasSubstr("weir_seconds_sum 2.0000015\n"),
                    HasSubstr("weir_seconds_bucket{le=\"1.023e-06\"} 0\n"),
                    HasSubstr("weir_seconds_bucket{le=\"2.047e-06\"} 1\n"),
                    HasSubstr("weir_seconds_bucket{le=\"68.719476735\"} 2\n")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 2 + 27 + 1);
}

TEST(Registry, TellsTheValuesOfTheMomentItIsAsked) {
  Counter counter;
  Registry registry;
  ASSERT_TRUE(registry.Add({"x", ""}, counter));
  EXPECT_THAT(registry.Text(), HasSubstr("\nx 0\n"));
  counter.Add(5);
  EXPECT_THAT(registry.Text(), HasSubstr("\nx 5\n"));
}

TEST(Registry, TellsWhatComesAndGoesUnderOneName) {
  std::vector<Labelled<std::uint64_t>> rows{{{"s", "a\"b"}, 7}, {{"s", ""}, 3}, {{"s"}, 9}};
  Registry registry;
  ASSERT_TRUE(
      registry.AddCounters({"x_total", "Help.", {"stream", "shard"}}, [&] { return rows; }));
  EXPECT_EQ(registry.Text(),
            "# HELP x_total Help.\n"
            "# TYPE x_total counter\n"
            "x_total{stream=\"s\",shard=\"a\\\"b\"} 7\n"
            "x_total{stream=\"s\"} 3\n")
      << "an empty label is none; a row that lacks one is left out";
  rows.erase(rows.begin());
  EXPECT_THAT(registry.Text(), testing::Not(HasSubstr("} 7\n")));
}

TEST(Registry, TellsGaugesAndHistogramsThatComeAndGo) {
  Histogram sizes;
  sizes.Record(2);
  Registry registry;
  ASSERT_TRUE(registry.AddGauges({"g", "Help.", {"l"}},
                                 [] { return std::vector<Labelled<double>>{{{"a"}, -0.5}}; }));
  ASSERT_TRUE(registry.AddHistograms(
      {"h", "Help.", {"l"}}, {.units = 1, .lowest = 1, .highest = 2},
      [&] { return std::vector<Labelled<HistogramSnapshot>>{{{"a"}, sizes.Snapshot()}}; }));
  EXPECT_EQ(registry.Text(),
            "# HELP g Help.\n"
            "# TYPE g gauge\n"
            "g{l=\"a\"} -0.5\n"
            "# HELP h Help.\n"
            "# TYPE h histogram\n"
            "h_count{l=\"a\"} 1\n"
            "h_sum{l=\"a\"} 2\n"
            "h_bucket{l=\"a\",le=\"1\"} 0\n"
            "h_bucket{l=\"a\",le=\"3\"} 1\n"
            "h_bucket{l=\"a\",le=\"+Inf\"} 1\n");
}

class RegistryRefuses : public testing::Test {
 protected:
  /// Returns the error's code, and checks that no metric was added.
  Code CodeOf(const Status& status) {
    EXPECT_EQ(registry_.Text(), before_) << "a refused metric is told";
    if (status) return Code{};
    EXPECT_THAT(status.error().message, testing::Not(HasSubstr("\n")));
    return status.error().code;
  }
  void Remember() { before_ = registry_.Text(); }

  Counter counter_;
  Gauge gauge_;
  Histogram histogram_;
  Registry registry_;
  std::string before_;
};

TEST_F(RegistryRefuses, NamesThatPrometheusWouldNotTake) {
  for (const char* name : {"", "1x", "a-b", "a b", "a.b", "\xc3\xa9", "x\n"}) {
    EXPECT_EQ(CodeOf(registry_.Add({name, ""}, counter_)), Code::kInvalidArgument) << name;
  }
  EXPECT_TRUE(registry_.Add({"_a:B9", ""}, counter_));
}

TEST_F(RegistryRefuses, LabelsThatPrometheusWouldNotTake) {
  for (const char* label : {"", "1x", "a-b", "a:b", "__x"}) {
    EXPECT_EQ(CodeOf(registry_.Add({"x", "", {{label, "v"}}}, counter_)), Code::kInvalidArgument)
        << label;
  }
  EXPECT_EQ(CodeOf(registry_.Add({"x", "", {{"a", "1"}, {"b", "2"}, {"a", "3"}}}, counter_)),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(registry_.Add({"x", "", {{"le", "1"}}}, histogram_)), Code::kInvalidArgument);
  EXPECT_TRUE(registry_.Add({"x", "", {{"le", "1"}, {"_a9", ""}}}, counter_));
}

TEST_F(RegistryRefuses, BoundsThatMakeNoSense) {
  for (const HistogramText text :
       {HistogramText{.units = 0}, HistogramText{.units = -1}, HistogramText{.lowest = 0},
        HistogramText{.lowest = 9, .highest = 8}}) {
    EXPECT_EQ(CodeOf(registry_.Add({"x", ""}, histogram_, text)), Code::kInvalidArgument);
  }
  EXPECT_TRUE(registry_.Add({"x", ""}, histogram_, {.lowest = INT64_MAX, .highest = INT64_MAX}));
}

TEST_F(RegistryRefuses, TheSameNameAndLabelsTwice) {
  ASSERT_TRUE(registry_.Add({"x", "h", {{"a", "1"}, {"b", "2"}}}, counter_));
  Remember();
  EXPECT_EQ(CodeOf(registry_.Add({"x", "h", {{"b", "2"}, {"a", "1"}}}, counter_)),
            Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.Add({"x", "h", {{"a", "2"}}}, gauge_)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.Add({"x", "other", {{"a", "2"}}}, counter_)), Code::kAlreadyExists);
  EXPECT_TRUE(registry_.Add({"x", "h", {{"a", "2"}}}, counter_));
}

TEST_F(RegistryRefuses, ASecondSourceOfANameWhoseLabelsComeAndGo) {
  const auto none = [] { return std::vector<Labelled<std::uint64_t>>(); };
  ASSERT_TRUE(registry_.AddCounters({"x", "h", {"a"}}, none));
  ASSERT_TRUE(registry_.Add({"y", "h"}, counter_));
  Remember();
  EXPECT_EQ(CodeOf(registry_.AddCounters({"x", "h", {"a"}}, none)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.Add({"x", "h", {{"b", "1"}}}, counter_)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.AddCounters({"y", "h", {"a"}}, none)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.AddCounters({"z", "h", {"a-b"}}, none)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(registry_.AddCounters({"z", "h", {"a", "a"}}, none)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(registry_.AddHistograms({"z", "h", {"a"}}, {.units = 0}, {})),
            Code::kInvalidArgument);
}

TEST_F(RegistryRefuses, NamesThatAHistogramIsToldUnder) {
  ASSERT_TRUE(registry_.Add({"x", ""}, histogram_));
  ASSERT_TRUE(registry_.Add({"y_sum", ""}, counter_));
  Remember();
  EXPECT_EQ(CodeOf(registry_.Add({"x_count", ""}, counter_)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.Add({"x_bucket", ""}, gauge_)), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(registry_.Add({"y", ""}, histogram_)), Code::kAlreadyExists);
}

TEST(Registry, MayBeAddedToWhileItIsRead) {
  constexpr int kMetrics = 100;
  Counter counter;
  Registry registry;
  std::jthread adder([&] {
    for (int i = 0; i < kMetrics; ++i) {
      EXPECT_TRUE(registry.Add({"x", "h", {{"i", std::to_string(i)}}}, counter));
    }
  });
  std::ptrdiff_t lines = 0;
  for (int read = 0; read < 50; ++read) {
    const std::ptrdiff_t now = std::ranges::count(registry.Text(), '\n');
    EXPECT_GE(now, lines);
    lines = now;
  }
  adder.join();
  EXPECT_EQ(std::ranges::count(registry.Text(), '\n'), 2 + kMetrics);
}

TEST(Registry, AReaderMayCallTheRegistry) {
  Counter counter;
  Registry registry;
  ASSERT_TRUE(registry.AddGauge({"outer", ""}, [&] {
    static_cast<void>(registry.Add({"inner", ""}, counter));
    return 1.0;
  }));
  EXPECT_THAT(registry.Text(), HasSubstr("outer 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("inner 0\n"));
}

}  // namespace
}  // namespace weir
