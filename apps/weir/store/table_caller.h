// The author of changes of a table.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/telemetry/log.h"

namespace weir::app {

/// The timeout of FindCaller's request.
inline constexpr std::chrono::seconds kCallerWait{3};

/// Returns the ARN of the caller whose credentials sign the requests to the table `url`, from AWS's
/// Security Token Service. Returns nothing, and sends no request, if the URL is not that of a
/// table, or if the table is not on AWS and no endpoint is set for "sts": an emulator has no
/// callers. Returns the errors of LocateService, ServiceConnection::Open and GetCallerArn. Blocks.
/// `clock` must be a real one.
[[nodiscard]] Result<std::optional<std::string>> FindCaller(const std::string& url,
                                                            const Clock& clock,
                                                            const HostEnvironment& environment,
                                                            Log& log);

}  // namespace weir::app
