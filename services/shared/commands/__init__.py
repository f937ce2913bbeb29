"""What the commands do, without a word of how they are typed or shown: each works on ports, and tells its progress."""
