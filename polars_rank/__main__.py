"""``python -m polars_rank``."""

from polars_rank.command.app import main

if __name__ == "__main__":
    main()
