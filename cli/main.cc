#include "cli/program.hpp"

int main(int argc, char** argv) {
  return packsim::run_program(argc, argv);
}
