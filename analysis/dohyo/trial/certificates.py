"""Creates the certificates for the servers and clients of a deployment, on the control machine.

It uses the Python package that Ansible itself needs for Vault, so that no other program must be installed.
"""

from __future__ import annotations

import base64
import ipaddress
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAYS = 365
RENEWED_DAYS_BEFORE = 30
# Certificates become valid this long before now, because a host's clock may be behind the controller's.
CLOCK = timedelta(hours=1)

Names = list[x509.GeneralName]


def general(name: str) -> x509.GeneralName:
    """Returns the entry of a certificate for a name, which is an IP address or a DNS name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def certificate(file: Path) -> x509.Certificate | None:
    """Returns the certificate in a file, or None if there is no valid one or it expires soon."""
    try:
        loaded = x509.load_pem_x509_certificate(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return loaded if loaded.not_valid_after_utc > datetime.now(UTC) + timedelta(days=RENEWED_DAYS_BEFORE) else None


def fits(existing: x509.Certificate, names: Names, authority: x509.Certificate) -> bool:
    """Returns whether a certificate is for exactly these names and was issued by this authority."""
    try:
        existing.verify_directly_issued_by(authority)
        alternatives = existing.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:  # a certificate with any error is replaced
        return False
    return set(alternatives) == set(names)


def write(file: Path, *parts: bytes) -> None:
    """Writes a file completely or not at all. Only the owner can read it."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.writelines(parts)
    new.rename(file)


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Returns a private key in PEM format."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def certify(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name | None, signer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    """Returns a builder with the fields of all certificates. Without an issuer, the certificate is self-signed."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject[:64])])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer or name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK)
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def pair(folder: Path, host: str) -> Path:
    """Returns the file with the key pair of a host. A host may be called ``ca``, as the file of the authority is."""
    return folder / f"host-{host}.pem"


def make(folder: Path, hosts: Mapping[str, Sequence[str]]) -> str:
    """Makes the certificates that are missing, expire soon, or do not match the names of a host.

    :param folder: folder for the files, which only the owner can read: ``ca.pem`` (certificate of an authority for
        this folder), ``ca.key`` (its key), and :func:`pair` for each host (a private key, P-256 in PKCS 8 without a
        password, followed by its certificate)
    :param hosts: names and addresses of each host
    :returns: the authority's certificate, X.509 in Base64 on one line
    :raises OSError: if a file cannot be written
    """
    names = {host: [general(name) for name in dict.fromkeys(addresses)] for host, addresses in hosts.items()}
    authority = certificate(folder / "ca.pem")
    if authority is None or not (folder / "ca.key").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        usage = dict.fromkeys(("digital_signature", "content_commitment", "key_encipherment"), False)
        usage |= dict.fromkeys(("data_encipherment", "key_agreement", "encipher_only", "decipher_only"), False)
        authority = (
            certify(f"Dohyo, {folder.name}", key, None, key)
            .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
            .sign(key, hashes.SHA256())
        )
        write(folder / "ca.key", pem(key))
        write(folder / "ca.pem", authority.public_bytes(serialization.Encoding.PEM))
    for host, host_names in names.items():
        file = pair(folder, host)
        existing = certificate(file)
        if existing is not None and fits(existing, host_names, authority):
            continue
        signer = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
        key = ec.generate_private_key(ec.SECP256R1())
        signed = (
            certify(host, key, authority.subject, signer)  # type: ignore[arg-type]
            .add_extension(x509.SubjectAlternativeName(host_names), critical=False)
            .sign(signer, hashes.SHA256())  # type: ignore[arg-type]
        )
        write(file, pem(key), signed.public_bytes(serialization.Encoding.PEM))
    return base64.b64encode(authority.public_bytes(serialization.Encoding.DER)).decode()
