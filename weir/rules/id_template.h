// The id of an entity or resource, with the values of a descriptor in it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/rules/descriptor.h"
#include "weir/rules/escaped_id.h"

namespace weir::rules {

struct EntryPattern;

/// The text that all ids of a template have, before FinishId.
struct FixedText {
  std::string prefix;
  std::string suffix;     ///< empty if `is_whole`
  bool is_whole = false;  ///< there is one id only, `prefix`
};

/// Alternates literal text and values of entries. Different values yield different ids (except for
/// long ones, see FinishId), because every value escapes the byte that separates it from the next
/// value.
/// Immutable, so that all functions may be called by any thread.
class IdTemplate {
 public:
  IdTemplate() = default;

  /// Parses a template such as `{tenant}` or `user:{tenant}:{user}` over the keys of `match`.
  /// Errors are kInvalidArgument, with a message of one line: no such key or several, bytes that
  /// ids cannot have, escape sequences, values without a separator between them.
  [[nodiscard]] static Result<IdTemplate> Parse(IdKind kind, std::string_view text,
                                                const std::vector<EntryPattern>& match);

  /// Returns the id. REQUIRES: `descriptor` matches the pattern.
  [[nodiscard]] std::string Expand(Descriptor descriptor) const;

  /// Returns the text that the literals and `match`, the pattern that Parse had, determine: an
  /// exact value is fixed as a whole, any other value up to its prefix.
  [[nodiscard]] FixedText FixedTextFor(const std::vector<EntryPattern>& match) const;

  /// Returns whether the id has the value of this entry.
  [[nodiscard]] bool HasValueOf(std::size_t entry) const {
    return std::ranges::find(pieces_, entry, &Piece::entry) != pieces_.end();
  }

  /// Returns the text that Parse has read; empty for a template of OwnEntity or OwnResource.
  const std::string& text() const { return text_; }

  friend bool operator==(const IdTemplate&, const IdTemplate&) = default;

 private:
  friend IdTemplate OwnEntity(const std::vector<EntryPattern>& match);
  friend IdTemplate OwnResource(std::string_view domain);

  static constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);
  struct Piece {
    std::string literal;
    std::size_t entry = kNoEntry;  ///< the entry whose value follows the literal
    char separator = 0;            ///< the byte after the value, which the value escapes

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  explicit IdTemplate(IdKind kind) : kind_(kind) {}
  Status AddValue(std::string_view key, const std::vector<EntryPattern>& match);
  Status AddLiteral(std::string_view literal, bool is_before_value);

  IdKind kind_ = IdKind::kEntity;
  std::vector<Piece> pieces_;
  std::string text_;
};

/// Returns the entity of a rule that has no template: kOwnPrefix, then the keys and values of all
/// entries. Each combination of values is a bucket of its own, except for entries that are shared.
IdTemplate OwnEntity(const std::vector<EntryPattern>& match);
/// Returns the resource of a rule that has no template: the domain.
IdTemplate OwnResource(std::string_view domain);

}  // namespace weir::rules
