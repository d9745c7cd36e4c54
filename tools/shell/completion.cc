#include "tools/shell/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/text/go_quote.h"

namespace kvorum::ctl {
namespace {

// The shells call "kvorumctl __complete -- WORD... CURRENT", which prints a candidate per line: the
// word, a tab, its description. So the scripts never become outdated. Another program's are the
// same with its name.
constexpr std::string_view kBash = R"(# bash completion for kvorumctl
_kvorumctl() {
  local line="${COMP_LINE:0:COMP_POINT}" candidate words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current="${words[${#words[@]}-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    # bash takes what follows an equals sign for a word of its own.
    [[ $current == *=* ]] && candidate="${candidate#*=}"
    COMPREPLY+=("$candidate")
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _kvorumctl kvorumctl
)";

constexpr std::string_view kZsh = R"(#compdef kvorumctl
# zsh completion for kvorumctl
_kvorumctl() {
  local -a candidates
  local word about
  while IFS=$'\t' read -r word about; do
    candidates+=("${word//:/\\:}:${about}")
  done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe 'kvorumctl' candidates || _files
}
if [ "$funcstack[1]" = "_kvorumctl" ]; then
  _kvorumctl
else
  compdef _kvorumctl kvorumctl
fi
)";

constexpr std::string_view kFish = R"(# fish completion for kvorumctl
function __kvorumctl_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c kvorumctl -f -a '(__kvorumctl_complete)'
)";

// The words of the line up to the cursor, the one under it cut off there or empty.
constexpr std::string_view kPowerShell = R"(# powershell completion for kvorumctl
Register-ArgumentCompleter -Native -CommandName 'kvorumctl' -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements |
      Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
      ForEach-Object {
        $length = [Math]::Min($_.Extent.EndOffset, $cursorPosition) - $_.Extent.StartOffset
        $_.Extent.Text.Substring(0, $length)
      })
  if ($wordToComplete -eq '') { $words += '' }
  $program = $words[0]
  # PowerShell before 7.3 drops empty arguments unless they are quoted.
  $quotes = $PSVersionTable.PSVersion -lt [version]'7.3' -or
      $PSNativeCommandArgumentPassing -eq 'Legacy'
  $rest = @($words | Select-Object -Skip 1 | ForEach-Object { if ($quotes -and $_ -eq '') { '""' } else { $_ } })
  & $program __complete -- @rest 2>$null | ForEach-Object {
    $word, $about = $_ -split "`t", 2
    if (-not $about) { $about = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $about)
  }
}
)";

struct Shell {
  std::string_view name;
  std::string_view script;
};
constexpr auto kShells = std::to_array<Shell>(
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}, {"powershell", kPowerShell}});

std::vector<std::string> ShellNames() {
  std::vector<std::string> names;
  names.reserve(kShells.size());
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  return names;
}

const Shell* FindShell(std::string_view name) {
  const auto it = std::ranges::find(kShells, name, &Shell::name);
  return it == kShells.end() ? nullptr : &*it;
}

Outcome<void> CheckShell(const Invocation& invocation) {
  if (invocation.args.size() != 1)
    return Fail(ExitCode::kError,
                fmt::format("accepts 1 arg(s), received {}", invocation.args.size()));
  if (FindShell(invocation.args.front()) == nullptr)
    return Fail(ExitCode::kError,
                fmt::format("invalid argument {} for {}", GoQuote(invocation.args.front()),
                            GoQuote(PathName(invocation.path))));
  return {};
}

std::string Renamed(std::string_view text, std::string_view program) {
  constexpr std::string_view kName = "kvorumctl";
  std::string renamed;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(kName, from)) != std::string_view::npos;
       from = at + kName.size())
    renamed.append(text.substr(from, at - from)).append(program);
  return renamed.append(text.substr(from));
}

// The flag whose value the word after `previous` is; null if it is not a flag's value.
const Flag* FlagBefore(const FlagSet& flags, std::string_view previous) {
  const Flag* flag = nullptr;
  if (previous.starts_with("--"))
    flag = flags.Find(previous.substr(2));
  else if (previous.size() == 2 && previous.front() == '-')
    flag = flags.FindShorthand(previous[1]);
  return flag != nullptr && TakesValue(*flag) ? flag : nullptr;
}

std::vector<Candidate> ValueCandidates(const std::vector<std::string>& values,
                                       std::string_view prefix, std::string_view typed) {
  std::vector<Candidate> candidates;
  for (const std::string& value : values)
    if (value.starts_with(typed)) candidates.push_back({std::string(prefix) + value, ""});
  return candidates;
}

std::vector<Candidate> FlagNames(const FlagSet& flags, std::string_view typed) {
  std::vector<Candidate> candidates;
  for (const Flag* flag : flags.Sorted()) {
    const std::string word = "--" + flag->name;
    if (word.starts_with(typed)) candidates.push_back({word, flag->help});
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> CompleteLine(const Command& root, std::span<const std::string> words) {
  if (words.empty()) return {};
  const std::string_view typed = words.back();
  const std::span<const std::string> before = words.first(words.size() - 1);
  if (std::ranges::find(before, "--") != before.end()) return {};
  const auto found = FindCommand(root, before);
  if (!found) return {};
  const FlagSet flags = KnownFlags(found->path);
  if (!before.empty())
    if (const Flag* flag = FlagBefore(flags, before.back()))
      return ValueCandidates(flag->choices, "", typed);
  if (const std::size_t equals = typed.find('=');
      typed.starts_with("--") && equals != std::string_view::npos) {
    const Flag* flag = flags.Find(typed.substr(2, equals - 2));
    if (flag == nullptr) return {};
    return ValueCandidates(flag->choices, typed.substr(0, equals + 1), typed.substr(equals + 1));
  }
  if (typed.starts_with('-')) return FlagNames(flags, typed);

  const Command& command = *found->path.back();
  std::vector<Candidate> candidates;
  FlagSet read = flags;
  const auto args = read.Parse(found->rest);
  if (args && args->size() == command.choices_at)
    candidates = ValueCandidates(command.argument_choices, "", typed);
  for (const Command& child : command.children)
    if (!child.hidden && child.name().starts_with(typed))
      candidates.push_back({std::string(child.name()), child.brief});
  return candidates;
}

Command CompletionCommand(std::string_view program) {
  return {.use = "completion [bash|zsh|fish|powershell]",
          .brief = "Generate completion script",
          .description = Renamed(R"(Generates a script that completes commands, flags and values.

bash:  source <(kvorumctl completion bash)
       kvorumctl completion bash > /etc/bash_completion.d/kvorumctl
zsh:   kvorumctl completion zsh > "${fpath[1]}/_kvorumctl"
fish:  kvorumctl completion fish > ~/.config/fish/completions/kvorumctl.fish
powershell:  kvorumctl completion powershell | Out-String | Invoke-Expression
)",
                                 program),
          .argument_choices = ShellNames(),
          .check = CheckShell,
          .run = [](Invocation& invocation) -> Outcome<void> {
            invocation.world.out << Renamed(FindShell(invocation.args.front())->script,
                                            invocation.root.name());
            return {};
          }};
}

Command CompleteCommand() {
  return {.use = "__complete",
          .brief = "Lists what may come next on a line",
          .run = [](Invocation& invocation) -> Outcome<void> {
            for (const auto& [word, about] : CompleteLine(invocation.root, invocation.args))
              invocation.world.out << word << '\t' << about << '\n';
            return {};
          },
          .hidden = true};
}

}  // namespace kvorum::ctl
