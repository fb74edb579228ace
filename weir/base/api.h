// Marks what the shared library exports.
#pragma once

/// Goes before the name of a class or a function of the public interface. Everything else is
/// hidden.
#define WEIR_API __attribute__((visibility("default")))

/// Goes before the name of a class that is declared in one that says WEIR_API, and is not part of
/// the interface itself.
#define WEIR_INTERNAL __attribute__((visibility("hidden")))
