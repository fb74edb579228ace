// The program that AWS Lambda starts in the package of a function, as bytes:
// bootstrap/bootstrap.cc.
#pragma once

#include <string_view>

namespace weir::app {

std::string_view BootstrapProgram();

}  // namespace weir::app
