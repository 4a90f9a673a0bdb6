"""Whose failure it is decides the type and the exit status, as in the C++ programs."""


class UserError(Exception):
    """Mistakes of the user, one a line, each with place, expected and got. Exit status 2."""


class MachineError(Exception):
    """The machine refused: path or device with the system's text. Exit status 3."""


class Interrupted(Exception):
    """Ctrl-C or SIGTERM: what was measured is kept. Exit status 130."""
