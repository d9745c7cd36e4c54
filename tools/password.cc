#include "tools/password.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <system_error>

namespace kvorum::ctl {

Outcome<std::string> AskPassword(std::string_view prompt, std::ostream& out) {
  termios shown{};
  if (::tcgetattr(STDIN_FILENO, &shown) != 0)
    return Fail(ExitCode::kError, std::generic_category().message(errno));
  out << prompt << std::flush;
  termios hidden = shown;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  std::string password;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1 && c != '\n') password.push_back(c);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
  out << '\n';
  return password;
}

}  // namespace kvorum::ctl
