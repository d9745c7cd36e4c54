#!/usr/bin/env python3
"""kvorumctl's password prompts on a terminal: nothing that is typed is shown, and the terminal is as
it was afterwards, also when a signal ends or stops the prompt. Needs no server: the passwords differ,
or nobody is there to be talked to."""

import fcntl
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import termios
import time

KVORUMCTL = pathlib.Path(os.environ.get("KVORUM_BIN_DIR", "build/release/bin"), "kvorumctl")
TIMEOUT_S = 30
RUN_SHELL = "--run-shell"
NOBODY = ["--endpoints=127.0.0.1:1", "--dial-timeout=100ms"]


def has_echo(terminal):
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def run_shell(arguments):
    """A shell with one job, in the foreground: when it is stopped, says so and whether there is an
    echo, makes the terminal what it was itself and waits for a line before the job goes on."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    modes = termios.tcgetattr(0)

    def take_terminal():
        """Before the program runs: as a job in the background it would be stopped when it turns the echo off."""
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)

    job = subprocess.Popen([KVORUMCTL, *arguments], process_group=0, preexec_fn=take_terminal)
    while True:
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        print(f"job {job.pid} stopped, echo {has_echo(0)}", flush=True)
        termios.tcsetattr(0, termios.TCSADRAIN, modes)
        sys.stdin.readline()
        os.tcsetpgrp(0, job.pid)
        os.killpg(job.pid, signal.SIGCONT)


class Terminal:
    """A command on a terminal of its own."""

    STARTER = [KVORUMCTL]

    def __init__(self, *arguments):
        self.keyboard, screen = pty.openpty()
        self.before = termios.tcgetattr(self.keyboard)
        self.shown = b""
        self.process = subprocess.Popen(
            [*self.STARTER, *arguments], stdin=screen, stdout=screen, stderr=screen, close_fds=True,
            start_new_session=True)
        os.close(screen)

    def await_text(self, text, times=1):
        deadline = time.monotonic() + TIMEOUT_S
        while self.shown.count(text) < times:
            ready, _, _ = select.select([self.keyboard], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {text!r} in {self.shown!r}"
            self.shown += os.read(self.keyboard, 4096)

    def await_echo(self, wanted):
        """The prompt comes before the echo is off: typing too early would show."""
        deadline = time.monotonic() + TIMEOUT_S
        while has_echo(self.keyboard) != wanted:
            assert time.monotonic() < deadline, f"the echo does not become {wanted}"
            time.sleep(0.01)

    def type(self, prompt, line, times=1):
        self.await_text(prompt, times)
        self.await_echo(False)
        os.write(self.keyboard, line)

    def end(self):
        """The exit code, or minus the signal that ended it."""
        code = self.process.wait(timeout=TIMEOUT_S)
        while select.select([self.keyboard], [], [], 0)[0]:
            try:
                part = os.read(self.keyboard, 4096)
            except OSError:  # nobody has the screen any more
                break
            self.shown += part
        after = termios.tcgetattr(self.keyboard)
        assert after == self.before, "the terminal is not as it was"
        os.close(self.keyboard)
        return code


class TerminalWithShell(Terminal):
    """One of a shell's jobs on it."""

    STARTER = [sys.executable, "-B", __file__, RUN_SHELL]

    def await_stop(self, times=1):
        """The job's process, and whether it had left the terminal with an echo."""
        self.await_text(b" stopped, echo ", times)
        line = self.shown.rindex(b"job ")
        self.await_text(b"\n", self.shown.count(b"\n", 0, line) + 1)
        _, pid, *_, echo = self.shown[line:].split(b"\r")[0].split()
        return int(pid), echo == b"True"

    def go_on(self):
        os.write(self.keyboard, b"fg\n")


def passwords_that_differ():
    terminal = Terminal("user", "add", "ann", *NOBODY)
    terminal.type(b"Password of ann: ", b"hunter2\n")
    terminal.type(b"Type password of ann again for confirmation: ", b"hunter3\n")
    assert terminal.end() == 128
    assert b"given passwords are different" in terminal.shown
    assert b"hunter" not in terminal.shown, terminal.shown


def one_password():
    terminal = Terminal("get", "a", "--user=ann", *NOBODY)
    terminal.type(b"Password: ", b"hunter2\n")
    assert terminal.end() == 2
    assert b"context deadline exceeded" in terminal.shown
    assert b"hunter" not in terminal.shown, terminal.shown


def the_other_clusters_password_first():
    terminal = Terminal("make-mirror", "127.0.0.1:1", "--dest-user=ben", "--user=ann", *NOBODY)
    terminal.type(b"Destination Password: ", b"hunter2\n")
    terminal.type(b"\nPassword: ", b"hunter3\n")
    assert terminal.end() == 2
    assert b"hunter" not in terminal.shown, terminal.shown


def a_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        terminal = Terminal("user", "passwd", "ann", *NOBODY)
        terminal.type(b"Password of ann: ", b"hunter")
        terminal.process.send_signal(number)
        assert terminal.end() == -number
        assert b"hunter" not in terminal.shown, terminal.shown


def a_stop_from_the_keyboard():
    terminal = TerminalWithShell("get", "a", "--user=ann", *NOBODY)
    terminal.type(b"Password: ", b"hunter2\x1a")
    _, has_echo_meanwhile = terminal.await_stop()
    assert has_echo_meanwhile, "what is typed at the shell is not shown"
    terminal.go_on()
    terminal.type(b"Password: ", b"hunter3\n", times=2)
    assert terminal.end() == 2
    assert b"hunter" not in terminal.shown, terminal.shown


def a_stop_that_cannot_be_caught():
    terminal = TerminalWithShell("get", "a", "--user=ann", *NOBODY)
    terminal.type(b"Password: ", b"hunter2\x1a")
    pid, _ = terminal.await_stop()
    terminal.go_on()
    terminal.type(b"Password: ", b"hunter3", times=2)
    os.kill(pid, signal.SIGSTOP)
    terminal.await_stop(times=2)
    terminal.go_on()
    terminal.type(b"Password: ", b"hunter4\n", times=3)
    assert terminal.end() == 2
    assert b"hunter" not in terminal.shown, terminal.shown


def main():
    if sys.argv[1:2] == [RUN_SHELL]:
        return run_shell(sys.argv[2:])
    for test in (passwords_that_differ, one_password, the_other_clusters_password_first, a_signal,
                 a_stop_from_the_keyboard, a_stop_that_cannot_be_caught):
        test()
        print(f"{test.__name__}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
