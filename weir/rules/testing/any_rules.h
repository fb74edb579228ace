// RapidCheck generators of rules and descriptors.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "weir/rules/descriptor.h"
#include "weir/rules/rule.h"

namespace weir::rules {

/// Valid rules of few domains, keys and values, so that many patterns match one descriptor. No two
/// rules have one pattern.
rc::Gen<std::vector<Rule>> AnyRules();

/// The texts of a descriptor, which has a view of them.
using OwnedDescriptor = std::vector<std::pair<std::string, std::string>>;
std::vector<DescriptorEntry> ViewOf(const OwnedDescriptor& owned);
/// A descriptor of the keys and values of AnyRules and some others.
rc::Gen<OwnedDescriptor> AnyDescriptor();
rc::Gen<std::string> AnyDomain();
/// A descriptor that the rule's pattern matches.
rc::Gen<OwnedDescriptor> AnyDescriptorOf(const Rule& rule);

}  // namespace weir::rules
