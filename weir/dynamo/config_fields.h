// The attributes of a configuration's item, and the numbers in them.
//
// Format: zae-limiter 0.17.0 (data model 1.3 c to e, and 2.3): per limit L the numbers l_L_cp and
// l_L_ra in whole tokens and l_L_rp in whole SECONDS. Ours beside these, which other readers pass
// over and Python's writers may drop at any time:
//
//   wx_q_L      a quota that whole tokens and seconds cannot express, as FormatQuota writes it. It
//               holds only while the three numbers beside it are those that were written with it.
//   wx_a_L      the allowance in milliseconds; absent where there is none
//   wx_order    the names of the limits, with commas; absent where they are in order of the names
//   wx_managed  true: set by a limits file (on an entity's item too)
//   wx_rev      random, new with each write of ours: what was read is still there
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/bucket/quota.h"
#include "weir/store/config_store.h"

namespace weir::dynamo {

inline constexpr std::string_view kExactPrefix = "wx_q_";
inline constexpr std::string_view kAllowancePrefix = "wx_a_";
inline constexpr std::string_view kOrder = "wx_order";
inline constexpr std::string_view kManaged = "wx_managed";
inline constexpr std::string_view kRevision = "wx_rev";
inline constexpr std::string_view kOnUnavailable = "on_unavailable";

/// The numbers of one limit as the table has them.
struct StoredQuota {
  std::int64_t capacity = 0;  ///< tokens
  std::int64_t amount = 0;    ///< tokens
  std::int64_t seconds = 0;

  friend bool operator==(const StoredQuota&, const StoredQuota&) = default;
};

/// The quota itself where whole tokens and seconds express it. Otherwise the capacity rounded down,
/// but at least 1 token, and a rate that is not above the quota's: in the seconds that the period
/// begins, as many tokens as fit; or where that is none, one token in as many seconds as it takes.
StoredQuota ToStored(const Quota& quota);
/// REQUIRES: FitsOurs(stored).
Quota FromStored(const StoredQuota& stored);
/// Whether the numbers are within what a Quota may hold. zae-limiter allows larger ones.
bool FitsOurs(const StoredQuota& stored);

struct StoredField {
  std::string_view name;
  std::int64_t StoredQuota::* place;
};
inline constexpr std::array kStoredFields = {StoredField{"cp", &StoredQuota::capacity},
                                             StoredField{"ra", &StoredQuota::amount},
                                             StoredField{"rp", &StoredQuota::seconds}};

/// "l_tpm_cp".
std::string LimitField(std::string_view limit, std::string_view field);

struct FieldName {
  std::string_view limit;
  std::string_view field;
};
/// The limit and the field in the name of such an attribute; the field follows the last '_'.
std::optional<FieldName> ParseField(std::string_view attribute);

/// Whether the attribute is part of what is set there, in the format or in an extension of ours.
bool IsContent(const Level& level, std::string_view attribute);

/// kEntity and kEntityDefault.
bool NamesEntity(const Level& level);

/// 16 hexadecimal digits.
std::string Hex(std::uint64_t bits);

}  // namespace weir::dynamo
