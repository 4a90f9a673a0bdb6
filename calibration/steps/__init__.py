"""Measures whole training steps, and single kernels, of PyTorch on the machine it runs on."""
