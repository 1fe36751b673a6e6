"""klamm certs create: an authority, and certificates that a cluster believes."""

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from cli.commands import Klamm


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_makes_an_authority_and_stores_that_only_their_owner_reads(
    klamm: Klamm, tmp_path: Path
) -> None:
    answer = klamm(
        "certs", "create", "--dir", str(tmp_path), "--host", "kafka.example", "--password", "pear"
    )

    assert answer.code == 0
    files = {Path(row["file"]).name for row in answer.rows}
    assert files == {
        *(
            f"{name}.{kind}"
            for name in ("broker", "client")
            for kind in ("pem", "key", "crt", "p12")
        ),
        "ca.pem",
    }
    made = certificate(tmp_path / "broker.crt")
    made.verify_directly_issued_by(certificate(tmp_path / "ca.pem"))
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "kafka.example"]
    for secret in ("ca.key", "broker.key", "broker.pem", "broker.p12"):
        assert stat.S_IMODE((tmp_path / secret).stat().st_mode) == 0o600
    store = pkcs12.load_pkcs12((tmp_path / "broker.p12").read_bytes(), b"pear")
    assert store.cert is not None
    assert store.cert.certificate == made


def test_an_authority_that_is_there_signs_what_comes_later(klamm: Klamm, tmp_path: Path) -> None:
    assert klamm("certs", "create", "--dir", str(tmp_path)).code == 0
    authority = (tmp_path / "ca.pem").read_bytes()

    assert klamm("certs", "create", "ann", "--dir", str(tmp_path)).code == 0

    assert (tmp_path / "ca.pem").read_bytes() == authority
    certificate(tmp_path / "ann.crt").verify_directly_issued_by(certificate(tmp_path / "ca.pem"))


@pytest.mark.parametrize("name", ["../ann", "ca", "", "x" * 65])
def test_a_name_that_could_not_be_a_file_is_refused(
    klamm: Klamm, tmp_path: Path, name: str
) -> None:
    answer = klamm("certs", "create", name, "--dir", str(tmp_path / "certs"))

    assert answer.code == 2
    assert "cannot be the name of a certificate" in answer.err
    assert not (tmp_path / "certs").exists()


def test_half_an_authority_is_not_made_anew(klamm: Klamm, tmp_path: Path) -> None:
    klamm("certs", "create", "--dir", str(tmp_path))
    (tmp_path / "ca.key").unlink()

    answer = klamm("certs", "create", "--dir", str(tmp_path))

    assert answer.code == 1
    assert "has one of ca.key and ca.pem" in answer.err
