// A loopback port for a server that must know it before it starts, and that no other program takes
// meanwhile. tests/process/ports.py explains the method; this takes blocks under the same names.
#pragma once

namespace kvorum::differential {

// A port without a listener, and that no other test of this machine gets until this process
// ends. 0 if there is none. Threads: one at a time.
int FreePort();

}  // namespace kvorum::differential
