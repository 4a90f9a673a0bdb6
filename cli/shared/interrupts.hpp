#pragma once

namespace packsim {

/// SIGINT (Ctrl-C), SIGTERM and SIGHUP from now on end the program with a line on stderr and the exit code
/// 128 + the signal's number, at once or, while outputs are being written, when they are whole. A second
/// signal does not wait. Signals that whoever started the program had it ignore, as nohup does, stay ignored.
void end_at_interrupts();

/// While one lives, outputs are being written that an interrupt leaves whole: files that belong together, all
/// of them.
class WholeOutputs {
 public:
  WholeOutputs();
  ~WholeOutputs();
  WholeOutputs(const WholeOutputs&) = delete;
  WholeOutputs& operator=(const WholeOutputs&) = delete;
};

/// While one lives, the first SIGINT does not end the program: it asks the work for what it knows by then.
class EarlyAnswer {
 public:
  EarlyAnswer();
  ~EarlyAnswer();
  EarlyAnswer(const EarlyAnswer&) = delete;
  EarlyAnswer& operator=(const EarlyAnswer&) = delete;

  bool is_asked() const;
};

}  // namespace packsim
