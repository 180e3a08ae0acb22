"""A lane for `.poly` files: a polynomial's coefficients, lowest first, one a line."""
