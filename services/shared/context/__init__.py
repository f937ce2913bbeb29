"""What of the entries is shown: the block, its parts, and what stands for many. Pure."""
