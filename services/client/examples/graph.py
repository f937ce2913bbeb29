"""A graph of LangGraph with a store: what one thread is told another one knows.

PYTHONPATH=services/client:. .venv-frameworks/bin/python services/client/examples/graph.py ann
"""

import sys
from typing import TypedDict
from uuid import uuid4

from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from memorybus_client import Memory
from memorybus_client.langgraph import MemorybusStore


class State(TypedDict):
    """What goes through the graph."""

    said: str
    answer: str


def respond(state: State) -> dict[str, str]:
    """Stands for your model: a question is answered with what is known, anything else is kept."""
    store = get_store()
    if not state["said"].endswith("?"):
        store.put(("preferences",), str(uuid4()), {"text": state["said"]})
        return {"answer": "Noted."}
    known = store.search(("preferences",), query=state["said"], limit=3)
    return {"answer": "You said: " + " ".join(item.value["text"] for item in known)}


with Memory(user=sys.argv[1] if len(sys.argv) > 1 else "me") as memory:
    builder = StateGraph(State).add_node(respond).add_edge(START, "respond").add_edge("respond", END)
    graph = builder.compile(store=MemorybusStore(memory))
    for said in ("I prefer uv over pip.", "Do I prefer uv or pip?"):
        print(graph.invoke({"said": said, "answer": ""})["answer"])
