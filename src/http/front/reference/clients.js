// The methods of the published clients, by operation: BasisTheoryClient (PyPI) and
// @basis-theory/node-sdk (npm). An operation that is not here has plain HTTPS as its example.

const ROWS = `
  CreateToken tokens.create
  ListTokens tokens.list_v2
  SearchTokens tokens.search_v2
  ReadToken tokens.get
  UpdateToken tokens.update
  DeleteToken tokens.delete
  Tokenize tokens.tokenize
  Detokenize tokens.detokenize
  CreateTokenIntent token_intents.create
  ReadTokenIntent token_intents.get
  DeleteTokenIntent token_intents.delete
  CreateApplication applications.create
  ListApplications applications.list
  ReadApplicationByKey applications.get_by_key
  ReadApplication applications.get
  UpdateApplication applications.update
  DeleteApplication applications.delete
  CreateApplicationKey application_keys.create
  ListApplicationKeys application_keys.list
  ReadApplicationKey application_keys.get
  DeleteApplicationKey application_keys.delete
  ListClientKeys keys.list
  ReadClientKey keys.get
  DeleteClientKey keys.delete
  CreateSession sessions.create
  AuthorizeSession sessions.authorize
  ListPermissions permissions.list
  ListApplicationTemplates application_templates.list
  ReadApplicationTemplate application_templates.get
  ListLogs logs.list
  ListLogEntityTypes logs.get_entity_types
  ReadTenant tenants.self.get
  UpdateTenant tenants.self.update
  DeleteTenant tenants.self.delete
  ReadTenantUsage tenants.self.get_usage_reports
  ListTenantMembers tenants.members.list
  ListTenantInvitations tenants.invitations.list
  ListRoles roles.list
  ReadCardDetails enrichments.card_details enrichments.getcarddetails
  VerifyBankAccount enrichments.bank_account_verify
  CreateThreedsSession threeds.sessions.create
  ReadThreedsSession threeds.sessions.get
  AuthenticateThreedsSession threeds.sessions.authenticate
  ReadChallengeResult threeds.sessions.get_challenge_result
  CreateProxy proxies.create
  ListProxies proxies.list
  ReadProxy proxies.get
  ReplaceProxy proxies.update
  PatchProxy proxies.patch
  DeleteProxy proxies.delete
  CreateReactor reactors.create
  ListReactors reactors.list
  ReadReactor reactors.get
  ReplaceReactor reactors.update
  PatchReactor reactors.patch
  DeleteReactor reactors.delete
  CreateWebhook webhooks.create
  ListWebhooks webhooks.list
  ReadWebhook webhooks.get
  DeleteWebhook webhooks.delete
  ListWebhookEventTypes webhooks.events.list`;

const camel = (text) => text.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** The Python client writes `self_`, since `self` has a meaning there; the Node client has camel case. */
export const CLIENT_METHODS = Object.fromEntries(ROWS.trim().split('\n').map((row) => {
  const [operation, python, node = camel(python)] = row.trim().split(' ');
  return [operation, { python: python.replace('.self.', '.self_.'), node }];
}));
