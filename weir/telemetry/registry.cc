#include "weir/telemetry/registry.h"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace weir {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Status CheckName(std::string_view name) {
  const auto good = [](char c) { return IsLetter(c) || IsDigit(c) || c == ':'; };
  if (!name.empty() && !IsDigit(name.front()) && std::ranges::all_of(name, good)) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("metric name {:?}; expected a letter, `_` or `:`, then digits too", name));
}

Status CheckLabelName(std::string_view metric, std::string_view label, MetricType type) {
  const auto good = [](char c) { return IsLetter(c) || IsDigit(c); };
  const bool reserved = label.starts_with("__") || (type == MetricType::Histogram && label == "le");
  const bool well_formed =
      !label.empty() && !IsDigit(label.front()) && std::ranges::all_of(label, good);
  if (well_formed && !reserved) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("metric {:?}, label {:?}; expected a letter or `_`, then also digits, but not "
                  "`__` at the beginning, nor `le` for a histogram",
                  metric, label));
}

/// REQUIRES: the labels are sorted.
Status CheckLabels(const MetricName& name, MetricType type) {
  for (const auto& [label, value] : name.labels) {
    WEIR_RETURN_IF_ERROR(CheckLabelName(name.name, label, type));
  }
  const auto repeated = std::ranges::adjacent_find(
      name.labels, [](const auto& a, const auto& b) { return a.first == b.first; });
  if (repeated == name.labels.end()) return {};
  return Fail(Code::kInvalidArgument, fmt::format("metric {}, label {}: given twice; give it once",
                                                  name.name, repeated->first));
}

/// Returns every name under which lines of this metric are exported.
std::vector<std::string> ExportedNames(const std::string& name, MetricType type) {
  if (type != MetricType::Histogram) return {name};
  return {name, name + "_bucket", name + "_sum", name + "_count"};
}

/// Escapes help, because the serializer escapes label values only.
std::string EscapedHelp(std::string_view help) {
  std::string escaped;
  for (const char c : help) {
    if (c == '\\') escaped += "\\\\";
    if (c == '\n') escaped += "\\n";
    if (c != '\\' && c != '\n') escaped += c;
  }
  return escaped;
}

Status CheckText(std::string_view metric, const HistogramText& text) {
  if (text.units > 0 && text.lowest >= 1 && text.highest >= text.lowest) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("metric {}: units {} and bounds {} to {}; expected numbers above 0, the "
                          "bounds in order",
                          metric, text.units, text.lowest, text.highest));
}

MetricName NameOf(const FamilyName& family) {
  MetricName name{family.name, family.help};
  for (const std::string& label : family.labels) name.labels.emplace_back(label, "");
  return name;
}

// Writes the histogram with cumulative counts at the bounds 2^k - 1 of `text`.
void ExportHistogram(const HistogramSnapshot& snapshot, const HistogramText& text,
                     ClientMetric& metric) {
  metric.histogram.sample_count = snapshot.count();
  metric.histogram.sample_sum = static_cast<double>(snapshot.sum()) / text.units;
  std::int64_t bound = 1;
  while (bound < text.lowest) bound = bound * 2 + 1;
  for (;; bound = bound * 2 + 1) {
    metric.histogram.bucket.push_back(
        {snapshot.CountUpTo(bound), static_cast<double>(bound) / text.units});
    if (bound >= text.highest) return;
  }
}

// Returns a function that calls `read` and writes all metrics of one name.
template <typename Value, typename WriteOne>
std::function<void(MetricFamily&)> MakeFamilyExporter(std::vector<std::string> names,
                                                      ReadLabelled<Value> read, WriteOne write) {
  return [names = std::move(names), read = std::move(read), write](MetricFamily& into) {
    for (const Labelled<Value>& one : read()) {
      if (one.labels.size() != names.size()) continue;
      ClientMetric& metric = into.metric.emplace_back();
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!one.labels[i].empty()) metric.label.emplace_back(names[i], one.labels[i]);
      }
      write(one.value, metric);
    }
  };
}

}  // namespace

struct Registry::Source {
  MetricType type;
  /// Exactly one of these is set: `write` writes one metric, `export_all` all metrics of a name.
  std::function<void(ClientMetric&)> write;
  std::function<void(MetricFamily&)> export_all{};
};

struct Registry::Families {
  struct Family {
    std::string help;
    MetricType type;
    std::map<Labels, std::function<void(ClientMetric&)>> metrics;
    std::function<void(MetricFamily&)> export_all;
  };
  std::map<std::string, Family> by_name;

  // Returns kAlreadyExists unless a metric of this name can be added.
  Status CheckNew(const MetricName& name, const Source& source) const;
};

Status Registry::Families::CheckNew(const MetricName& name, const Source& source) const {
  const auto taken = [&](std::string_view why) {
    return Fail(Code::kAlreadyExists, fmt::format("metric {}: {}", name.name, why));
  };
  const auto found = by_name.find(name.name);
  if (found != by_name.end()) {
    const Family& family = found->second;
    if (family.type != source.type) {
      return taken("registered already, with another type for other labels");
    }
    if (family.help != name.help) return taken("registered already, with another help text");
    if (family.export_all || source.export_all)
      return taken("registered already; a function for all labels must be the only one");
    if (family.metrics.contains(name.labels)) return taken("these labels are already registered");
    return {};
  }
  const std::vector<std::string> wanted = ExportedNames(name.name, source.type);
  for (const auto& [other, family] : by_name) {
    const std::vector<std::string> theirs = ExportedNames(other, family.type);
    const auto clash = std::ranges::find_first_of(wanted, theirs);
    if (clash != wanted.end())
      return taken(fmt::format("{} is already registered by {}", *clash, other));
  }
  return {};
}

Registry::Registry() : families_(std::make_shared<Families>()) {}

Registry::~Registry() = default;

Status Registry::Add(MetricName name, const Counter& counter) {
  return AddCounter(std::move(name), [&counter] { return counter.Value(); });
}

Status Registry::Add(MetricName name, const Gauge& gauge) {
  return AddGauge(std::move(name), [&gauge] { return static_cast<double>(gauge.Value()); });
}

Status Registry::Add(MetricName name, const Histogram& histogram, HistogramText text) {
  WEIR_RETURN_IF_ERROR(CheckText(name.name, text));
  return Put(std::move(name), {MetricType::Histogram, [&histogram, text](ClientMetric& metric) {
                                 ExportHistogram(histogram.Snapshot(), text, metric);
                               }});
}

Status Registry::AddCounter(MetricName name, std::function<std::uint64_t()> read) {
  return Put(std::move(name), {MetricType::Counter, [read = std::move(read)](ClientMetric& metric) {
                                 metric.counter.value = static_cast<double>(read());
                               }});
}

Status Registry::AddGauge(MetricName name, std::function<double()> read) {
  return Put(std::move(name), {MetricType::Gauge, [read = std::move(read)](ClientMetric& metric) {
                                 metric.gauge.value = read();
                               }});
}

Status Registry::AddCounters(const FamilyName& name, ReadLabelled<std::uint64_t> read) {
  const auto write = [](std::uint64_t value, ClientMetric& metric) {
    metric.counter.value = static_cast<double>(value);
  };
  return Put(NameOf(name),
             {MetricType::Counter, {}, MakeFamilyExporter(name.labels, std::move(read), write)});
}

Status Registry::AddGauges(const FamilyName& name, ReadLabelled<double> read) {
  const auto write = [](double value, ClientMetric& metric) { metric.gauge.value = value; };
  return Put(NameOf(name),
             {MetricType::Gauge, {}, MakeFamilyExporter(name.labels, std::move(read), write)});
}

Status Registry::AddHistograms(const FamilyName& name, HistogramText text,
                               ReadLabelled<HistogramSnapshot> read) {
  WEIR_RETURN_IF_ERROR(CheckText(name.name, text));
  const auto write = [text](const HistogramSnapshot& value, ClientMetric& metric) {
    ExportHistogram(value, text, metric);
  };
  return Put(NameOf(name),
             {MetricType::Histogram, {}, MakeFamilyExporter(name.labels, std::move(read), write)});
}

Status Registry::Put(MetricName name, Source source) {
  std::ranges::sort(name.labels);
  WEIR_RETURN_IF_ERROR(CheckName(name.name));
  WEIR_RETURN_IF_ERROR(CheckLabels(name, source.type));
  MutexLock lock(mutex_);
  WEIR_RETURN_IF_ERROR(families_->CheckNew(name, source));
  auto families = std::make_shared<Families>(*families_);
  auto& family = families->by_name[std::move(name.name)];
  family.help = std::move(name.help);
  family.type = source.type;
  if (source.write) family.metrics.emplace(std::move(name.labels), std::move(source.write));
  family.export_all = std::move(source.export_all);
  families_ = std::move(families);
  return {};
}

std::string Registry::Text() const {
  std::shared_ptr<const Families> families;
  {
    MutexLock lock(mutex_);
    families = families_;
  }
  std::vector<MetricFamily> exported;
  for (const auto& [name, family] : families->by_name) {
    auto& into = exported.emplace_back(name, EscapedHelp(family.help), family.type);
    if (family.export_all) family.export_all(into);
    for (const auto& [labels, write] : family.metrics) {
      ClientMetric& metric = into.metric.emplace_back();
      for (const auto& [label, value] : labels) metric.label.emplace_back(label, value);
      write(metric);
    }
  }
  return prometheus::TextSerializer().Serialize(exported);
}

}  // namespace weir
