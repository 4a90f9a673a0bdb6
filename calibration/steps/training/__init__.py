"""A model and how it is trained in parallel: what a measured step is made of."""
