// A port on loopback for a server that is told it before it starts, and that nobody else takes in
// between. tests/process/ports.py says how, and this takes its blocks by the same names.
#pragma once

namespace kvorum::differential {

// Nobody listens at it, and no other test of this machine gets it until this process ends. 0 if
// there is none. Threads: one at a time.
int FreePort();

}  // namespace kvorum::differential
