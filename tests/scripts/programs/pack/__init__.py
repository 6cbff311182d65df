"""A package with a program in it."""
