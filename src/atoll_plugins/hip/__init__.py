"""AMD device code. So far the reader only; the lane comes with the HIP issue."""
