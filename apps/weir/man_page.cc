// weir man: the manual page, built from the same tree as the help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "apps/weir/command_tree.h"
#include "apps/weir/completion.h"
#include "apps/weir/options.h"
#include "apps/weir/terminal/json.h"

namespace weir::app {
namespace {

/// Escapes text for roff(7), so that backslashes print literally and no line is interpreted as a
/// roff request.
std::string EscapeRoff(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) roff += "\\&";
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  return roff;
}

/// Returns a formatter that writes usage and arguments as the help does.
CLI::Formatter HelpFormatter() {
  CLI::Formatter formatter;
  formatter.label("SUBCOMMAND", "VERB");
  return formatter;
}

/// Returns the usage line, e.g. "weir limits plan [OPTIONS] FILE".
std::string SynopsisOf(const CLI::App& verb) {
  constexpr std::string_view kLabel = "Usage: ";
  std::string usage = HelpFormatter().make_usage(&verb, FullName(verb));
  CLI::detail::trim(usage);
  return usage.starts_with(kLabel) ? usage.substr(kLabel.size()) : usage;
}

std::string Entry(std::string_view name, const CLI::Option& option,
                  const CLI::Formatter& formatter) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", EscapeRoff(name),
                     EscapeRoff(formatter.make_option_opts(&option)),
                     EscapeRoff(formatter.make_option_desc(&option)));
}

/// Lists positionals and options. --help is listed for the program only.
std::string ArgumentsOf(const CLI::App& verb) {
  const CLI::Formatter formatter = HelpFormatter();
  const auto is_listed = [](const CLI::Option* option) {
    return option->get_positional() && !option->get_group().empty();
  };
  std::string roff;
  for (const CLI::Option* option : verb.get_options(is_listed)) {
    roff += Entry(formatter.make_option_name(option, true), *option, formatter);
  }
  for (const CLI::Option* option : VisibleOptions(verb)) {
    if (verb.get_parent() != nullptr && option == verb.get_help_ptr()) continue;
    roff += Entry(formatter.make_option_name(option, false), *option, formatter);
  }
  return roff;
}

/// Returns the footer of the verb, unless it is inherited: a group may have set its own after it
/// passed on that of the program.
std::string FooterOf(const CLI::App& verb) {
  for (const CLI::App* above = verb.get_parent(); above != nullptr; above = above->get_parent()) {
    if (verb.get_footer() == above->get_footer()) return "";
  }
  return fmt::format(".PP\n{}\n", EscapeRoff(verb.get_footer()));
}

/// Lists each verb below `group` in the order of the help. A group without arguments of its own is
/// no verb.
std::string VerbsBelow(const CLI::App& group) {
  std::string roff;
  for (const CLI::App* verb : VisibleVerbs(group)) {
    const std::string arguments = ArgumentsOf(*verb);
    if (VisibleVerbs(*verb).empty() || !arguments.empty()) {
      roff += fmt::format(".SS \"{}\"\n{}.\n{}{}", EscapeRoff(SynopsisOf(*verb)),
                          EscapeRoff(verb->get_description()), arguments, FooterOf(*verb));
    }
    roff += VerbsBelow(*verb);
  }
  return roff;
}

std::string ManPage(const CLI::App& root) {
  return fmt::format(
      ".TH WEIR 1 \"\" \"{}\"\n.SH NAME\nweir \\- rate limiter\n.SH SYNOPSIS\n{}\n"
      ".SH DESCRIPTION\n{}\n{}.SH OPTIONS\n{}.SH VERBS\n{}",
      EscapeRoff(root.version()), EscapeRoff(SynopsisOf(root)), EscapeRoff(root.get_description()),
      FooterOf(root), ArgumentsOf(root), VerbsBelow(root));
}

struct ManOptions {};

}  // namespace

void AddMan(CLI::App& root, Action& chosen) {
  AddVerb(root, "man", "Print the manual page: weir man | man -l -", std::make_shared<ManOptions>(),
          chosen, [&root](const ManOptions&, Context& context) -> Result<Exit> {
            const std::string page = ManPage(root);
            context.WriteResult({{"page", page}}, page);
            return Exit::kDone;
          });
}

}  // namespace weir::app
