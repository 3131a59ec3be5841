"""The parts that are trained: an encoder and prototypes of labels. Also checks and loads pretrained encoders."""
