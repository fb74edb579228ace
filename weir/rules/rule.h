// A rule: which descriptors it matches, which bucket it charges, and how.
#pragma once

#include <string>
#include <vector>

#include "weir/model/limit.h"
#include "weir/model/tokens.h"
#include "weir/rules/id_template.h"

namespace weir::rules {

/// The longest pattern, in entries.
inline constexpr std::size_t kMaxPatternEntries = 16;

/// The pattern of one entry of a descriptor. A prefix of "" matches every value.
struct EntryPattern {
  enum class Kind { kExact, kPrefix };
  std::string key;
  Kind kind = Kind::kPrefix;
  std::string text;     ///< the value, or the prefix
  bool shared = false;  ///< a prefix: all values that match share a bucket

  friend bool operator==(const EntryPattern&, const EntryPattern&) = default;
};

/// A limit to charge, and the tokens for each hit: 0 or more.
struct HitAmount {
  std::string limit;
  Tokens per_hit;

  friend bool operator==(const HitAmount&, const HitAmount&) = default;
};

struct Rule {
  std::string domain;
  std::vector<EntryPattern> match;  ///< 1 to kMaxPatternEntries
  /// The name for responses and metrics; by default the pattern (DefaultName). UTF-8 without
  /// control characters, at most 256 bytes. Several rules may have the same name.
  std::string name;
  /// The limits of the bucket. Empty: the limits that the four levels have for (entity, resource).
  std::vector<Limit> limits;
  /// By default one token of each of `limits` for a hit. Empty only if the rule is unlimited.
  std::vector<HitAmount> amounts;
  bool unlimited = false;       ///< matches, and charges nothing; `limits` and `amounts` are empty
  bool always_charges = false;  ///< `charge: always`: goes into debt, is never refused
  bool shadow = false;          ///< charges, never refuses, and never stops other descriptors
  /// Names of rules of this domain that do not apply if this rule matches another descriptor of the
  /// same request (as in envoyproxy/ratelimit). Never the name of the rule itself: two rules of one
  /// name would replace each other. For the same reason, rules never replace each other in a cycle
  /// (ReplaceCycles).
  std::vector<std::string> replaces;
  /// The ids of the bucket; by default the rule's own (OwnEntity, OwnResource). Unused by a rule
  /// that is unlimited.
  IdTemplate entity;
  IdTemplate resource;
  bool has_own_bucket = true;  ///< the templates are the default
  int line = 0;                ///< the line of the rule in the file

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// Returns the pattern as text, such as `edge/path=/api,user=*`: one line of printable ASCII, at
/// most 256 bytes. Other bytes are shown as \xNN, and a longer text is cut and ends in "...".
std::string DefaultName(const Rule& rule);

/// Returns one entry of a pattern as text, such as `user=*`: printable ASCII.
std::string TextOf(const EntryPattern& entry);

/// Returns the number of bytes of the pattern, the names and the templates.
std::size_t TextBytesOf(const Rule& rule);

}  // namespace weir::rules
