"""Everything about NATS: joining it, declaring streams, reading them, answering requests, serving it embedded."""
