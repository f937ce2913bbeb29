"""What flows: messages, subjects and ports. Nothing here imports a service."""
