//! Applications, their keys, permissions and templates.

use crate::bounds::{KEYS_PER_APPLICATION_MAX, NAME_CHARS_MAX, RULES_MAX};
use crate::domain::id::ApplicationId;
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    by_number, container, list_of, offset_page, offset_page_of, permissions_request, rule_request,
    without,
};
use crate::http::openapi::{Description, LOCATION, Tag};
use crate::http::path::PathParameter as _;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::application::{ApplicationAnswer, kind_schema, origins_schema};
use crate::http::wire::key::KeyAnswer;
use crate::http::wire::permission::PermissionAnswer;
use crate::http::wire::template::TemplateAnswer;

const CREATE: &str = r#"{"name":"Backend","type":"private","permissions":["token:create"],
    "rules":[{"priority":1,"container":"/pci/","transform":"mask","permissions":["token:read"]}]}"#;
const APPLICATION: &str = r#"{"id":"01a1dd3a-7c10-4b6e-8f21-3a9d5e7b1c20",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","name":"Backend",
    "key":"key_test_self_pvt_4WbQfP5hKXe9Bb2xM3Wn7a.00112233445566778899aabbccddeeff",
    "keys":[{"id":"01a1dd3a-7c11-4d02-9b1e-6c2f8a4d7e31",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","version":"v1",
    "created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}],"type":"private",
    "permissions":["token:create"],"rules":[{"priority":1,"container":"/pci/","transform":"mask",
    "permissions":["token:read"]}],"created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;
const TEMPLATE: &str = r#"{"id":"5b9a3d3c-6f0e-4c1a-9a55-3b1d2c7e4f01","name":"Collect data",
    "description":"For browsers and apps: puts values in and gets no plain value out.",
    "application_type":"public","template_type":"official","is_starter":true,"rules":[{"priority":1,
    "container":"/","transform":"mask","permissions":["token:create"]}],
    "permissions":["token-intent:create"]}"#;
const PERMISSION: &str = r#"{"type":"token:create","description":"Create tokens",
    "application_types":["private","public"]}"#;
const KEY: &str = r#"{"id":"01a1dd3a-7c12-4e8a-a5d3-7f1b2c3d4e5f",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e",
    "key":"key_test_self_pvt_7XcRgQ6iLYf8Cc3yN4Xo8b.ffeeddccbbaa99887766554433221100",
    "version":"v1","created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;

pub(super) fn operations() -> Vec<Description> {
    let mut all = applications();
    all.extend(keys());
    all.extend(catalogs());
    all
}

/// The application as answers show it after its creation.
fn read() -> String {
    without(APPLICATION, &["key"])
}

fn applications() -> Vec<Description> {
    let application = || Schema::reference("Application");
    vec![
        Description::new("CreateApplication", Tag::Applications, "Create an application")
            .about(
                "The answer has the text of the first key, which no later answer shows \
                 again. A key cannot give more rights than the type of the application may hold.",
            )
            .takes(Schema::reference("CreateApplicationRequest"))
            .sends(
                "private",
                "A private application that creates tokens and reads cards masked",
                CREATE,
            )
            .answers(201, "The application, with the text of its key.", application())
            .with_header(LOCATION)
            .shows("private", "A private application", APPLICATION)
            .fails(409, "The tenant has as many applications as it can."),
        by_number(Description::new("ListApplications", Tag::Applications, "List applications"))
            .query("id", Schema::list(ApplicationId::schema()))
            .query("type", Schema::list(kind_schema()))
            .answers(200, "A page of applications.", offset_page(application()))
            .shows("private", "A private application", offset_page_of(&read())),
        Description::new(
            "ReadApplicationByKey",
            Tag::Applications,
            "Read the caller's application",
        )
        .about("The application that the key of the request belongs to.")
        .answers(200, "The application.", application())
        .shows("private", "A private application", read()),
        Description::new("ReadApplication", Tag::Applications, "Read an application")
            .answers(200, "The application, without the texts of its keys.", application())
            .shows("private", "A private application", read()),
        Description::new("UpdateApplication", Tag::Applications, "Change an application")
            .about(
                "Replaces the name, the permissions and the rules, and the allowed origins if the \
                 request has them. The type never changes.",
            )
            .takes(Schema::reference("UpdateApplicationRequest"))
            .sends(
                "name",
                "Another name and other rights",
                r#"{"name":"Reports",
                "permissions":["token:search"],"rules":[]}"#,
            )
            .answers(200, "The application.", application())
            .shows("private", "A private application", read()),
        Description::new("DeleteApplication", Tag::Applications, "Delete an application")
            .about("Its keys end at once.")
            .answers_nothing(204, "The application is deleted."),
        Description::new("RegenerateApplicationKey", Tag::Applications, "Replace a key")
            .about("Shut down: create a new key, then delete the old one.")
            .fails(410, "Keys are no longer regenerated."),
    ]
}

fn keys() -> Vec<Description> {
    let key = || Schema::reference("ApplicationKey");
    vec![
        Description::new("CreateApplicationKey", Tag::Applications, "Create a key")
            .about("The answer has the text of the key, which no later answer shows again.")
            .answers(201, "The key, with its text.", key())
            .with_header(LOCATION)
            .shows("key", "A key", KEY)
            .fails(422, "The application has three keys already."),
        Description::new("ListApplicationKeys", Tag::Applications, "List keys")
            .answers(
                200,
                "All keys of the application, without their texts.",
                Schema::list(key()).up_to_items(KEYS_PER_APPLICATION_MAX),
            )
            .shows("key", "A key", list_of(&without(KEY, &["key"]))),
        Description::new("ReadApplicationKey", Tag::Applications, "Read a key")
            .answers(200, "The key, without its text.", key())
            .shows("key", "A key", without(KEY, &["key"])),
        Description::new("DeleteApplicationKey", Tag::Applications, "Delete a key")
            .about("The key ends at once.")
            .answers_nothing(204, "The key is deleted."),
    ]
}

fn catalogs() -> Vec<Description> {
    let template = || Schema::reference("ApplicationTemplate");
    vec![
        Description::new("ListPermissions", Tag::Applications, "List permissions")
            .query("application_type", kind_schema())
            .answers(
                200,
                "All permissions, or those that applications of the type may hold.",
                Schema::list(PermissionAnswer::schema()),
            )
            .shows("create", "One of them", list_of(PERMISSION)),
        Description::new(
            "ListApplicationTemplates",
            Tag::Applications,
            "List application templates",
        )
        .answers(200, "Sets of permissions to start from.", Schema::list(template()))
        .shows("collect", "Rights to collect data", list_of(TEMPLATE)),
        Description::new(
            "ReadApplicationTemplate",
            Tag::Applications,
            "Read an application template",
        )
        .answers(200, "The template.", template())
        .shows("collect", "Rights to collect data", TEMPLATE),
    ]
}

fn name() -> Schema {
    Schema::text().chars(1, NAME_CHARS_MAX)
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("Application", ApplicationAnswer::schema()),
        ("ApplicationKey", KeyAnswer::schema()),
        ("ApplicationTemplate", TemplateAnswer::schema()),
        ("CreateApplicationRequest", create_request()),
        ("UpdateApplicationRequest", update_request()),
        ("AccessRuleRequest", rule_request().has("container", container())),
    ]
}

fn rules() -> Schema {
    Schema::list(Schema::reference("AccessRuleRequest")).up_to_items(RULES_MAX)
}

fn create_request() -> Schema {
    Schema::object()
        .about("There must be permissions or rules. A management application has permissions only.")
        .has("name", name())
        .has("type", kind_schema())
        .takes("permissions", permissions_request())
        .takes("rules", rules())
        .takes("allowed_origins", origins_schema())
        .takes("create_key", Schema::flag().about("Makes a first key.").or_else(true))
}

fn update_request() -> Schema {
    Schema::object()
        .about("There must be permissions or rules.")
        .has("name", name())
        .takes("permissions", permissions_request())
        .takes("rules", rules())
        .takes("allowed_origins", origins_schema())
}
