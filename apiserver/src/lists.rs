//! Lists in pages: `limit` and `continue`.
//!
//! All pages of a list show one moment. The objects of that moment are kept until the last page is read or
//! too many other lists have begun; then the next page is refused with 410 and the client lists again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use schedlab_cluster::{ApiError, StatusReason};
use serde_json::{Value, json};

use crate::feed::{Item, Listed};

/// Lists that are read in pages at one time.
const OPEN_MAX: usize = 64;

/// A page of a list.
pub(crate) struct Page {
    pub(crate) version: u64,
    pub(crate) items: Vec<Arc<Item>>,
    /// What leads to the next page, and how many objects come after this one.
    rest: Option<(String, usize)>,
}

impl Page {
    /// `metadata` of the list.
    pub(crate) fn metadata(&self) -> Value {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let Some((token, count)) = &self.rest {
            metadata["continue"] = json!(token);
            metadata["remainingItemCount"] = json!(count);
        }
        metadata
    }
}

#[derive(Default)]
struct Open {
    /// By number, the oldest first.
    lists: VecDeque<(u64, Arc<Listed>)>,
    begun: u64,
}

/// Lists that are being read in pages.
#[derive(Default)]
pub(crate) struct ListPages(Mutex<Open>);

impl ListPages {
    /// The first page; all of the list if `limit` is 0.
    pub(crate) fn first(&self, listed: Listed, limit: u64) -> Page {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit == 0 || listed.items.len() <= limit {
            return Page { version: listed.version, items: listed.items, rest: None };
        }
        let listed = Arc::new(listed);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.begun += 1;
        let number = open.begun;
        if open.lists.len() == OPEN_MAX {
            open.lists.pop_front();
        }
        open.lists.push_back((number, Arc::clone(&listed)));
        page(&listed, number, 0, limit)
    }

    /// The page that a token leads to.
    pub(crate) fn next(&self, token: &str, limit: u64) -> Result<Page, ApiError> {
        let refused = || ApiError::bad_request(format!("continue key is not valid: {token:?}"));
        let (number, at) = token.split_once('-').ok_or_else(refused)?;
        let number: u64 = number.parse().map_err(|_| refused())?;
        let at: usize = at.parse().map_err(|_| refused())?;
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = open.lists.iter().position(|(known, _)| *known == number).ok_or_else(expired)?;
        let listed = Arc::clone(&open.lists[place].1);
        if listed.items.len() < at {
            return Err(refused());
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = page(&listed, number, at, if limit == 0 { usize::MAX } else { limit });
        if page.rest.is_none() {
            open.lists.remove(place);
        }
        Ok(page)
    }
}

fn page(listed: &Listed, number: u64, at: usize, limit: usize) -> Page {
    let end = at.saturating_add(limit).min(listed.items.len());
    let left = listed.items.len() - end;
    let rest = (0 < left).then(|| (format!("{number}-{end}"), left));
    Page { version: listed.version, items: listed.items[at..end].to_vec(), rest }
}

/// Upstream: apiserver pkg/storage/etcd3/errors.go `handleCompactedErrorForPaging`.
fn expired() -> ApiError {
    let message = "The provided continue parameter is too old to display a consistent list result. You must \
                   start a new list without the continue parameter.";
    ApiError { reason: StatusReason::Gone, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use schedlab_cluster::api::GenericObject;

    use super::*;
    use crate::feed::Source;

    fn listed(count: u64) -> Listed {
        let source = || Source::Other(Arc::new(GenericObject::default()));
        let items = (0..count).map(|at| Arc::new(Item { resource_version: at, source: source() })).collect();
        Listed { version: 7, items }
    }

    fn versions(page: &Page) -> Vec<u64> {
        page.items.iter().map(|item| item.resource_version).collect()
    }

    #[test]
    fn pages_show_all_objects_of_one_moment() {
        let pages = ListPages::default();
        let first = pages.first(listed(5), 2);
        assert_eq!(
            (versions(&first), first.metadata()["remainingItemCount"].as_u64()),
            (vec![0, 1], Some(3))
        );
        let token = |page: &Page| page.metadata()["continue"].as_str().unwrap().to_owned();
        let second = pages.next(&token(&first), 2).unwrap();
        let last = pages.next(&token(&second), 0).unwrap();
        assert_eq!((versions(&second), versions(&last)), (vec![2, 3], vec![4]));
        assert_eq!((last.version, last.metadata().get("continue")), (7, None));
        assert_eq!(versions(&pages.first(listed(2), 2)), [0, 1]);
    }

    #[test]
    fn token_that_is_read_up_or_broken_is_refused() {
        let pages = ListPages::default();
        let first = pages.first(listed(3), 1);
        let token = first.metadata()["continue"].as_str().unwrap().to_owned();
        assert!(pages.next(&token, 10).is_ok());
        assert_eq!(pages.next(&token, 1).err().map(|error| error.code()), Some(410));
        for broken in ["", "1", "a-b", "1-99", "99999999999999999999-1"] {
            assert!(pages.next(broken, 1).is_err(), "case: {broken}");
        }
    }

    #[test]
    fn continue_tokens_of_abandoned_lists_expire() {
        let pages = ListPages::default();
        let first = pages.first(listed(3), 1);
        (0..OPEN_MAX).for_each(|_| drop(pages.first(listed(3), 1)));
        let token = first.metadata()["continue"].as_str().unwrap().to_owned();
        assert_eq!(pages.next(&token, 1).err().map(|error| error.code()), Some(410));
    }
}
