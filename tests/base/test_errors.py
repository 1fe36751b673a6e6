from pathlib import Path

from klamm.base.errors import ApiError, ErrorCode

# One line per error of Kafka 4.3.1: code, name, and whether the Java client tries again.
JAVA = [
    line.split()
    for line in (Path(__file__).parent / "data" / "errors.txt").read_text().splitlines()
]


def test_codes_names_and_retries_are_those_of_the_java_client() -> None:
    ours = [
        [str(int(each)), each.name, "retriable" if each.retriable else "final"]
        for each in ErrorCode
    ]

    assert ours == JAVA


def test_a_text_is_one_plain_sentence() -> None:
    for code in ErrorCode:
        assert code.text.endswith("."), code.name
        assert code.text[0].isupper(), code.name
        assert len(code.text) <= 120, code.name
        assert ". " not in code.text, code.name


def test_no_two_errors_say_the_same() -> None:
    texts = [each.text for each in ErrorCode]

    assert len(set(texts)) == len(texts)


def test_an_error_without_a_message_says_what_the_table_says() -> None:
    error = ApiError(ErrorCode.TOPIC_ALREADY_EXISTS)

    assert error.message == str(error) == ErrorCode.TOPIC_ALREADY_EXISTS.text


def test_an_error_with_a_message_says_that() -> None:
    error = ApiError(ErrorCode.INVALID_CONFIG, "segment.bytes is too small")

    assert error.message == str(error) == "segment.bytes is too small"
