"""A chat that remembers: what you say is known a moment later, also in the next run. `quit` ends it.

PYTHONPATH=services/client .venv/bin/python services/client/examples/chat_loop.py ann
"""

import sys
from uuid import uuid4

from memorybus_client import Memory


def model(known: str, said: str) -> str:
    """Stands for your model, which is told what is known and what was said."""
    print(known or "(nothing is known about that)")
    return "Noted."


def main() -> None:
    conversation = str(uuid4())
    with Memory(user=sys.argv[1] if len(sys.argv) > 1 else "me") as memory:
        for line in sys.stdin:
            said = line.strip()
            if said == "quit":
                break
            if not said:
                continue
            answer = model(memory.recall(said).context, said)
            print(answer, flush=True)
            turn = memory.publish(said, conversation_id=conversation)
            if turn.kept is not False:  # the answer to what is not to be remembered may repeat it
                memory.publish(answer, role="assistant", conversation_id=conversation)


main()
