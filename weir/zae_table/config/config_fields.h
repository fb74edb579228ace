// The attributes of the items that hold limits, and the conversion of quotas.
//
// Format: zae-limiter 0.17.0 (schema.py, repository.py): per limit L the numbers l_L_cp and
// l_L_ra in whole tokens and l_L_rp in whole SECONDS. Weir adds the following attributes, which
// other readers ignore and writers of zae-limiter's Python client may drop at any time:
//
//   wx_q_L      a quota that whole tokens and seconds cannot express, in the form of FormatQuota;
//               valid only while the three numbers are those that were written with it
//   wx_a_L      the allowance in milliseconds; absent if there is none
//   wx_order    the names of the limits, separated by commas; absent if the names are sorted
//   wx_managed  true: set by a limits file (also in an entity's item)
//   wx_rev      random, new with each write of Weir: detects that the item has changed since a read
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/bucket/quota.h"
#include "weir/store/config/config_store.h"

namespace weir::dynamo {

inline constexpr std::string_view kExactPrefix = "wx_q_";
inline constexpr std::string_view kAllowancePrefix = "wx_a_";
inline constexpr std::string_view kOrder = "wx_order";
inline constexpr std::string_view kManaged = "wx_managed";
inline constexpr std::string_view kRevision = "wx_rev";
inline constexpr std::string_view kOnUnavailable = "on_unavailable";
/// In the system's item: the retention of audit events. It is neither a limit nor content of the
/// level: changes of the level do not change it.
inline constexpr std::string_view kAuditRetention = "audit_retention_days";

/// The numbers of one limit as they are stored.
struct StoredQuota {
  std::int64_t capacity = 0;  ///< tokens
  std::int64_t amount = 0;    ///< tokens
  std::int64_t seconds = 0;

  friend bool operator==(const StoredQuota&, const StoredQuota&) = default;
};

/// Returns the quota in whole tokens and seconds: exactly, if it can be expressed so. Otherwise the
/// capacity is rounded down, to at least 1 token, and the rate is not above the quota's: the period
/// is rounded up to seconds, and the amount in that period is rounded down to tokens. If the amount
/// would be 0, it is one token, and the period is the time in which `quota` refills one token,
/// rounded up to seconds. A quota of 0 (Blocks) becomes the smallest quota that zae-limiter's
/// clients accept: one token in 366 days.
StoredQuota ToStored(const Quota& quota);
/// Returns the quota of these numbers. REQUIRES: IsWithinBounds(stored).
Quota FromStored(const StoredQuota& stored);
/// Returns true if a Quota can hold the numbers. zae-limiter allows larger ones.
bool IsWithinBounds(const StoredQuota& stored);

struct StoredField {
  std::string_view name;
  std::int64_t StoredQuota::* member;
};
inline constexpr std::array kStoredFields = {StoredField{"cp", &StoredQuota::capacity},
                                             StoredField{"ra", &StoredQuota::amount},
                                             StoredField{"rp", &StoredQuota::seconds}};

/// Returns "l_<limit>_<field>", such as "l_tpm_cp".
std::string LimitField(std::string_view limit, std::string_view field);

struct FieldName {
  std::string_view limit;
  std::string_view field;
};
/// Returns the limit and the field in the name of such an attribute; the field follows the last
/// '_'. Nothing if it has another form. The result refers to `attribute`.
std::optional<FieldName> ParseField(std::string_view attribute);

/// Returns true if the attribute is a part of the limits or settings of the level: one of the
/// format, or one that Weir adds.
bool IsContent(const Level& level, std::string_view attribute);

/// Returns true for levels of the kinds kEntity and kEntityDefault.
bool NamesEntity(const Level& level);

/// Returns 16 hexadecimal digits.
std::string Hex(std::uint64_t bits);

}  // namespace weir::dynamo
