//! One request: who may, what it names, which verb, and the answer.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use schedlab_cluster::{ApiError, EmbeddedCluster};

use crate::answer::{Answer, Refused};
use crate::audit::{Audit, AuditKey, agent_name};
use crate::dry_run::is_dry_run;
use crate::feed::Feed;
use crate::form::Accepted;
use crate::lists::ListPages;
use crate::query::Query;
use crate::route::{PathVerb, Plain, Served, Target, route};
use crate::{discovery, openapi, patch, protobuf, read, review, watch, write};

/// What all requests share.
pub(crate) struct App {
    pub(crate) cluster: EmbeddedCluster,
    pub(crate) feed: Arc<Feed>,
    pub(crate) audit: Audit,
    pub(crate) pages: ListPages,
    pub(crate) token: Option<String>,
    /// The first bytes of the path that lead to the API, as in a kubeconfig.
    pub(crate) address: String,
}

impl App {
    /// The same with a copy of the store, which nobody sees.
    fn dry(&self) -> App {
        App {
            cluster: self.cluster.copy(),
            feed: Arc::clone(&self.feed),
            audit: Audit::default(),
            pages: ListPages::default(),
            token: self.token.clone(),
            address: self.address.clone(),
        }
    }
}

/// A request without its body.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) query: Query,
    pub(crate) accepted: Accepted,
    pub(crate) content_type: String,
    /// The program's name, as the audit and field managers have it.
    pub(crate) agent: String,
    is_watch_path: bool,
}

/// What a request does, by the API's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// An answer at once, or one that goes on.
pub(crate) enum Reply {
    Whole(Answer),
    Watch(Box<watch::WatchRequest>),
}

impl Asked {
    /// Reads head and query.
    pub(crate) fn read(
        method: Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Asked, Refused> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (target, path_verb) = route(path)?;
        let content_type = header("content-type").unwrap_or_default();
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Ok(Asked {
            target,
            query: Query::parse(query.unwrap_or_default())?,
            accepted: Accepted::parse(header("accept").unwrap_or_default()),
            content_type,
            agent: agent_name(header("user-agent")),
            is_watch_path: path_verb == PathVerb::Watch,
            method,
        })
    }

    fn is_watch(&self) -> bool {
        self.is_watch_path || self.query.flag("watch") == Some(true)
    }

    /// What is to be done.
    pub(crate) fn verb(&self) -> Result<Verb, Refused> {
        let of_collection = matches!(self.target, Target::Collection { .. });
        match (&self.method, of_collection) {
            (&Method::GET | &Method::HEAD, _) if self.is_watch() => Ok(Verb::Watch),
            (&Method::GET | &Method::HEAD, true) => Ok(Verb::List),
            (&Method::GET | &Method::HEAD, false) => Ok(Verb::Get),
            (&Method::POST, _) => Ok(Verb::Create),
            (&Method::PUT, false) => Ok(Verb::Update),
            (&Method::PATCH, false) => Ok(Verb::Patch),
            (&Method::DELETE, true) => Ok(Verb::DeleteCollection),
            (&Method::DELETE, false) => Ok(Verb::Delete),
            _ => Err(Refused::method_not_allowed()),
        }
    }

    /// What the request counts as.
    pub(crate) fn audit_key(&self) -> AuditKey {
        let resource = match &self.target {
            Target::Collection { kind, .. } => kind.asked.info().qualified(),
            Target::Object { kind, subresource: None, .. } => kind.asked.info().qualified(),
            Target::Object { kind, subresource: Some(part), .. } => {
                format!("{}/{part}", kind.asked.info().qualified())
            }
            Target::Virtual(kind) => kind.to_lowercase(),
            Target::Discovery(_) => "discovery".to_owned(),
            Target::Plain(Plain::Health) => "healthz".to_owned(),
            Target::Plain(Plain::Metrics) => "metrics".to_owned(),
            Target::Plain(Plain::Version | Plain::Root) => "version".to_owned(),
            Target::Plain(_) => "openapi".to_owned(),
        };
        AuditKey { verb: self.verb().map_or("other", Verb::name), resource, agent: self.agent.clone() }
    }
}

/// A resource with the namespace of the path.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    pub(crate) kind: Served,
    pub(crate) namespace: Option<&'a str>,
}

/// A named object of a path.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) kind: Served,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<&'a str>,
}

/// Answers a request.
pub(crate) async fn answer(app: &Arc<App>, asked: &Asked, body: Bytes) -> Result<Reply, Refused> {
    let verb = asked.verb()?;
    match &asked.target {
        Target::Plain(plain) => plain_answer(app, asked, plain).map(Reply::Whole),
        Target::Discovery(what) => discovery::answer(app, what, &asked.accepted).map(Reply::Whole),
        Target::Virtual(kind) if verb == Verb::Create => review::answer(kind, asked, &body).map(Reply::Whole),
        Target::Virtual(_) => Err(Refused::method_not_allowed()),
        _ if !asked.accepted.takes_json() => Err(Refused::not_acceptable()),
        _ if is_dry_run(asked, verb, &body)? => of_resource(&Arc::new(app.dry()), asked, verb, &body).await,
        _ => of_resource(app, asked, verb, &body).await,
    }
}

/// A request about objects.
async fn of_resource(app: &Arc<App>, asked: &Asked, verb: Verb, body: &Bytes) -> Result<Reply, Refused> {
    match &asked.target {
        Target::Collection { kind, namespace } => {
            let within = Within { kind: *kind, namespace: namespace.as_deref() };
            of_collection(app, asked, verb, within, body).await
        }
        Target::Object { kind, namespace, name, subresource } => {
            let (namespace, subresource) = (namespace.as_deref(), subresource.as_deref());
            let named = Named { kind: *kind, namespace, name, subresource };
            of_object(app, asked, verb, named, body).await
        }
        Target::Plain(_) | Target::Discovery(_) | Target::Virtual(_) => Err(Refused::no_such_path()),
    }
}

async fn of_collection(
    app: &Arc<App>,
    asked: &Asked,
    verb: Verb,
    within: Within<'_>,
    body: &Bytes,
) -> Result<Reply, Refused> {
    match verb {
        Verb::List => read::list(app, asked, within).await.map(Reply::Whole),
        Verb::Watch => watch::WatchRequest::read(asked, within, None).map(|it| Reply::Watch(Box::new(it))),
        Verb::Create => write::create(app, asked, within, body).map(Reply::Whole),
        Verb::DeleteCollection => write::delete_collection(app, asked, within).await.map(Reply::Whole),
        Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => Err(Refused::method_not_allowed()),
    }
}

async fn of_object(
    app: &Arc<App>,
    asked: &Asked,
    verb: Verb,
    named: Named<'_>,
    body: &Bytes,
) -> Result<Reply, Refused> {
    let is_status = matches!(named.subresource, None | Some("status"));
    match (verb, named.subresource) {
        (Verb::Get, _) if is_status => read::get(app, asked, named).map(Reply::Whole),
        (Verb::Watch, None) => {
            let within = Within { kind: named.kind, namespace: named.namespace };
            watch::WatchRequest::read(asked, within, Some(named.name)).map(|it| Reply::Watch(Box::new(it)))
        }
        (Verb::Create, Some("binding")) => write::bind(app, asked, named, body).map(Reply::Whole),
        (Verb::Create, Some("eviction")) => write::evict(app, asked, named, body).map(Reply::Whole),
        (Verb::Update, _) if is_status => write::update(app, asked, named, body).map(Reply::Whole),
        (Verb::Update, Some("finalize")) => write::update(app, asked, named, body).map(Reply::Whole),
        (Verb::Patch, _) if is_status => patch::patch(app, asked, named, body).map(Reply::Whole),
        (Verb::Get | Verb::Update | Verb::Patch, Some("scale")) => {
            crate::scale::answer(app, asked, verb, named, body).map(Reply::Whole)
        }
        (Verb::Delete, None) => write::delete(app, asked, named, body).map(Reply::Whole),
        _ => Err(Refused::method_not_allowed()),
    }
}

fn plain_answer(app: &App, asked: &Asked, plain: &Plain) -> Result<Answer, Refused> {
    if !matches!(asked.method, Method::GET | Method::HEAD) {
        return Err(Refused::method_not_allowed());
    }
    match plain {
        Plain::Health => Ok(Answer::text("ok")),
        Plain::Version => Ok(discovery::version()),
        Plain::Root => Ok(discovery::root()),
        Plain::Metrics => Ok(Answer {
            content_type: "text/plain; version=0.0.4",
            body: Bytes::from(app.audit.metrics()),
            ..Answer::text("")
        }),
        Plain::OpenApiV2 => Ok(openapi::v2()),
        Plain::OpenApiV3 => Ok(openapi::index()),
        Plain::OpenApiV3Of(path) => openapi::of_group(path),
    }
}

/// Reads the JSON of a body.
pub(crate) fn json_body(asked: &Asked, body: &[u8]) -> Result<serde_json::Value, Refused> {
    const ACCEPTED: [&str; 1] = ["application/json"];
    if asked.content_type == protobuf::MEDIA_TYPE {
        return protobuf::to_json(body);
    }
    // As upstream: a body without a type is JSON.
    if !matches!(asked.content_type.as_str(), "" | "application/json" | "*/*") {
        return Err(Refused::unsupported_media_type(&asked.content_type, &ACCEPTED));
    }
    parse_json(body)
}

/// Reads JSON, and says where it ends to be that.
pub(crate) fn parse_json(body: &[u8]) -> Result<serde_json::Value, Refused> {
    let read = serde_json::from_slice(body);
    read.map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")).into())
}
