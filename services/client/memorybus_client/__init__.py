"""Long-term memory for chat assistants: the client of memorybus, over NATS or HTTP, sync and async.

from memorybus_client import Memory

memory = Memory("http://127.0.0.1:8400", user="ann")
memory.remember("I prefer uv over pip")
print(memory.recall("which package manager?").context)
"""

from contracts.v1.control import SettingsChange
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrievedItem, RetrieveReply
from memorybus_client.aio import AsyncMemory
from memorybus_client.caller import TurnId
from memorybus_client.errors import MemorybusError, Misused, RequestFailed, Unavailable
from memorybus_client.sync import Memory

__all__ = [
    "AsyncMemory",
    "Entry",
    "Memory",
    "MemorybusError",
    "Misused",
    "RequestFailed",
    "RetrieveReply",
    "RetrievedItem",
    "SettingsChange",
    "TurnId",
    "Unavailable",
]
