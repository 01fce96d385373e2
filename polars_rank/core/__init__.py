"""What every other package uses: errors, frames, checks, order of rows, resampling.

Imports nothing else of this package.
"""
