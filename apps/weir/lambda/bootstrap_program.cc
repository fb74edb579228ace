#include "apps/weir/lambda/bootstrap_program.h"

namespace weir::app {

// The build links the file as an object, whose symbols have these names.
extern const char bootstrap_begin[] asm("_binary_bootstrap_start");
extern const char bootstrap_end[] asm("_binary_bootstrap_end");

std::string_view BootstrapProgram() { return {bootstrap_begin, bootstrap_end}; }

}  // namespace weir::app
