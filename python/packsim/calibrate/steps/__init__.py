"""Measurement files and the machine: links to files of calibration/steps, which runs without this package."""
