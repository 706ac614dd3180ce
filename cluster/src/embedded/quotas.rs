//! The sums of resource quotas, kept with every write of a pod.
//!
//! ```text
//!   create ──▶ room? ──no──▶ 403, as many as fit are made
//!      │         └──yes──▶ row ──▶ used + usage         write ends: status of each quota that changed
//!   remove, finish, resize ─────▶ used - usage + usage
//! ```
//!
//! A cluster without quotas asks one question for each write and keeps nothing.
//!
//! Upstream: the ResourceQuota admission plugin raises `status.used` with each request, and the resource
//! quota controller counts anew when objects go.
//! Differs: both happen in the write itself, so `status` is never unknown or behind
//! (`sums_of_quotas_equal_a_count_after_any_writes_and_are_never_above_the_limit`). Objects are counted by
//! `count/<resource>.<group>` and the old names; `requests.storage` and other sums over claims are not.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::others::Place;
use super::state::State;
use crate::api::{ApiError, EventKind, GenericObject, NamespaceId, PodTemplate, SpecId, StoredPodRow};
use crate::controllers::ControllerMutant;
use crate::quota::{Amount, Amounts, PodUsage, Quota};

/// What the bodies of pods use of quotas, and the quotas.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotas {
    by_namespace: FxHashMap<NamespaceId, Vec<Tracked>>,
    usages: FxHashMap<SpecId, Arc<PodUsage>>,
    /// Whether a status is to be written.
    is_dirty: bool,
}

#[derive(Clone, Debug)]
struct Tracked {
    quota: Quota,
    /// Whether it is about pods of a body.
    about: FxHashMap<SpecId, bool>,
    is_dirty: bool,
}

/// Bodies whose usage is remembered; more are looked at again.
const BODIES_MAX: usize = 4096;

/// Names from before `count/`. Upstream: pkg/quota/v1/evaluator/core/registry.go.
const OLD_NAMES: [&str; 6] = [
    "services",
    "configmaps",
    "secrets",
    "resourcequotas",
    "replicationcontrollers",
    "persistentvolumeclaims",
];

/// Which part of a pod's usage counts.
fn part<'a>(usage: &'a PodUsage, row: &StoredPodRow) -> &'a Amounts {
    if row.phase.is_finished() { &usage.finished } else { &usage.live }
}

impl State {
    /// How many pods of a template the quotas leave room for, and the refusal of the next one.
    #[inline]
    pub(super) fn room_for_pods(&mut self, template: &PodTemplate, count: u32) -> (u32, Option<ApiError>) {
        if self.quotas.by_namespace.is_empty() {
            return (count, None);
        }
        self.room_in_quotas(template, count)
    }

    fn room_in_quotas(&mut self, template: &PodTemplate, count: u32) -> (u32, Option<ApiError>) {
        let usage = self.usage_of(template.spec);
        let body = Arc::clone(&template.object);
        let Some(tracked) = self.quotas.by_namespace.get_mut(&template.namespace) else {
            return (count, None);
        };
        let mut room = count;
        let mut why = None;
        for tracked in tracked.iter_mut().filter(|tracked| tracked.quota.is_about(&body)) {
            if let Err(refusal) = tracked.quota.check_constraints(&body) {
                (room, why) = (0, Some(refusal));
                break;
            }
            let excess = u32::from(self.mutants.has(ControllerMutant::QuotaIsOneTooMany));
            let fits = tracked.quota.room_for(&usage.live, count).saturating_add(excess);
            if fits < room {
                room = fits;
                let mut full = tracked.quota.clone();
                full.add(&usage.live, fits);
                why = Some(full.exceeded_by(&usage.live));
            }
        }
        let name = || self.names.prefix_text(template.name).to_string();
        let refusal = why.map(|why| ApiError::forbidden("pods", &name(), why));
        (room, refusal.filter(|_| room < count))
    }

    fn usage_of(&mut self, spec: SpecId) -> Arc<PodUsage> {
        if BODIES_MAX <= self.quotas.usages.len() {
            self.quotas.usages.clear();
        }
        let body = self.specs.get(spec);
        let usage = self.quotas.usages.entry(spec).or_insert_with(|| Arc::new(PodUsage::of(&body.object)));
        Arc::clone(usage)
    }

    /// A pod has changed, has come, or is gone.
    #[inline]
    pub(super) fn quota_changes(&mut self, old: Option<&StoredPodRow>, new: Option<&StoredPodRow>) {
        if !self.quotas.by_namespace.is_empty() {
            self.keep_sums(old, new);
        }
    }

    fn keep_sums(&mut self, old: Option<&StoredPodRow>, new: Option<&StoredPodRow>) {
        let Some(namespace) = old.or(new).map(|row| row.namespace) else { return };
        if !self.quotas.by_namespace.contains_key(&namespace) {
            return;
        }
        if let (Some(old), Some(new)) = (old, new)
            && old.spec == new.spec
            && old.phase.is_finished() == new.phase.is_finished()
        {
            return;
        }
        for (row, comes) in [(old, false), (new, true)] {
            let Some(row) = row else { continue };
            let usage = self.usage_of(row.spec);
            let State { quotas, specs, .. } = self;
            let Quotas { by_namespace, is_dirty, .. } = quotas;
            for tracked in by_namespace.get_mut(&namespace).into_iter().flatten() {
                let Tracked { quota, about, .. } = tracked;
                if BODIES_MAX <= about.len() {
                    about.clear();
                }
                if !*about.entry(row.spec).or_insert_with(|| quota.is_about(&specs.get(row.spec).object)) {
                    continue;
                }
                if comes {
                    quota.add(part(&usage, row), 1);
                } else {
                    quota.subtract(part(&usage, row));
                }
                (tracked.is_dirty, *is_dirty) = (true, true);
            }
        }
    }

    /// Whether a pod may have another body. Upstream: `Handles` says when a change is looked at: on `resize`,
    /// and where `activeDeadlineSeconds` comes or goes.
    pub(super) fn check_quotas_of_change(&mut self, row: &StoredPodRow, new: SpecId) -> Result<(), ApiError> {
        if !self.quotas.by_namespace.contains_key(&row.namespace)
            || new == row.spec
            || row.phase.is_finished()
        {
            return Ok(());
        }
        let (before, after) = (self.usage_of(row.spec), self.usage_of(new));
        let [old_body, new_body] = [row.spec, new].map(|spec| Arc::clone(&self.specs.get(spec).object));
        let tracked = self.quotas.by_namespace.get(&row.namespace).into_iter().flatten();
        for Tracked { quota, .. } in tracked.filter(|tracked| tracked.quota.is_about(&new_body)) {
            let mut without = quota.clone();
            if quota.is_about(&old_body) {
                without.subtract(&before.live);
            }
            let grown: Amounts = after
                .live
                .iter()
                .filter(|(name, amount)| {
                    let old = before.live.get(*name).copied().unwrap_or_default();
                    !quota.is_about(&old_body) || !old.covers(**amount)
                })
                .map(|(name, amount)| (name.clone(), *amount))
                .collect();
            if without.room_for(&grown, 1) == 0 {
                let name = self.names.text(row.name);
                return Err(ApiError::forbidden("pods", &name, without.exceeded_by(&grown)));
            }
        }
        Ok(())
    }

    /// A quota is there, has changed, or is gone: all of its namespace is counted anew.
    pub(super) fn note_quota(&mut self, object: &GenericObject, kind: EventKind) {
        let is_quota = object.kind == "ResourceQuota" && object.api_version == "v1";
        if !is_quota {
            return self.count_object(object, kind);
        }
        let namespace = self.namespace_id(object.metadata.namespace.as_deref().unwrap_or_default());
        let mut quota = Quota::of(object);
        let name = quota.name.clone();
        let known = self.quotas.by_namespace.get(&namespace).into_iter().flatten();
        let is_same = known.into_iter().any(|it| {
            it.quota.name == name && it.quota.hard == quota.hard && it.quota.scopes == quota.scopes
        });
        if kind == EventKind::Modified && is_same {
            return;
        }
        let others = self.quotas.by_namespace.entry(namespace).or_default();
        others.retain(|tracked| tracked.quota.name != name);
        if kind == EventKind::Deleted {
            if others.is_empty() {
                self.quotas.by_namespace.remove(&namespace);
            }
        } else {
            self.count_anew(&mut quota, namespace);
            let about = FxHashMap::default();
            self.quotas.by_namespace.entry(namespace).or_default().push(Tracked {
                quota,
                about,
                is_dirty: true,
            });
            self.quotas.is_dirty = true;
        }
        self.count_object(object, kind);
    }

    /// The plain twin of the sums: all that is in the namespace, one by one.
    fn count_anew(&self, quota: &mut Quota, namespace: NamespaceId) {
        quota.used.values_mut().for_each(|used| *used = Amount::default());
        for row in self.rows.iter().filter(|row| row.namespace == namespace) {
            let body = &self.specs.get(row.spec).object;
            if quota.is_about(body) {
                quota.add(part(&PodUsage::of(body), row), 1);
            }
        }
        if !quota.scopes.is_empty() {
            return;
        }
        let inside = &**self.namespaces.text(namespace.0);
        for ((group, plural), objects) in &self.others {
            let count = objects.keys().filter(|(of, _)| of == inside).count();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            quota.add(&object_usage(group, plural), count);
        }
    }

    /// An object of another kind has come or is gone.
    fn count_object(&mut self, object: &GenericObject, kind: EventKind) {
        if self.quotas.by_namespace.is_empty() || kind == EventKind::Modified {
            return;
        }
        let place = Place::of_object(object);
        let namespace = self.namespace_id(&place.path.0);
        let usage = object_usage(&place.resource.group, &place.resource.plural);
        let is_quota = object.kind == "ResourceQuota";
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let Quotas { by_namespace, is_dirty, .. } = &mut self.quotas;
        for tracked in by_namespace.get_mut(&namespace).into_iter().flatten() {
            // A new quota has counted itself already.
            let has_counted = is_quota && tracked.quota.name == name;
            if has_counted || !tracked.quota.scopes.is_empty() {
                continue;
            }
            match kind {
                EventKind::Deleted => tracked.quota.subtract(&usage),
                EventKind::Added | EventKind::Modified => tracked.quota.add(&usage, 1),
            }
            if usage.keys().any(|name| tracked.quota.hard.contains_key(name)) {
                (tracked.is_dirty, *is_dirty) = (true, true);
            }
        }
    }

    /// Whether there is room for one more object of its kind.
    pub(super) fn check_object_quota(
        &mut self,
        object: &GenericObject,
        place: &Place,
    ) -> Result<(), ApiError> {
        if self.quotas.by_namespace.is_empty() {
            return Ok(());
        }
        let namespace = self.namespace_id(&place.path.0);
        let usage = object_usage(&place.resource.group, &place.resource.plural);
        let tracked = self.quotas.by_namespace.get(&namespace).into_iter().flatten();
        let mut about = tracked.filter(|tracked| tracked.quota.scopes.is_empty());
        match about.find(|tracked| tracked.quota.room_for(&usage, 1) == 0) {
            None => Ok(()),
            Some(full) => {
                let name = object.metadata.name.as_deref().unwrap_or_default();
                let why = full.quota.exceeded_by(&usage);
                Err(ApiError::forbidden(&place.resource.qualified(), name, why))
            }
        }
    }

    /// Writes the status of each quota that changed: once a call, however many pods it made.
    #[inline]
    pub(super) fn write_quotas(&mut self) {
        if self.quotas.is_dirty {
            self.write_quota_status();
        }
    }

    #[cold]
    fn write_quota_status(&mut self) {
        self.quotas.is_dirty = false;
        let mut written = Vec::new();
        for (namespace, tracked) in &mut self.quotas.by_namespace {
            let namespace = self.namespaces.text(namespace.0);
            for tracked in tracked {
                if std::mem::take(&mut tracked.is_dirty) {
                    written.push((namespace.to_string(), tracked.quota.name.clone(), tracked.quota.status()));
                }
            }
        }
        // The order of a hash map decides nothing.
        written.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        for (namespace, name, status) in written {
            let mut object = GenericObject {
                api_version: "v1".to_owned(),
                kind: "ResourceQuota".to_owned(),
                ..GenericObject::default()
            };
            object.metadata.namespace = Some(namespace);
            object.metadata.name = Some(name);
            object.body.insert("status".to_owned(), status);
            self.update_other_status(&object).expect("a quota that is tracked is stored");
        }
    }

    /// What is used of a quota, counted one by one; for tests.
    #[cfg(test)]
    pub(super) fn quota_sums(&self) -> Vec<(Amounts, Amounts)> {
        let all = self.quotas.by_namespace.iter();
        let all = all.flat_map(|(namespace, tracked)| tracked.iter().map(|it| (*namespace, &it.quota)));
        all.map(|(namespace, quota)| {
            let mut counted = quota.clone();
            self.count_anew(&mut counted, namespace);
            (quota.used.clone(), counted.used)
        })
        .collect()
    }
}

/// What one object uses: `count/deployments.apps`, and its old name if it has one.
fn object_usage(group: &str, plural: &str) -> Amounts {
    let one = Amount::units(1);
    let qualified = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    let mut usage: Amounts = [(format!("count/{qualified}"), one)].into();
    if group.is_empty() && OLD_NAMES.contains(&plural) {
        usage.insert(plural.to_owned(), one);
    }
    usage
}

#[cfg(test)]
mod tests;
