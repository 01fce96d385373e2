"""``python -m polars_rank``."""

from polars_rank.cli import main

if __name__ == "__main__":
    main()
