"""The errors that cross layers: what an adapter may raise, and what a person is told in one line."""


class OrchestratorError(Exception):
    """A problem that is explained to the person in one clear line; the message says what to do."""


class BadInput(OrchestratorError):
    """What the person gave cannot be used; nothing was changed."""


class AdapterError(OrchestratorError):
    """A neighbour (tracker, forge, workspace, process, database) did not do what was asked."""


class Unavailable(AdapterError):
    """The neighbour cannot be reached or is overloaded; the same request may succeed later."""


class Rejected(AdapterError):
    """The neighbour understood the request and refused it; repeating it is useless."""


class Malformed(AdapterError):
    """The neighbour's answer has a shape that is new to us."""


class Conflict(AdapterError):
    """Somebody else was first; what was read is out of date and must be read again."""
