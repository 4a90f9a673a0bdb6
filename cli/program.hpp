#pragma once

namespace packsim {

/// The program: parses the command line, runs one command, and turns failures into messages on stderr and
/// exit codes: 2 for the user's mistakes, 3 for the machine's, 70 for ours.
int run_program(int argc, char** argv);

}  // namespace packsim
