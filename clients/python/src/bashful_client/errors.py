"""Errors of the client.

A command that fails is no error: its exit code is an answer. An error means that nothing ran, or that the service failed.
"""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Type


class BashfulError(Exception):
    """Base of all errors of this package."""


class ProgramNotFoundError(BashfulError):
    """The program `bashful` is missing, or cannot be started."""


class ClosedError(BashfulError):
    """The client was closed, or not opened yet."""


class ServiceEndedError(BashfulError):
    """The service has ended while the client still needed it. Commands that it ran are stopped with all their processes.

    `exit_code` is negative after a signal, and None if the end of the process was not seen. `stderr` has the last lines
    that the service wrote there.
    """

    def __init__(self, exit_code: Optional[int], stderr: str) -> None:
        how = "ended" if exit_code is None else f"ended with {exit_code}"
        super().__init__(f"the service has {how}" + (f": {stderr.strip()}" if stderr.strip() else ""))
        self.exit_code = exit_code
        self.stderr = stderr


class ProtocolError(BashfulError):
    """The service sent a message that this client does not understand."""


class ServiceError(BashfulError):
    """The service answered with an error. `field` names the wrong field of the request."""

    def __init__(self, code: str, message: str, field: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field


class RefusedError(ServiceError):
    """The guard or the interceptor refused the command, or nobody approved it. Nothing ran."""


class InvalidRequestError(ServiceError):
    """A value makes no sense, or a request is too long. Nothing ran."""


class BusyError(ServiceError):
    """Too many requests are unanswered."""


class AbortedError(ServiceError):
    """The request was aborted before it had a result."""


class NotFoundError(ServiceError):
    """There is no such job, session, resource, tool or question."""


class UnavailableError(ServiceError):
    """The service keeps no jobs, sessions or artifacts, or the job sends no updates here."""


class CommandFailedError(BashfulError):
    """A command did not end with exit code 0. Only `Result.check` raises it."""


_BY_CODE: Dict[str, Type[ServiceError]] = {
    "refused": RefusedError,
    "invalid_field": InvalidRequestError,
    "unknown_type": InvalidRequestError,
    "duplicate_id": InvalidRequestError,
    "busy": BusyError,
    "cancelled": AbortedError,
    "not_found": NotFoundError,
    "unavailable": UnavailableError,
}


def from_wire(error: Mapping[str, object]) -> ServiceError:
    """The error of a response. An unknown code is a plain `ServiceError`."""
    code, message, field = str(error.get("code")), str(error.get("message")), error.get("field")
    kind = _BY_CODE.get(code, ServiceError)
    return kind(code, message, None if field is None else str(field))
