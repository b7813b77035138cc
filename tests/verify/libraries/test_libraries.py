import verify.libraries


def test_the_package_says_what_it_is_for() -> None:
    assert verify.libraries.__doc__
