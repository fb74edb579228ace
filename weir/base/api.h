// Marks what the shared library exports.
#pragma once

/// Goes before the name of a class or a function of the public interface. Everything else is
/// hidden.
#define WEIR_API __attribute__((visibility("default")))

/// Goes before the name of a class that is declared inside a WEIR_API class, but is not itself part
/// of the interface.
#define WEIR_INTERNAL __attribute__((visibility("hidden")))
