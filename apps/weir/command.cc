#include "apps/weir/command.h"
