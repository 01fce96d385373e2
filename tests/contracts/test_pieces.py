"""A measure has all of its pieces; the one failure of this test names those that are missing."""

from pieces import missing_pieces


def test_every_measure_has_all_of_its_pieces():
    missing = [line for lines in missing_pieces().values() for line in lines]
    assert not missing, "\n".join(["", *missing])
