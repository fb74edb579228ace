// Runs the benchmarks of all modules and prints each figure next to its reference from the same
// run.
//
//     weir_bench [NAME...] [--json FILE]     a NAME is a figure's, or a part of one; none: all
//
// A figure is a Google Benchmark. One that sets items_per_second is printed in items per second,
// any other in nanoseconds per iteration; its other counters are separate figures. One with the
// label `vs OTHER` is printed as a ratio to OTHER. The benchmarks run in kRounds rounds, each
// figure close to its reference, and the medians are printed, so that a machine with changing speed
// favours neither.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 5;
constexpr const char* kRate = "items_per_second";

struct Figure {
  std::string unit;
  std::string against;    // empty: none
  std::string reference;  // the figure of that benchmark
  std::vector<double> values;

  double Median() const {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

// Collects the results of the benchmarks, in the order in which they first ran.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) {
        std::cerr << "weir_bench: " << run.benchmark_name() << ": " << run.error_message << '\n';
        failed_ = true;
        continue;
      }
      Add(run);
    }
  }

  // Returns the references that were named but have not run yet.
  std::set<std::string> Missing() const {
    std::set<std::string> missing;
    for (const auto& [name, figure] : figures_) {
      if (!figure.reference.empty() && !figures_.contains(figure.reference)) {
        missing.insert(figure.against);
      }
    }
    return missing;
  }

  const std::vector<std::string>& names() const { return names_; }
  const Figure& figure(const std::string& name) const { return figures_.at(name); }
  bool failed() const { return failed_; }

  std::optional<double> ReferenceOf(const Figure& figure) const {
    const auto found = figures_.find(figure.reference);
    if (found == figures_.end()) return std::nullopt;
    return found->second.Median();
  }

 private:
  void Add(const Run& run) {
    // A benchmark with several numbers of threads makes several figures.
    const std::string threads = run.threads > 1 ? fmt::format("_{}t", run.threads) : "";
    const std::string argument = run.run_name.args.empty() ? "" : "_" + run.run_name.args;
    const std::string name = run.run_name.function_name + argument + threads;
    Figure& figure = FigureOf(name);
    if (run.report_label.starts_with("vs ")) {
      figure.against = run.report_label.substr(3);
      figure.reference = figure.against + threads;
    }
    const auto rate = run.counters.find(kRate);
    const bool is_rate = rate != run.counters.end();
    figure.unit = is_rate ? "1/s" : "ns";
    figure.values.push_back(is_rate ? rate->second.value : Nanos(run));
    for (const auto& [counter, value] : run.counters) {
      if (counter == kRate) continue;
      FigureOf(fmt::format("{}.{}", name, counter)).values.push_back(value.value);
    }
  }

  Figure& FigureOf(const std::string& name) {
    if (!figures_.contains(name)) names_.push_back(name);
    return figures_[name];
  }

  // Returns the CPU time of one thread, which other processes do not lengthen.
  static double Nanos(const Run& run) {
    return run.run_name.time_type.empty() ? run.GetAdjustedCPUTime() : run.GetAdjustedRealTime();
  }

  std::map<std::string, Figure> figures_;
  std::vector<std::string> names_;
  bool failed_ = false;
};

// Returns a filter of Google Benchmark for any of the names: the whole name, or a part of it.
std::string Filter(const std::set<std::string>& names, bool whole) {
  std::string alternatives;
  for (const std::string& name : names) {
    alternatives += (alternatives.empty() ? "" : "|") + name;
  }
  return whole ? fmt::format("^({})(/.*)?$", alternatives) : fmt::format("({})", alternatives);
}

bool Measure(const std::set<std::string>& names, Collector& collector) {
  const std::string wanted = names.empty() ? "." : Filter(names, false);
  std::set<std::string> references;
  for (int round = 0; round < kRounds; ++round) {
    if (benchmark::RunSpecifiedBenchmarks(&collector, nullptr, wanted) == 0) return false;
    if (round == 0) references = collector.Missing();
    if (references.empty()) continue;
    benchmark::RunSpecifiedBenchmarks(&collector, nullptr, Filter(references, true));
  }
  return true;
}

std::string Formatted(double value) { return fmt::format("{:.{}f}", value, value < 1000 ? 2 : 0); }

void Print(const Collector& collector) {
  fmt::print("{:<24} {:>14} {:<4} {:<24} {:>14} {:>7}\n", "name", "value", "unit", "reference",
             "value", "ratio");
  for (const std::string& name : collector.names()) {
    const Figure& figure = collector.figure(name);
    const std::optional<double> reference = collector.ReferenceOf(figure);
    fmt::print("{:<24} {:>14} {:<4} {:<24} {:>14} {:>7}\n", name, Formatted(figure.Median()),
               figure.unit, figure.reference, reference ? Formatted(*reference) : "",
               reference ? fmt::format("{:.2f}", figure.Median() / *reference) : "");
  }
}

nlohmann::ordered_json ToJson(const Collector& collector) {
  auto results = nlohmann::ordered_json::array();
  for (const std::string& name : collector.names()) {
    const Figure& figure = collector.figure(name);
    const std::optional<double> reference = collector.ReferenceOf(figure);
    nlohmann::ordered_json row{{"name", name}, {"value", figure.Median()}, {"unit", figure.unit}};
    row["reference"] = reference ? nlohmann::ordered_json(*reference) : nlohmann::ordered_json();
    row["ratio"] =
        reference ? nlohmann::ordered_json(figure.Median() / *reference) : nlohmann::ordered_json();
    results.push_back(std::move(row));
  }
  return {{"results", std::move(results)}};
}

int Usage(const std::string& what) {
  std::cerr << "weir_bench: " << what << "; usage: weir_bench [NAME...] [--json FILE]\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string min_time = "--benchmark_min_time=0.2";
  std::vector<char*> flags{argv[0], min_time.data()};
  int flag_count = static_cast<int>(flags.size());
  benchmark::Initialize(&flag_count, flags.data());

  std::set<std::string> names;
  std::string json_file;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      if (++i == argc) return Usage("--json needs a file");
      json_file = argv[i];
    } else if (word.starts_with("-")) {
      return Usage(word + " is not known");
    } else {
      names.insert(word);
    }
  }

  Collector collector;
  if (!Measure(names, collector)) return Usage("no figure has such a name");
  Print(collector);
  if (!json_file.empty()) {
    std::ofstream out(json_file);
    out << ToJson(collector).dump(2) << '\n';
    if (!out.flush()) return Usage(json_file + " cannot be written");
  }
  return collector.failed() ? 1 : 0;
}
