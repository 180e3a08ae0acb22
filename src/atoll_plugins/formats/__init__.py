"""File formats that several plugins share."""
