"""What a text says, as claims: heads on the states of the encoder that makes its vector."""
