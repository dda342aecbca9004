"""The client of the Headwater API: `Headwater`, and `AsyncHeadwater` for asyncio."""

from ._async.attach import AsyncAttachment
from ._async.client import AsyncHeadwater
from ._frames import Frame, Output
from ._position import output_bytes
from ._retry import Retry
from ._shared import ConnectionState, Result
from ._sync.attach import Attachment
from ._sync.client import Headwater
from .errors import ApiError, ConnectionFailed, HeadwaterError

__all__ = [
    "ApiError",
    "AsyncAttachment",
    "AsyncHeadwater",
    "Attachment",
    "ConnectionFailed",
    "ConnectionState",
    "Frame",
    "Headwater",
    "HeadwaterError",
    "Output",
    "Result",
    "Retry",
    "output_bytes",
]
