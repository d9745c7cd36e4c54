// A port on loopback for a server that is told it before it starts. What the kernel gives out as
// free and gets back may be the near end of anybody's connection by then; tests/process/ports.py
// says how that is avoided, and this takes its blocks by the same names.
#pragma once

namespace kvorum::differential {

// Nobody listens at it, and no other test of this machine gets it until this process ends. 0 if
// there is none. Threads: one at a time.
int FreePort();

}  // namespace kvorum::differential
