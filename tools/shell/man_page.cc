#include "tools/shell/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "base/letter_case.h"
#include "base/words.h"
#include "tools/shell/help.h"

namespace kvorum::ctl {
namespace {

// Lines of a paragraph at least this long were broken to fit, and may be broken elsewhere.
constexpr std::size_t kFilledColumns = 70;

bool IsFilled(const std::vector<std::string_view>& lines) {
  return std::ranges::all_of(lines.begin(), lines.end() - 1, [](std::string_view line) {
    return line.size() >= kFilledColumns && !line.starts_with(' ');
  });
}

std::string Paragraph(const std::vector<std::string_view>& lines) {
  if (lines.empty()) return "";
  const bool filled = IsFilled(lines);
  std::string text = filled ? ".PP\n" : ".PP\n.nf\n";
  for (const std::string_view line : lines) text += RoffText(line) + "\n";
  return filled ? text : text + ".fi\n";
}

std::string Paragraphs(std::string_view description) {
  std::string text;
  std::vector<std::string_view> lines;
  for (const std::string_view line : Split(description, '\n')) {
    if (!line.empty()) {
      lines.push_back(line);
      continue;
    }
    text += Paragraph(lines);
    lines.clear();
  }
  return text + Paragraph(lines);
}

// One .TP item from each line of a help text's flags.
std::string FlagItems(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags) {
    const std::string line = FlagLines({&flag, 1}, HiddenFlags::kShow);
    const std::string_view shown = Trim(line);
    const std::size_t gap = shown.find("   ");
    text += fmt::format(".TP\n.B {}\n{}\n", RoffText(shown.substr(0, gap)),
                        RoffText(Trim(shown.substr(std::min(gap, shown.size())))));
  }
  return text;
}

void AddCommand(std::vector<const Command*>& path, std::string& text) {
  const Command& command = *path.back();
  std::vector<Flag> flags = command.flags;
  for (const Command* ancestor : std::span(path).subspan(1))
    flags.insert(flags.end(), ancestor->inherited_flags.begin(), ancestor->inherited_flags.end());
  std::ranges::sort(flags, {}, &Flag::name);
  if (command.run) {
    const std::string line =
        PathName(std::span(path).subspan(1)) + command.use.substr(command.name().size());
    text += fmt::format(".SS {}\n", RoffText(line));
    text += Paragraphs(command.description.empty() ? command.brief : command.description);
    text += FlagItems(flags);
  }
  std::vector<const Command*> children;
  for (const Command& child : command.children)
    if (!child.hidden) children.push_back(&child);
  std::ranges::sort(children, {}, &Command::name);
  for (const Command* child : children) {
    path.push_back(child);
    AddCommand(path, text);
    path.pop_back();
  }
}

}  // namespace

std::string RoffText(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string ManPage(const Command& root, const ManText& text_of_program) {
  const std::string_view name = root.name();
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"kvorum " KVORUM_VERSION
      "\" \"kvorum\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n.I command\n[flags] [arguments]\n"
      ".SH DESCRIPTION\n{}"
      " A command may be shortened as long as it is the only one\nthat begins so. Flags may stand "
      "before, between and after the arguments; what follows \\-\\- is an argument.\n",
      UpperCase(std::string(name)), name, text_of_program.about, name, text_of_program.description);
  const std::vector<std::string> one_group = {""};
  for (const std::string& group : root.group_order.empty() ? one_group : root.group_order) {
    std::string commands;
    std::vector<const Command*> listed;
    for (const Command& child : root.children)
      if (!child.hidden && child.group == group) listed.push_back(&child);
    std::ranges::sort(listed, {}, &Command::name);
    for (const Command* command : listed) {
      std::vector<const Command*> path = {&root, command};
      AddCommand(path, commands);
    }
    text += fmt::format(".SH \"{}\"\n{}", RoffText(group.empty() ? "Commands" : group), commands);
  }
  std::vector<Flag> flags = root.inherited_flags;
  std::ranges::sort(flags, {}, &Flag::name);
  text += ".SH \"Global flags\"\nEvery command takes these.\n" + FlagItems(flags);
  return text.append(text_of_program.end);
}

Command ManCommand(const ManText& text) {
  return {.use = "__man",
          .brief = "Prints the manual page",
          .run = [text](Invocation& invocation) -> Outcome<void> {
            invocation.world.out << ManPage(invocation.root, text);
            return {};
          },
          .hidden = true};
}

}  // namespace kvorum::ctl
