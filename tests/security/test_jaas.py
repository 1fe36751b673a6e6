import pytest

from klamm.security.jaas import parse_jaas


def test_a_login_has_a_module_and_options() -> None:
    entry = parse_jaas(
        "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
        "  username=\"admin\" password='a;\\'b=' user_ann=bare serviceName=kafka ;"
    )

    assert entry.module == "PlainLoginModule"
    assert entry.options == {
        "username": "admin",
        "password": "a;'b=",
        "user_ann": "bare",
        "serviceName": "kafka",
    }
    assert "admin" not in repr(entry)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Module required",
        "Module required a=b",
        "Module needed a=b;",
        "Module required a;",
        "Module required a=b c;",
        'Module required a="secret;',
    ],
)
def test_what_is_no_login_is_told_without_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="login") as refused:
        parse_jaas(text)

    assert "secret" not in str(refused.value)
