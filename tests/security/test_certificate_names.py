"""Names of certificates as Java writes them, and the rules that make user names of them."""

import re
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.principal import ANONYMOUS, KafkaPrincipal
from klamm.cli.certs.authority import Authority
from klamm.security.certificate_names import CertificateNames, distinguished_name

AUTHORITY = Authority.create()


def common(value: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, value)])


# What X500Principal.getName() of Java 21 made of the same bytes.
@pytest.mark.parametrize(
    ("value", "name"),
    [
        ('a,b+c"d\\e<f>g;h=i', 'CN=a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i'),
        ("#first", "CN=\\#first"),
        (" both ", "CN=\\ both\\ "),
        ("  two  in  between", "CN=\\ \\ two  in  between"),
        ("Jürgen Ö 漢", "CN=Jürgen Ö 漢"),
        ("line\nbreak\ttab\0nul", "CN=line\nbreak\ttab\\00nul"),
    ],
)
def test_a_name_is_written_as_java_writes_it(value: str, name: str) -> None:
    assert distinguished_name(common(value)) == name


def test_the_last_part_comes_first_and_attributes_without_a_word_are_numbers() -> None:
    attribute = x509.NameAttribute
    name = x509.Name(
        [
            attribute(NameOID.COUNTRY_NAME, "DE"),
            attribute(NameOID.SERIAL_NUMBER, "42"),
            attribute(NameOID.EMAIL_ADDRESS, "a@b.c"),
            attribute(NameOID.COMMON_NAME, "x"),
        ]
    )

    assert (
        distinguished_name(name)
        == "CN=x,1.2.840.113549.1.9.1=#16056140622e63,2.5.4.5=#13023432,C=DE"
    )


def test_an_rdn_of_several_attributes_stays_together() -> None:
    attributes = [
        x509.NameAttribute(NameOID.COMMON_NAME, "x"),
        x509.NameAttribute(NameOID.USER_ID, "u"),
    ]

    assert (
        distinguished_name(x509.Name([x509.RelativeDistinguishedName(attributes)])) == "CN=x+UID=u"
    )


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("", "CN=Duke,O=klamm"),
        ("DEFAULT", "CN=Duke,O=klamm"),
        ("RULE:^CN=(.*?),O=(.*?)$/$1@$2/", "Duke@klamm"),
        ("RULE:^CN=(.*?),.*$/$1/L", "duke"),
        ("RULE:^CN=(.*?),.*$/$1/U", "DUKE"),
        ("RULE:^OU=.*$/never/,RULE:^CN=(.*?),O=.*$/second-$1/", "second-Duke"),
        ("RULE:^CN=(.*?),O=.*$/cost \\$5 of $9$1/", "cost $5 of $9Duke"),
        ("RULE:.*/the \\/ one/", "the / one"),
    ],
)
def test_the_first_rule_that_fits_gives_the_name(rules: str, user: str) -> None:
    issued = AUTHORITY.issue("Duke", organization="klamm")
    der = issued.certificate.public_bytes(Encoding.DER)

    assert CertificateNames(rules).principal_of(der) == KafkaPrincipal("User", user)


def test_who_shows_no_certificate_has_no_name() -> None:
    assert CertificateNames("RULE:^never$/x/").principal_of(None) == ANONYMOUS


def test_a_pattern_that_would_stop_others_takes_no_time() -> None:
    names = CertificateNames("RULE:^CN=(a+)+$/x/,DEFAULT")
    certificate = AUTHORITY.issue("a" * 60 + "!").certificate.public_bytes(Encoding.DER)

    began = time.process_time()
    names.principal_of(certificate)

    assert time.process_time() - began < 1


@given(st.text(min_size=1, max_size=64))
def test_any_name_is_written_without_loss(value: str) -> None:
    try:
        name = common(value)
        name.public_bytes()
    except (ValueError, UnicodeError):
        return

    text = distinguished_name(name)

    escaped = re.compile(r"\\(00|.)", re.DOTALL)
    read = escaped.sub(lambda found: "\0" if found[1] == "00" else found[1], text)
    assert read == f"CN={value}"
