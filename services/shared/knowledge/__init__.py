"""What is known of a user: folds over the claims that are stored with what they said."""
