//! Tool agents, the runs of them, and what those made: a tenant's own, and a version is never changed.

use gateway_core::agents::{
    DeliverableMetadata, ExecutionMode, Format, NewDeliverable, NewToolAgent, Step, Task, TaskStatus, ToolAgent,
};
use gateway_core::desk::{Who, stand_in};
use gateway_core::ports::{AgentStatus, AuthError, Directory, StoreError};
use gateway_core::{Autonomy, Risk, TenantId, TraceId};
use gateway_store::CachedDirectory;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::people::{agent, id};
use crate::stage::Stage;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + second).unwrap()
}

fn new(slug: &str) -> NewToolAgent {
    NewToolAgent {
        organization_slug: "acme".into(),
        slug: slug.parse().unwrap(),
        display_name: "Reader".into(),
        agent_type: "tool".into(),
        mode_profile: "tool_full".into(),
        status: "active".into(),
        yaml: "{\"configuration\": {\"tools\": [\"crm/read\"]}}".into(),
        description: Some("Reads; é".into()),
        context: Some(json!({ "modes": ["build"], "deep": { "n": 1 } })),
        plan_structure: Some(json!([1, 2.5, null])),
        deliverable_structure: Some(json!({})),
        io_schema: Some(json!({ "type": "object" })),
        config: Some(json!(false)),
        version: Some("0.1.0".into()),
    }
}

async fn tenant(stage: &Stage, name: &str) -> TenantId {
    stage.store.tenants().add_tenant(name).await.unwrap().id
}

async fn put(stage: &Stage, tenant: TenantId, slug: &str) -> ToolAgent {
    stage.store.tool_agents().put(tenant, &new(slug), None, at(0)).await.unwrap().0
}

fn task(tenant: TenantId, slug: &str, n: u128) -> Task {
    Task {
        id: Uuid::from_u128(n),
        tenant,
        organization_slug: "acme".into(),
        agent_slug: slug.parse().unwrap(),
        acts_as: id("a-1"),
        started_by: "administrator:ci".into(),
        mode: "build".into(),
        status: TaskStatus::Running,
        conversation_id: Some("c-1".into()),
        error: None,
        deliverable: None,
        steps: Vec::new(),
        started_at: at(i64::try_from(n).unwrap()),
        finished_at: None,
        deadline: at(600),
    }
}

fn over(mut task: Task) -> Task {
    task.status = TaskStatus::Completed;
    task.finished_at = Some(at(100));
    task.steps = vec![Step {
        tool: "crm/read".into(),
        success: false,
        trace_id: TraceId::from_uuid(Uuid::from_u128(5)),
        approval_id: Some(Uuid::from_u128(6)),
        error: Some("no".into()),
        started_at: at(98),
        finished_at: at(99),
    }];
    task
}

fn made(id: Option<Uuid>) -> NewDeliverable {
    NewDeliverable {
        id,
        title: "Tool Execution: Reader".into(),
        r#type: "tool-result".into(),
        format: Format::Markdown,
        content: "# Tool Execution Results\n".into(),
        metadata: DeliverableMetadata {
            tools_executed: 1,
            successful_tools: 0,
            failed_tools: 1,
            execution_mode: ExecutionMode::Parallel,
            stop_on_error: false,
            tools_used: vec!["crm/read".into(), "crm/write".into()],
            omitted: 0,
        },
    }
}

// acceptance 81: all fourteen are kept, the second changes the first, and the columns hold them.
pub async fn a_tool_agent_is_kept_whole_and_replaced_by_slug(stage: &Stage) {
    let (tenant, agents) = (tenant(stage, "acme").await, stage.store.tool_agents());
    let (first, before) = agents.put(tenant, &new("reader"), None, at(0)).await.unwrap();
    assert!(before.is_none());
    assert_eq!((&first.agent, first.tenant, first.acts_as.clone()), (&new("reader"), tenant, Some(id("reader"))));
    assert_eq!(agents.get(tenant, "reader").await.unwrap(), first);
    let changed = NewToolAgent { description: None, config: None, status: "draft".into(), ..new("reader") };
    let (second, before) = agents.put(tenant, &changed, None, at(9)).await.unwrap();
    assert_eq!(before, Some(first.clone()));
    assert_eq!((&second.agent, second.id, &second.created_at), (&changed, first.id, &first.created_at));
    assert!(second.updated_at > first.updated_at);
    put(stage, tenant, "another").await;
    let slugs: Vec<_> = agents.list(tenant).await.unwrap().iter().map(|one| one.agent.slug.to_string()).collect();
    assert_eq!(slugs, ["another", "reader"]);
    assert_eq!(stage.count("agents").await, 2);
    let yaml = stage.text("SELECT yaml FROM agents WHERE slug = 'reader'").await;
    assert_eq!(yaml, Some(new("reader").yaml));
    assert!(matches!(agents.get(tenant, "missing").await, Err(StoreError::NotFound(_))));
}

pub async fn a_tool_agent_acts_as_a_small_agent_of_its_own(stage: &Stage) {
    let (existing, _) = agent(stage, "acme", "a-1", 1).await;
    let (tenant, agents, tenants) = (existing.tenant, stage.store.tool_agents(), stage.store.tenants());
    put(stage, tenant, "reader").await;
    let own = tenants.agent(tenant, &id("reader")).await.unwrap();
    assert_eq!((own.agent.autonomy, own.agent.max_risk, own.status), (Autonomy::A1, Risk::R2, AgentStatus::Active));
    assert!(tenants.keys(tenant, &id("reader")).await.unwrap().is_empty(), "nobody has a key to it");
    // One of that name that is there already is taken as it is.
    put(stage, tenant, "a-1").await;
    assert_eq!(tenants.agent(tenant, &id("a-1")).await.unwrap(), existing);
    let (bound, _) = agents.put(tenant, &new("reader"), Some(&id("a-1")), at(1)).await.unwrap();
    assert_eq!(bound.acts_as, Some(id("a-1")));
    let (kept, _) = agents.put(tenant, &new("reader"), None, at(2)).await.unwrap();
    assert_eq!(kept.acts_as, Some(id("a-1")), "who said it once need not say it again");
    let nobody = agents.put(tenant, &new("reader"), Some(&id("nobody")), at(3)).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))), "{nobody:?}");
    stage.execute("DELETE FROM agent_registry WHERE agent_id = 'a-1'").await.unwrap();
    assert_eq!(agents.get(tenant, "reader").await.unwrap().acts_as, None);
    assert_eq!(agents.put(tenant, &new("reader"), None, at(4)).await.unwrap().0.acts_as, None);
}

// acceptance 94: the row of a run and of what it made, together or not at all.
pub async fn a_run_ends_once_with_what_it_made(stage: &Stage) {
    let (tenant, agents) = (tenant(stage, "acme").await, stage.store.tool_agents());
    let begun = task(tenant, "reader", 1);
    agents.begin(&begun).await.unwrap();
    assert_eq!(agents.task(tenant, begun.id).await.unwrap(), begun);
    assert!(matches!(agents.begin(&begun).await, Err(StoreError::Exists(_))));
    let late = agents.task(tenant, begun.id).await.unwrap().at(at(601));
    assert_eq!(late.status, TaskStatus::Interrupted, "whoever ran it is gone");
    let ended = over(begun.clone());
    let deliverable = agents.finish(&ended, Some(&made(None))).await.unwrap().unwrap();
    assert_eq!((deliverable.version, deliverable.format, deliverable.task_id), (1, Format::Markdown, begun.id));
    assert_eq!((&deliverable.content, &deliverable.metadata), (&made(None).content, &made(None).metadata));
    assert_eq!(deliverable.conversation_id.as_deref(), Some("c-1"));
    let stored = agents.task(tenant, begun.id).await.unwrap();
    let named = stored.deliverable.unwrap();
    assert_eq!((named.id, named.version), (deliverable.id, 1));
    assert_eq!(Task { deliverable: None, ..stored }, ended);
    // What is over stays as it is, and leaves nothing else behind.
    let again = agents.finish(&ended, Some(&made(None))).await;
    assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    assert_eq!(stage.count("deliverables").await, 1);
    assert_eq!(stage.text("SELECT status FROM agent_tasks").await.as_deref(), Some("completed"));
    let failed = task(tenant, "reader", 2);
    agents.begin(&failed).await.unwrap();
    let failed = Task { status: TaskStatus::Failed, error: Some("late".into()), ..failed };
    assert!(agents.finish(&failed, None).await.unwrap().is_none());
    assert_eq!(agents.task(tenant, failed.id).await.unwrap().error.as_deref(), Some("late"));
    let order: Vec<_> = agents.tasks(tenant, Some("reader"), 10).await.unwrap().iter().map(|task| task.id).collect();
    assert_eq!(order, [failed.id, begun.id], "the newest first");
    assert_eq!(agents.tasks(tenant, None, 1).await.unwrap().len(), 1);
    assert!(agents.tasks(tenant, Some("other"), 10).await.unwrap().is_empty());
}

// acceptance 95: a given deliverable gets the next version, also when two ask at once.
pub async fn versions_follow_each_other(stage: &Stage) {
    let (tenant, agents) = (tenant(stage, "acme").await, stage.store.tool_agents());
    for n in 1..=6 {
        agents.begin(&task(tenant, "reader", n)).await.unwrap();
    }
    let first = agents.finish(&over(task(tenant, "reader", 1)), Some(&made(None))).await.unwrap().unwrap();
    let next = made(Some(first.id));
    let ended: Vec<_> = (2..=4).map(|n| over(task(tenant, "reader", n))).collect();
    let made_at_once = futures::future::join_all(ended.iter().map(|task| agents.finish(task, Some(&next)))).await;
    let mut versions: Vec<_> = made_at_once.into_iter().map(|made| made.unwrap().unwrap().version).collect();
    versions.sort_unstable();
    assert_eq!(versions, [2, 3, 4]);
    assert_eq!(agents.deliverable(tenant, first.id, None).await.unwrap().version, 4);
    assert_eq!(agents.deliverable(tenant, first.id, Some(1)).await.unwrap(), first);
    assert!(matches!(agents.deliverable(tenant, first.id, Some(9)).await, Err(StoreError::NotFound(_))));
    let listed = agents.deliverables(tenant, Some("reader"), 10).await.unwrap();
    assert_eq!(listed.iter().map(|one| (one.version, one.content.as_str())).collect::<Vec<_>>(), [(4, "")]);
    // Nobody adds to what is not there, or to another agent's.
    let unknown = agents.finish(&over(task(tenant, "reader", 5)), Some(&made(Some(Uuid::from_u128(77))))).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
    assert_eq!(agents.task(tenant, Uuid::from_u128(5)).await.unwrap().status, TaskStatus::Running);
    agents.begin(&task(tenant, "other", 7)).await.unwrap();
    let foreign = agents.finish(&over(task(tenant, "other", 7)), Some(&next)).await;
    assert!(matches!(foreign, Err(StoreError::NotFound(_))), "{foreign:?}");
}

// acceptance 5, acceptance 81: what is another tenant's is not there.
pub async fn tool_agents_are_a_tenants_own(stage: &Stage) {
    let (ours, theirs) = (tenant(stage, "acme").await, tenant(stage, "zeta").await);
    let agents = stage.store.tool_agents();
    put(stage, theirs, "reader").await;
    agents.begin(&task(theirs, "reader", 1)).await.unwrap();
    let deliverable = agents.finish(&over(task(theirs, "reader", 1)), Some(&made(None))).await.unwrap().unwrap();
    assert!(agents.get(ours, "reader").await.is_err());
    assert!(agents.list(ours).await.unwrap().is_empty());
    assert!(agents.task(ours, Uuid::from_u128(1)).await.is_err());
    assert!(agents.tasks(ours, None, 10).await.unwrap().is_empty());
    assert!(agents.deliverable(ours, deliverable.id, None).await.is_err());
    assert!(agents.deliverables(ours, None, 10).await.unwrap().is_empty());
    agents.begin(&task(ours, "reader", 2)).await.unwrap();
    let added = agents.finish(&over(task(ours, "reader", 2)), Some(&made(Some(deliverable.id)))).await;
    assert!(matches!(added, Err(StoreError::NotFound(_))), "{added:?}");
    put(stage, ours, "reader").await;
    assert_eq!(stage.count("agents").await, 2, "the same slug in both");
    if stage.is_postgres() {
        let role = ["SET ROLE portreeve_app".to_owned(), format!("SET portreeve.tenant = '{ours}'")];
        for (table, expected) in [("agents", "1"), ("agent_tasks", "1"), ("deliverables", "0")] {
            let counting = format!("SELECT CAST(count(*) AS TEXT) FROM {table}");
            let found = stage.alone(&stage.url, &[&role[..], &[counting]].concat()).await.unwrap();
            assert_eq!(found, [Some(expected.to_owned())], "{table}");
        }
        for forbidden in ["UPDATE deliverables SET content = 'x'", "DELETE FROM agent_tasks", "DELETE FROM agents"] {
            let refused = stage.alone(&stage.url, &[&role[..], &[forbidden.to_owned()]].concat()).await;
            assert!(refused.is_err(), "{forbidden}");
        }
    }
}

/// What the desk vouches for opens the door as long as its agent is active, and for nobody else.
pub async fn vouched_for_agents_are_looked_up_like_others(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "a-1", 1).await;
    let (tenants, agents) = (stage.store.tenants(), stage.store.tool_agents());
    let (bound, _) = agents.put(record.tenant, &new("reader"), Some(&id("a-1")), at(0)).await.unwrap();
    let operator = Who::Operator("alice".into());
    let actor = stand_in(&operator, &bound).unwrap();
    assert_eq!((&actor.acts_as, actor.started_by.as_str()), (&id("a-1"), "operator:alice"));
    let directory = CachedDirectory::new(stage.store.tenants(), None);
    let principal = directory.authenticate(&actor.credential).await.unwrap();
    assert_eq!((principal.tenant, &principal.agent), (Some(record.tenant), &id("a-1")));
    assert_eq!(principal.autonomy, record.agent.autonomy);
    tenants.set_agent_status(record.tenant, &id("a-1"), AgentStatus::Suspended).await.unwrap();
    directory.invalidate_all();
    assert!(matches!(directory.authenticate(&actor.credential).await, Err(AuthError::Inactive)));
    // Another tenant's administrator vouches for nobody here.
    let other = tenant(stage, "zeta").await;
    let stranger = Who::Administrator { tenant: other, name: "ci".into(), key: id("key-1") };
    assert!(stand_in(&stranger, &bound).is_err());
    // The same name in another tenant is another agent; one that is not there is nobody.
    let elsewhere = ToolAgent { tenant: other, ..bound.clone() };
    let nobody = stand_in(&operator, &elsewhere).unwrap();
    assert!(matches!(directory.authenticate(&nobody.credential).await, Err(AuthError::Inactive)));
    assert!(stand_in(&operator, &ToolAgent { acts_as: None, ..bound }).is_err());
}
