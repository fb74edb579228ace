// Prints values in failures of contract tests.
#pragma once

#include <iosfwd>

#include "weir/store/backend.h"

namespace weir {

// GoogleTest finds these functions by their argument type.
void PrintTo(const BucketKey& key, std::ostream* out);
void PrintTo(const LimitStatus& status, std::ostream* out);
void PrintTo(const Decision& decision, std::ostream* out);
void PrintTo(const Meter& meter, std::ostream* out);
void PrintTo(const BucketRecord& record, std::ostream* out);
void PrintTo(const LevelLimits& limits, std::ostream* out);
void PrintTo(const LevelRecord& record, std::ostream* out);
void PrintTo(const EntityRecord& record, std::ostream* out);
void PrintTo(const AuditEvent& event, std::ostream* out);
void PrintTo(const UsageSnapshot& snapshot, std::ostream* out);
void PrintTo(const Namespace& space, std::ostream* out);

}  // namespace weir
