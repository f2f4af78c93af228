"""The interfaces of this suite, made as a program would make them. This client does not read
SSL_CERT_FILE: its configuration names the CA."""

import uuid

import basistheory
from basistheory.api.application_keys_api import ApplicationKeysApi
from basistheory.api.application_templates_api import ApplicationTemplatesApi
from basistheory.api.applications_api import ApplicationsApi
from basistheory.api.detokenize_api import DetokenizeApi
from basistheory.api.permissions_api import PermissionsApi
from basistheory.api.tenants_api import TenantsApi
from basistheory.api.tokenize_api import TokenizeApi
from basistheory.api.tokens_api import TokensApi
from basistheory.model.create_token_request import CreateTokenRequest
from basistheory.request_options import RequestOptions

from harness import server


def api_client(key):
    return basistheory.ApiClient(
        basistheory.Configuration(host=server.url, api_key=key, ssl_ca_cert=server.ca)
    )


def tokens_of(key):
    return TokensApi(api_client(key))


tokens = tokens_of(server.private)
public_tokens = tokens_of(server.public)
tokenizing = TokenizeApi(api_client(server.private))
detokenizing = DetokenizeApi(api_client(server.private))
applications = ApplicationsApi(api_client(server.management))
application_keys = ApplicationKeysApi(api_client(server.management))
application_templates = ApplicationTemplatesApi(api_client(server.management))
permissions = PermissionsApi(api_client(server.management))
tenants = TenantsApi(api_client(server.management))


def create(**members):
    return tokens.create(create_token_request=CreateTokenRequest(**members))


def once():
    """This client makes the options of one request the defaults of all that follow, so an
    interface that was given a key is not used for anything else."""
    return tokens_of(server.private), RequestOptions(idempotency_key=str(uuid.uuid4()))
