"""What is learned: an encoder, prototypes of labels; and encoders of others, checked and read."""
