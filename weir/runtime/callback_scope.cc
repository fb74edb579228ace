#include "weir/runtime/callback_scope.h"

namespace weir {
namespace {

constinit thread_local int live_scopes = 0;

}  // namespace

CallbackScope::CallbackScope() { ++live_scopes; }
CallbackScope::~CallbackScope() { --live_scopes; }
bool CallbackScope::IsActive() { return live_scopes > 0; }

}  // namespace weir
