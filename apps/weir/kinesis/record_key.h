// The source of the partition keys of lines.
#pragma once

#include <regex.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "weir/base/result.h"
#include "weir/base/rng.h"

namespace weir::app {

class RecordKeys {
 public:
  /// Returns keys that spread evenly over all shards. Equal seeds give equal keys.
  static RecordKeys Random(std::uint64_t seed);
  /// Returns the member of that name of a JSON object: text unchanged, numbers and booleans as
  /// JSON.
  static RecordKeys Field(std::string name);
  /// Returns the text that the first group matches, or that the whole expression matches if it has
  /// no group. POSIX extended regular expressions. Returns kInvalidArgument if the expression is
  /// invalid.
  [[nodiscard]] static Result<RecordKeys> Matching(const std::string& expression);

  /// Returns the key of a line, or kInvalidArgument with the reason if the line has no key.
  [[nodiscard]] Result<std::string> KeyOf(std::string_view line);

 private:
  struct Regex {
    struct Free {
      void operator()(regex_t* regex) const;
    };
    std::unique_ptr<regex_t, Free> compiled;
  };
  using Source = std::variant<Rng, std::string, Regex>;
  explicit RecordKeys(Source source) : source_(std::move(source)) {}

  Source source_;
};

}  // namespace weir::app
