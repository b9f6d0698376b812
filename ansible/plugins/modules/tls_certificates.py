"""Ansible module: all of it is in the action plugin of the same name; here is its documentation."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tls_certificates
short_description: Make a certificate authority on the controller, and a key pair for every host
description:
  - Makes in I(folder) on the controller C(ca.pem), an authority for this folder alone, with its key C(ca.key),
    and for each host C(HOST.pem), a private key (P-256, PKCS 8, without a password) and behind it the certificate.
  - Only their owner can read the files. What is there stays, unless it ends soon or does not fit the host's names.
options:
  folder:
    description: Folder on the controller.
    type: path
    required: true
  hosts:
    description: By host, the names and addresses under which it is reached.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Make the certificates
  tls_certificates:
    folder: /tmp/tls
    hosts:
      host1: [host1, 10.0.0.1]
"""

RETURN = r"""
made:
  description: Names of the files that were made.
  type: list
  elements: str
  returned: success
authority:
  description: The certificate of the authority, as X.509 in Base64 on one line.
  type: str
  returned: success, but not in check mode before there is one
"""
